"""Comments, literals and preprocessor lines of a C/C++ file, in one pass over its bytes; no parsing, no errors."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic.ranges import cover

Spans = NDArray[np.int64]
"""Shape (n, 2): half-open byte ranges, ascending."""
Marks = NDArray[np.bool_]
"""One per byte of the file."""

_TOKEN = re.compile(
    rb"""
    ["'/#](?:                                     # one class of first bytes, so that the scan is fast
      (?<=/)(?:
        /[^\\\n]*(?:\\(?:\r\n|[\s\S])[^\\\n]*)*\\?     # line comment
      | \*[\s\S]*?(?:\*/|\Z) )                    # block comment
    | (?:(?<![A-Za-z0-9_]R")|(?<=u8R")|(?<=[uUL]R"))(?<=R")
        (?P<mark>[^ ()\\\t\v\f\n"]{0,16})\([\s\S]*?(?:\)(?P=mark)"|\Z)   # raw string
    | (?<=")[^"\\\n]*(?:\\(?:\r\n|[\s\S])[^"\\\n]*)*"?        # string
    | (?<=[0-9A-Fa-f]')(?<!u8')[0-9A-Fa-f]           # quote inside a number: no literal
    | (?<=')[^'\\\n]*(?:\\(?:\r\n|[\s\S])[^'\\\n]*)*'?        # character
    | (?<=\#) )
    """,
    re.VERBOSE,
)
_DIRECTIVE = re.compile(rb"[ \t]*#[ \t]*([A-Za-z_]*)")
_NEWLINE, _BACKSLASH, _RETURN = 10, 92, 13
_SLASH, _HASH, _QUOTE = b"/#'"


@dataclass(frozen=True, slots=True)
class Lexed:
    """Byte ranges of a file's comments, string and character literals, and directives.

    A directive runs from its line's start (indentation included) to its last line's end, line breaks left out;
    `names` holds the directives' names (`include`, `define`, ... or ""). `commented`, `quoted` and `directed` mark the
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
    """Lex `code`: an unterminated comment or raw string ends with the file, another literal with its line."""
    comments: list[tuple[int, int]] = []
    literals: list[tuple[int, int]] = []
    hashes: list[int] = []
    for match in _TOKEN.finditer(code):
        start, end = match.span()
        first = code[start]
        if first == _SLASH:
            comments.append((start, end))
        elif first == _HASH:
            line = code.rfind(b"\n", 0, start) + 1
            if not code[line:start].strip(b" \t"):
                hashes.append(line)
        elif first != _QUOTE or end - start > 2 or code[end - 1] == _QUOTE:
            literals.append((start, end))
    comment_spans, literal_spans = _spans(comments), _spans(literals)
    commented, quoted = cover(len(code), *comment_spans.T), cover(len(code), *literal_spans.T)
    directives = _directives(code, np.array(hashes, dtype=np.int64), commented | quoted)
    directed = cover(len(code), *directives.T)
    names = tuple(_DIRECTIVE.match(code, start)[1].decode() for start in directives[:, 0].tolist())  # type: ignore[index]
    return Lexed(comment_spans, literal_spans, directives, names, commented, quoted, directed)


def _spans(pairs: list[tuple[int, int]]) -> Spans:
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


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


def inside(spans: Spans, offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each of `offsets` lies in one of the disjoint, ascending `spans`."""
    if not len(spans):
        return np.zeros(len(offsets), dtype=bool)
    index = np.searchsorted(spans[:, 0], offsets, side="right") - 1
    return np.asarray((index >= 0) & (offsets < spans[np.maximum(index, 0), 1]))
