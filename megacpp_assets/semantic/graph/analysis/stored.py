"""Stores the facts of a file as bytes, from which each part is decoded when it is first read.

Most passes over a repository read one or two fields of each file, such as its roots. To decode all of them at each read
took three times as long (99 seconds instead of 29 in a profile of the generated tree of 2,000 units).
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import fields, replace
from itertools import accumulate
from typing import Any, Final, NamedTuple

from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.semantic.graph.analysis.analysis import FileFacts
from megacpp_assets.semantic.graph.chunks import Root
from megacpp_assets.semantic.parsing.parsed import NO_SYMBOLS, ParsedFile
from megacpp_assets.semantic.tree.text import SourceText


class Packed(NamedTuple):
    """The facts of a file as bytes. Part i has the bytes [ends[i], ends[i + 1]) of `data`."""

    data: bytes
    ends: tuple[int, ...]


class _Part(NamedTuple):
    """Fields that are decoded together: `rows` of their values are pickled, and `values` makes the values again."""

    names: tuple[str, ...]
    rows: Callable[..., Any] = lambda *values: values
    values: Callable[..., Any] = lambda *rows: rows


def _row(record: Any) -> tuple[Any, ...]:
    """Return the values of a dataclass. Tuples are pickled and read faster than dataclasses with slots."""
    return tuple(getattr(record, field.name) for field in fields(record))


_PARTS: Final = (
    _Part(("file",), _row, lambda *row: (SourceFile(*row),)),
    _Part(("source",), _row, lambda *row: (SourceText(*row),)),
    _Part(("parsed",), _row, lambda *row: (ParsedFile(*row),)),
    _Part(("chunks", "spans", "signatures")),
    _Part(
        ("roots", "root_spans", "spaces"),
        lambda roots, spans, spaces: (tuple(map(_row, roots)), spans, spaces),
        lambda roots, spans, spaces: (tuple(Root(*row) for row in roots), spans, spaces),
    ),
    _Part(("links",)),
    _Part(("includes", "unlabelled")),
    _Part(("entities",)),
)
PARTS: Final = len(_PARTS)
"""The number of parts."""
_PART_OF: Final = {name: number for number, part in enumerate(_PARTS) for name in part.names}


class StoredFacts(FileFacts):
    """The facts of a file in stored bytes. A field gets its value when it is first read."""

    __slots__ = ("_packed",)

    def __init__(self, packed: Packed) -> None:
        object.__setattr__(self, "_packed", packed)

    def __getattr__(self, name: str) -> Any:
        # Python calls this only for a slot that has no value yet.
        if name not in _PART_OF:
            raise AttributeError(name)
        number = _PART_OF[name]
        data, ends = self._packed
        part = _PARTS[number]
        rows = pickle.loads(memoryview(data)[ends[number] : ends[number + 1]])  # noqa: S301 - written by `pack`
        for each, value in zip(part.names, part.values(*rows), strict=True):
            object.__setattr__(self, each, value)
        return getattr(self, name)


def pack(facts: FileFacts) -> Packed:
    """Return `facts` as bytes, without the cursors and symbols of the parse, which nothing reads after the analysis."""
    parsed = replace(facts.parsed, cursors=None, symbols=NO_SYMBOLS)
    values = {name: getattr(facts, name) for name in _PART_OF} | {"parsed": parsed}
    parts = [
        pickle.dumps(part.rows(*(values[name] for name in part.names)), pickle.HIGHEST_PROTOCOL) for part in _PARTS
    ]
    return Packed(b"".join(parts), (0, *accumulate(map(len, parts))))
