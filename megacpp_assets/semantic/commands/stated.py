"""Finds the C++ standard in a tree's own build files.

What holds for the whole tree is stated at its top, so the least deep files that state any standard count. A standard
that is set for all targets has priority over one that most targets request.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

LEAST = 17
"""The oldest standard that is used. An older one in a tree is only a minimum, and compilers use C++17 by default."""
_YEARS = {"0x": 11, "1y": 14, "1z": 17, "2a": 20, "2b": 23, "2c": 26}
_KNOWN = frozenset({11, 14, *_YEARS.values()})
_YEAR = rb"(\d[\dabcxyz])"
_COMMENT = re.compile(rb"(?m)#[^\n]*|^\s*//[^\n]*")
_PROBE = re.compile(rb"(?i)check_\w*\s*\([^)]*\)|if\s*\([^)]*\)")
"""A check whether the compiler supports a standard. It does not state one."""
_ALL = re.compile(rb"CMAKE_CXX_STANDARD\s+\"?" + _YEAR + rb"\b")
_SOME = re.compile(
    rb"(?:\bCXX_STANDARD\s+\"?|\bcxx_std_|[-/]std[=:](?:c|gnu)\+\+|\bcpp_std\W+(?:vc|gnu|c)\+\+)" + _YEAR + rb"\b"
)


def stated_standard(builds: Mapping[str, bytes]) -> str:
    """Return for example `c++20`, from the texts of build files by path; "" if they state none that is known, or one
    below C++17.
    """
    by_depth: dict[int, list[bytes]] = defaultdict(list)
    for path, text in builds.items():
        by_depth[path.count("/")].append(_PROBE.sub(b"", _COMMENT.sub(b"", text)))
    for depth in sorted(by_depth):
        for pattern in (_ALL, _SOME):
            found = Counter(_years(pattern, by_depth[depth]))
            if found:
                most = max(found, key=lambda year: (found[year], year))
                return f"c++{most}" if most > LEAST else ""
    return ""


def _years(pattern: re.Pattern[bytes], texts: Iterable[bytes]) -> Iterator[int]:
    for text in texts:
        for match in pattern.finditer(text):
            word = match[1].decode()
            year = _YEARS.get(word) or (int(word) if word.isdigit() else 0)
            if year in _KNOWN:
                yield year
