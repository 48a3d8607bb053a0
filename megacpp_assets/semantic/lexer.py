"""Comments, literals and preprocessor lines of a C/C++ file, in one pass over its bytes; no parsing, no errors."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Spans = NDArray[np.int64]
"""Shape (n, 2): half-open byte ranges, ascending."""

_TOKEN = re.compile(
    rb"""
    (//(?:[^\\\n]|\\(?:\r\n|[\s\S]))*\\?|/\*[\s\S]*?(?:\*/|\Z))              # 1 comment
  | (?:u8|[uUL])?R"(?P<mark>[^ ()\\\t\v\f\n"]{0,16})\([\s\S]*?\)(?P=mark)"   # raw string
  | "(?:[^"\\\n]|\\(?:\r\n|[\s\S]))*"?                                       # string
  | (?<![A-Za-z0-9_])\.?[0-9](?:'?[A-Za-z0-9_]|[eEpP][+-]|\.)*               # number: its quotes open no literal
  | '(?:[^'\\\n]|\\(?:\r\n|[\s\S]))*'?                                       # character
  | (?P<hash>^[ \t]*(?:\#|%:))                                               # directive
    """,
    re.VERBOSE | re.MULTILINE,
)
_DIRECTIVE = re.compile(rb"[ \t]*(?:#|%:)[ \t]*([A-Za-z_]*)")
_NEWLINE, _BACKSLASH, _RETURN = 10, 92, 13
_QUOTES = frozenset(b"\"'uULR")


@dataclass(frozen=True, slots=True)
class Lexed:
    """Byte ranges of a file's comments, string and character literals, and directives.

    A directive runs from its line's start (indentation included) to its last line's end, line breaks left out;
    `names` holds the directives' names (`include`, `define`, ... or "").
    """

    comments: Spans
    literals: Spans
    directives: Spans
    names: tuple[str, ...]


def lex(code: bytes) -> Lexed:
    """Lex `code`; unterminated comments end with the file, unterminated literals with their line."""
    comments: list[tuple[int, int]] = []
    literals: list[tuple[int, int]] = []
    hashes: list[int] = []
    for match in _TOKEN.finditer(code):
        if match.lastindex == 1:
            comments.append(match.span())
        elif match.group("hash") is not None:
            hashes.append(match.start())
        elif code[match.start()] in _QUOTES:
            literals.append(match.span())
    comment_spans, literal_spans = _spans(comments), _spans(literals)
    directives = _directives(code, np.array(hashes, dtype=np.int64), (comment_spans, literal_spans))
    names = tuple(_DIRECTIVE.match(code, start)[1].decode() for start in directives[:, 0].tolist())  # type: ignore[index]
    return Lexed(comment_spans, literal_spans, directives, names)


def _spans(pairs: list[tuple[int, int]]) -> Spans:
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _directives(code: bytes, starts: NDArray[np.int64], opaque: tuple[Spans, Spans]) -> Spans:
    data = np.frombuffer(code, dtype=np.uint8)
    breaks = np.flatnonzero(data == _NEWLINE)
    before = data[np.maximum(breaks - 1, 0)]
    before = np.where((before == _RETURN) & (breaks > 1), data[np.maximum(breaks - 2, 0)], before)
    kept = before != _BACKSLASH
    for spans in opaque:
        kept &= ~inside(spans, breaks)
    ends = np.append(breaks[kept], len(code))
    ends = ends[np.searchsorted(ends, starts)]
    returned = (ends > starts) & (data[np.maximum(ends - 1, 0)] == _RETURN) if len(data) else ends < 0
    fresh = np.append(True, starts[1:] >= ends[:-1]) if len(starts) else np.zeros(0, dtype=bool)
    return np.asarray(np.stack([starts, ends - returned], axis=1)[fresh])


def inside(spans: Spans, offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each of `offsets` lies in one of the disjoint, ascending `spans`."""
    if not len(spans):
        return np.zeros(len(offsets), dtype=bool)
    index = np.searchsorted(spans[:, 0], offsets, side="right") - 1
    return np.asarray((index >= 0) & (offsets < spans[np.maximum(index, 0), 1]))
