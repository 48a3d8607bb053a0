"""The text of chunks without comments and literals, for what is found by words."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from megacpp_assets.semantic.graph.analysis.analysis import FileFacts

_ASIDE = re.compile(rb'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)

Pairs = Iterator[tuple[int, int]]
"""(user, used) chunks, numbered across all files."""


def numbered(files: Sequence[FileFacts]) -> Iterator[tuple[int, FileFacts]]:
    """Yield each file with the number of its first chunk."""
    base = 0
    for facts in files:
        yield base, facts
        base += len(facts.chunks)


def without_asides(code: bytes) -> bytes:
    """Return `code` without comments and literals."""
    return _ASIDE.sub(b" ", code)


def code_of(facts: FileFacts, number: int) -> bytes:
    """Return the text of a chunk without comments and literals."""
    chunk = facts.chunks[number]
    return without_asides(facts.source.data[chunk.start : chunk.end])


def is_macro(files: Sequence[FileFacts], bases: Sequence[int], chunk: int) -> bool:
    """Return whether a chunk, numbered across all files, is a preprocessor definition. `bases` are the first of each
    file."""
    file = bisect_right(bases, chunk) - 1
    return files[file].chunks[chunk - bases[file]].kind == "preamble"
