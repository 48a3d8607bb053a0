"""Finds comments, literals and directives of a C/C++ file in one pass over its bytes. Any bytes are accepted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic import _visitor
from megacpp_assets.semantic.outline.ranges import cover

Spans = NDArray[np.int64]
"""Shape (n, 2): half-open byte ranges, ascending."""
Marks = NDArray[np.bool_]
"""One per byte of the file."""

_DIRECTIVE = re.compile(rb"[ \t]*#[ \t]*([A-Za-z_]*)")
_BACKSLASH, _RETURN = 92, 13
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
    directives = _directives(code, found)
    directed = cover(len(code), *directives.T)
    names = _names(code, directives)
    comments, literals = found["comments"].reshape(-1, 2), found["literals"].reshape(-1, 2)
    return Lexed(comments, literals, directives, names, commented, quoted, directed)


def directives_of(code: bytes) -> tuple[Spans, tuple[str, ...]]:
    """Return the directives of `code` and their names, as `lex` does."""
    found = _visitor.lex(code)
    directives = _directives(code, found)
    return directives, _names(code, directives)


def _names(code: bytes, directives: Spans) -> tuple[str, ...]:
    return tuple(_DIRECTIVE.match(code, start)[1].decode() for start in directives[:, 0].tolist())  # type: ignore[index]


def _directives(code: bytes, found: Mapping[str, NDArray[Any]]) -> Spans:
    """Return the directives that begin at the lines that the lexer found, but for lines within another directive."""
    commented, quoted = found["commented"], found["quoted"]
    spans: list[tuple[int, int]] = []
    before = 0
    for start in found["directive_lines"].tolist():
        end = code.find(b"\n", start)
        while end >= 0 and (commented[end] or quoted[end] or _is_continued(code, end)):
            end = code.find(b"\n", end + 1)
        end = len(code) if end < 0 else end
        if start >= before:
            spans.append((start, end - (end > start and code[end - 1] == _RETURN)))
        before = end
    return np.array(spans, dtype=np.int64).reshape(-1, 2)


def _is_continued(code: bytes, end: int) -> bool:
    """Return whether a backslash stands before the line break at `end`."""
    last = end - 1 - (end > 1 and code[end - 1] == _RETURN)
    return end > 0 and code[last] == _BACKSLASH


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
