"""Text in braces that no document holds and no skip list names, whatever the outline made of its head."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import numpy as np

from megacpp_assets.semantic.outline.lexer import lex
from megacpp_assets.semantic.outline.ranges import cover

_SPACES, _PLACED, _QUOTED = b" \t\r\n\f\v\\", 1, ord('"')
_BODY = re.compile(rb"\{[^{}\x01]*\w[^{}\x01]*\}")
"""The innermost braces around a word: those of a namespace hold documents, or nothing."""


def lost_bodies(code: bytes, placed: Iterable[tuple[int, int]]) -> Iterator[int]:
    """Where the bodies begin that lie in none of the `placed` ranges; comments and directives count as nothing."""
    lexed = lex(code)
    data = np.frombuffer(code, dtype=np.uint8).copy()
    ranges = np.array(list(placed), dtype=np.int64).reshape(-1, 2)
    held = cover(len(code), ranges[:, 0], ranges[:, 1])
    data[lexed.quoted] = _QUOTED
    data[lexed.commented | lexed.directed] = _SPACES[0]
    data[held & ~np.isin(data, list(_SPACES))] = _PLACED
    return (match.start() for match in _BODY.finditer(data.tobytes()))
