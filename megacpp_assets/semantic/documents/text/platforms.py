"""Finds the platforms of a document: the language standard of its parse, and the platforms on which its text is
conditional or whose headers it includes.

Text, standard and file names come in; numbers of `contract/platforms.py` come out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Final

from megacpp_assets.contract.platforms import MAX_PLATFORM_IDS, platforms
from megacpp_assets.semantic.outline.lexer import directives_of

_CONDITIONS: Final = frozenset({"if", "ifdef", "ifndef", "elif", "elifdef", "elifndef"})
_INCLUDES: Final = frozenset({"include", "include_next", "import"})
_LINE: Final = re.compile(rb"^[ \t]*#[ \t]*(?:if|elif|in|im)", re.MULTILINE)
"""How a directive of `_CONDITIONS` or `_INCLUDES` begins. Most documents have none, and need no lexer."""
_COMMENT: Final = re.compile(rb"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_JOINED: Final = re.compile(rb"\\\r?\n")
_WORD: Final = re.compile(rb"[A-Za-z_]\w*")
_HEADER: Final = re.compile(rb"[ \t]*#[ \t]*\w+[ \t]*<([^>\n]+)>")
"""A header in quotes is most often the repository's own."""
_STANDARD: Final = re.compile(r"(?:c|gnu)\+\+(\w+)")


def platform_ids(text: str, standard: str, files: Iterable[str]) -> list[int]:
    """Return the platforms of a document of `text`, parsed as `standard` (`c++20`, `gnu11`, ""), with slices of
    `files`; ascending, each once.

    If there are more than MAX_PLATFORM_IDS, the standard stays, then platforms of file names, then the first platforms
    of the text.
    """
    table, kept = platforms(), dict[int, None]()
    named = _STANDARD.fullmatch(standard)
    if named and named[1] in table.standards:
        kept[table.standards[named[1]]] = None
    for sign in (*sorted({_suffix(path) for path in set(files)}), *_signs(text)):
        kept |= dict.fromkeys(table.by_sign.get(sign, ()))
    return sorted(list(kept)[:MAX_PLATFORM_IDS])


@lru_cache(maxsize=1 << 16)
def _suffix(path: str) -> str:
    return PurePosixPath(path).suffix


def _signs(text: str) -> Iterator[str]:
    """Return the macros of conditionals, and the headers with their folders, in the order of the text."""
    if "#" not in text:
        return
    code = text.encode()
    if not _LINE.search(code):
        return
    directives, names = directives_of(code)
    for (start, end), name in zip(directives.tolist(), names, strict=True):
        if name in _CONDITIONS:
            line = _COMMENT.sub(b" ", _JOINED.sub(b"", code[start:end])).partition(name.encode())[2]
            yield from (word.decode() for word in _WORD.findall(line))
        elif name in _INCLUDES and (header := _HEADER.match(code, start, end)):
            yield from _headers(header[1].decode("utf-8", "replace"))


def _headers(path: str) -> Iterator[str]:
    yield f"<{path}>"
    folder, slash, _ = path.partition("/")
    if slash:
        yield f"<{folder}/>"
