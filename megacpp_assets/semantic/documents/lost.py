"""Finds text of a file that is in no document and not in the skip list: definitions, and any other text in braces."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

import numpy as np

from megacpp_assets.semantic.outline.lexer import lex
from megacpp_assets.semantic.outline.ranges import cover

_SPACES, _PLACED, _QUOTED = b" \t\r\n\f\v\\", 1, ord('"')
_BODY = re.compile(rb"\{[^{}\x01]*\w[^{}\x01]*\}")
"""The innermost braces around a word. Those of a namespace contain documents, or nothing."""
Ranges = list[tuple[int, int]]


def lost_bodies(code: bytes, placed: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Return the bodies that are in none of the `placed` ranges. Comments and directives do not count."""
    lexed = lex(code)
    data = np.frombuffer(code, dtype=np.uint8).copy()
    ranges = np.array(list(placed), dtype=np.int64).reshape(-1, 2)
    held = cover(len(code), ranges[:, 0], ranges[:, 1])
    data[lexed.quoted] = _QUOTED
    data[lexed.commented | lexed.directed] = _SPACES[0]
    data[held & ~np.isin(data, list(_SPACES))] = _PLACED
    return (match.span() for match in _BODY.finditer(data.tobytes()))


def merged(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Return the union of `ranges`, ascending; those that touch are one."""
    result: Ranges = []
    for start, end in sorted(ranges):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return result


def holds(ranges: Ranges, start: int, end: int) -> bool:
    """Return whether one of the `merged` ranges holds [start, end)."""
    index = bisect_right(ranges, (start, 1 << 62)) - 1
    return index >= 0 and ranges[index][1] >= end
