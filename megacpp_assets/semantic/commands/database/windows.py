"""Reads command lines and paths of Windows, and translates options of cl.exe and clang-cl to GNU's.

In: strings of a compile database. Out: words, POSIX paths, GNU options. No path is looked up and nothing is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_DRIVE = re.compile(r"[A-Za-z]:(?=/|$)")
_PROGRAM = re.compile(r'\s*(?:"([^"]*)"|(\S+))')
_CL = frozenset({"cl", "clang-cl", "icl", "icx-cl"})
_PIECE = re.compile(r'(?P<slashes>\\*)"|(?P<space>\s+)|(?P<plain>\\+|[^\s"\\]+)')
_STANDARDS = {"c++latest": "c++23", "c++23preview": "c++23", "clatest": "c2x"}
_PLAIN = {
    "TP": "-xc++", "TC": "-xc", "J": "-funsigned-char", "GR-": "-fno-rtti", "GR": "-frtti",
    "EHsc": "-fexceptions", "EHa": "-fexceptions", "EHs": "-fexceptions", "EHs-c-": "-fno-exceptions",
    "Zc:char8_t": "-fchar8_t", "Zc:char8_t-": "-fno-char8_t", "Zc:threadSafeInit-": "-fno-threadsafe-statics",
    "Zc:sizedDealloc-": "-fno-sized-deallocation",
}  # fmt: skip
_WITH_VALUE = (
    ("external:I", "-isystem"), ("imsvc", "-isystem"), ("FI", "-include"), ("I", "-I"), ("D", "-D"), ("U", "-U"),
)  # fmt: skip
"""Options of cl.exe with a value in the same or the next word, the longest first. Source: Microsoft's reference
"Compiler options listed by category" and clang's "Users Manual", clang-cl.
"""
_PATHS = frozenset({"-I", "-isystem", "-iquote", "-idirafter", "-include", "-imacros"})


def posix_path(path: str) -> str:
    """Return `path` with slashes. One that begins with a drive becomes absolute, below a folder of the drive's name."""
    slashed = path.replace("\\", "/")
    return f"/{slashed[0].lower()}{slashed[1:]}" if _DRIVE.match(slashed) else slashed


def is_windows(command: str | Sequence[str], directory: str) -> bool:
    """Return whether a command in `directory` (a `posix_path`) is of Windows, by its compiler's name or a drive."""
    program = _program(command)
    return is_cl(program) or "\\" in program or _DRIVE.match(directory[1:]) is not None


def is_cl(program: str) -> bool:
    """Return whether the options of the compiler `program` are those of cl.exe."""
    return posix_path(program).rpartition("/")[2].lower().removesuffix(".exe") in _CL


def _program(command: str | Sequence[str]) -> str:
    if not isinstance(command, str):
        return command[0] if command else ""
    found = _PROGRAM.match(command)
    return (found[1] or found[2] or "") if found else ""


def windows_words(command: str, limit: int) -> list[str]:
    """Return the first `limit` words of `command` as a C program of Windows receives them, in linear time.

    A backslash is special only in front of a quote.
    """
    words: list[str] = []
    word: list[str] | None = None
    quoted = False
    for piece in _PIECE.finditer(command):
        if piece["space"] and not quoted:
            if word is not None:
                words.append("".join(word))
            word = None
            if len(words) == limit:
                return words
            continue
        word = [] if word is None else word
        if piece["slashes"] is None:
            word.append(piece[0])
            continue
        half, odd = divmod(len(piece["slashes"]), 2)
        word.append("\\" * half + ('"' if odd else ""))
        quoted ^= not odd
    return [*words, "".join(word)] if word is not None else words


def gnu_options(words: Sequence[str], *, of_cl: bool) -> list[str]:
    """Return the options among `words`, which follow the compiler's name, as GCC spells them, with POSIX paths.

    Options of cl.exe that do not change the meaning of a source are dropped, and everything after `/link`.
    """
    return list(_of_cl(words) if of_cl else _with_posix_paths(words))


def _with_posix_paths(words: Sequence[str]) -> Iterator[str]:
    after_option = False
    for word in words:
        option = next((option for option in _PATHS if word.startswith(option) and word != option), "")
        if after_option or not word.startswith("-"):
            yield posix_path(word)
        else:
            yield option + posix_path(word[len(option) :]) if option else word
        after_option = word in _PATHS


def _of_cl(words: Sequence[str]) -> Iterator[str]:
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if not word.startswith(("/", "-")):
            continue
        name = word[1:]
        if name == "link":
            return
        if name in _PLAIN:
            yield _PLAIN[name]
        elif name.startswith("std:"):
            standard = name.removeprefix("std:")
            yield f"-std={_STANDARDS.get(standard, standard)}"
        elif found := next((pair for pair in _WITH_VALUE if name.startswith(pair[0])), None):
            option, value = found[1], name[len(found[0]) :]
            if not value and position < len(words):
                value, position = words[position], position + 1
            yield from (option, posix_path(value) if option in _PATHS else value)
        elif word.startswith("-"):
            yield word  # clang-cl also accepts GNU options; the allow-list filters them later
