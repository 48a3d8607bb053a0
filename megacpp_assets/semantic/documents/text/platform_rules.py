"""Checks the platforms of a document against its text, without the lexer that found them.

Each platform must have a sign in the text. Each directive with a sign must have its platform, unless a comment, raw
string or continued line can hide that it is a directive.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Final

from megacpp_assets.contract.platforms import MAX_PLATFORM_IDS, PLATFORM_IDS, STANDARDS, Platform, platforms

_OPAQUE: Final = ("/*", 'R"', "\\\n", "\\\r\n")
_CONDITION: Final = re.compile(r"(?m)^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif|elifdef|elifndef)\b([^\n]*)")
_INCLUDE: Final = re.compile(r"(?m)^[ \t]*#[ \t]*(?:include|include_next|import)\b[ \t]*(<(?:[^/>\n]+/)?)([^>\n]*>)")


def in_range(ids: Sequence[int]) -> bool:
    """Return whether `ids` are numbers of platforms, ascending, no more than a document may have."""
    rising = all(before < after for before, after in pairwise(ids))
    return rising and len(ids) <= MAX_PLATFORM_IDS and all(0 < each < PLATFORM_IDS for each in ids)


def match_text(ids: Sequence[int], text: str, standard: str, files: Sequence[str]) -> bool:
    """Return whether a document of `text` with slices of `files`, parsed as `standard`, has exactly the platforms
    `ids`.
    """
    table = platforms()
    year = re.sub(r"^(?:c|gnu)\+\+", "", standard) if "++" in standard else ""
    expected = {table.standards[year]} if year in table.standards else set()
    found = {each for each in ids if table.by_id[each].kind == STANDARDS}
    suffixes = {PurePosixPath(path).suffix for path in set(files)}
    shown = all(_stands(table.by_id[each], text, suffixes) for each in ids if each not in found)
    return found == expected and shown and (len(ids) == MAX_PLATFORM_IDS or _plain(text) <= set(ids))


def _stands(platform: Platform, text: str, suffixes: set[str]) -> bool:
    return any(sign in suffixes or sign.removesuffix(">") in text for sign in platform.signs)


def _plain(text: str) -> set[int]:
    """Return the platforms that directives name; empty if the text has comments, raw strings or continued lines."""
    if any(mark in text for mark in _OPAQUE):
        return set()
    by_sign = platforms().by_sign
    return {each for sign in _signs(text) for each in by_sign.get(sign, ())}


def _signs(text: str) -> Iterator[str]:
    for line in _CONDITION.finditer(text):
        yield from re.findall(r"[A-Za-z_]\w*", line[1].partition("//")[0])
    for line in _INCLUDE.finditer(text):
        yield line[1] + line[2]
        if line[1].endswith("/"):
            yield line[1] + ">"
