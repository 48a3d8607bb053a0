"""Finds comments, literals and directives of a C/C++ file in one pass over its bytes. Any bytes are accepted."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic import _visitor
from megacpp_assets.semantic.outline.ranges import cover

Spans = NDArray[np.int64]
"""Shape (n, 2): half-open byte ranges, ascending."""
Marks = NDArray[np.bool_]
"""One per byte of the file."""

_DIRECTIVE = re.compile(rb"[ \t]*#[ \t]*([A-Za-z_]*)")
_NEWLINE, _BACKSLASH, _RETURN = 10, 92, 13
_OPENING = frozenset({"if", "ifdef", "ifndef"})
_TURNING = frozenset({"elif", "elifdef", "elifndef", "else", "endif"})


@dataclass(frozen=True, slots=True)
class Lexed:
    """Byte ranges of a file's comments, string and character literals, and directives.

    A directive extends from the start of its first line (with indentation) to the end of its last, without line breaks;
    `names` has the directives' names (`include`, `define`, ... or ""). `commented`, `quoted` and `directed` mark the
    bytes of comments, literals and directives.
    """

    comments: Spans
    literals: Spans
    directives: Spans
    names: tuple[str, ...]
    commented: Marks
    quoted: Marks
    directed: Marks


def lex(code: bytes) -> Lexed:
    """Lex `code`. An unterminated comment or raw string ends with the file, any other literal with its line."""
    found = _visitor.lex(code)
    commented, quoted = found["commented"].view(np.bool_), found["quoted"].view(np.bool_)
    directives = _directives(code, found["directive_lines"], commented | quoted)
    directed = cover(len(code), *directives.T)
    names = tuple(_DIRECTIVE.match(code, start)[1].decode() for start in directives[:, 0].tolist())  # type: ignore[index]
    comments, literals = found["comments"].reshape(-1, 2), found["literals"].reshape(-1, 2)
    return Lexed(comments, literals, directives, names, commented, quoted, directed)


def _directives(code: bytes, starts: NDArray[np.int64], opaque: Marks) -> Spans:
    data = np.frombuffer(code, dtype=np.uint8)
    breaks = np.flatnonzero(data == _NEWLINE)
    before = data[np.maximum(breaks - 1, 0)]
    before = np.where((before == _RETURN) & (breaks > 1), data[np.maximum(breaks - 2, 0)], before)
    kept = (before != _BACKSLASH) & ~opaque[breaks]
    ends = np.append(breaks[kept], len(code))
    ends = ends[np.searchsorted(ends, starts)]
    returned = (ends > starts) & (data[np.maximum(ends - 1, 0)] == _RETURN) if len(data) else ends < 0
    fresh = np.append(True, starts[1:] >= ends[:-1]) if len(starts) else np.zeros(0, dtype=bool)
    return np.asarray(np.stack([starts, ends - returned], axis=1)[fresh])


def level_after(lexed: Lexed, start: int, end: int, level: int = 0) -> int:
    """Return how many conditionals are open after [start, end) if `level` are open before it.

    Return -1 if [start, end) has an `#else`, `#elif` or `#endif` of a conditional that is not among these.
    """
    first, last = np.searchsorted(lexed.directives[:, 0], (start, end)).tolist()
    for name in lexed.names[first:last]:
        if name in _OPENING:
            level += 1
        elif level == 0 and name in _TURNING:
            return -1
        elif name == "endif":
            level -= 1
    return level


def inside(spans: Spans, offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether each of `offsets` is in one of the disjoint, ascending `spans`."""
    if not len(spans):
        return np.zeros(len(offsets), dtype=bool)
    index = np.searchsorted(spans[:, 0], offsets, side="right") - 1
    return np.asarray((index >= 0) & (offsets < spans[np.maximum(index, 0), 1]))
