"""Serializes an analysed file: a JSON head, then the arrays as they are in memory.

Equal analyses give equal bytes. The writer's checksum protects the bytes, not this module.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from megacpp_assets.semantic.graph.analysis.analyses import Analysed, AnyItem
from megacpp_assets.semantic.graph.analysis.analysis import FileFacts
from megacpp_assets.semantic.graph.chunks import Chunk, Root
from megacpp_assets.semantic.graph.link import Declared, FileLinks, Used
from megacpp_assets.semantic.graph.spaces import Space, Span
from megacpp_assets.semantic.graph.symbol_rows import Entities
from megacpp_assets.semantic.labels.paint import CHAR_DTYPE

_LENGTH_BYTES: Final = 8
_ENTITIES: Final = {"id": "<u4", "kind": "|u1", "definition": "|b1", "start": "<i8", "end": "<i8", "form": "|u1"}
_DECLARED: Final = {"usr": "<u8", "chunk": "<i8", "id": "<u4", "spelling": "<u8", "definition": "|b1", "macro": "|b1"}
_USED: Final = {
    "usr": "<u8",
    "chunk": "<i8",
    "id": "<u4",
    "spelling": "<u8",
    "edge": "<i8",
    "confidence": "<i8",
    "macro": "|b1",
}


def to_bytes(analysed: Analysed) -> bytes:
    """Return `analysed` as bytes, without its source and its parse, which are part of its cache key."""
    facts = analysed.facts
    head = {
        "cpu_ms": analysed.cpu_ms,
        "chunks": facts.chunks,
        "spans": facts.spans,
        "signatures": facts.signatures,
        "roots": facts.roots,
        "root_spans": facts.root_spans,
        "includes": facts.includes,
        "spaces": facts.spaces,
        "unlabelled": facts.unlabelled,
        "calls": [facts.links.calls, facts.links.resolved, facts.links.candidates],
        "names": facts.entities.name,
        "used_names": facts.entities.used,
        "lengths": [len(facts.entities.id), len(facts.links.declared.usr), len(facts.links.used.usr)],
    }
    text = orjson.dumps(head, default=tuple)  # orjson does not serialize named tuples
    return b"".join((len(text).to_bytes(_LENGTH_BYTES, "little"), text, *_arrays(facts), analysed.chars.tobytes()))


def from_bytes(data: bytes, item: AnyItem) -> Analysed:
    """Return the analysis of `item` that `to_bytes` wrote."""
    end = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "little")
    head = orjson.loads(data[_LENGTH_BYTES:end])
    reader = _Reader(data, end)
    entities, declared, used = (
        reader.columns(kinds, length)
        for kinds, length in zip((_ENTITIES, _DECLARED, _USED), head["lengths"], strict=True)
    )
    facts = FileFacts(
        file=item.file,
        source=item.source,
        parsed=item.parsed,
        chunks=tuple(_chunk(*row) for row in head["chunks"]),
        spans=_spans(head["spans"]),
        signatures=tuple(None if span is None else Span(*span) for span in head["signatures"]),
        roots=tuple(Root(**root) for root in head["roots"]),
        root_spans=_spans(head["root_spans"]),
        links=FileLinks(Declared(**declared), Used(**used), *head["calls"]),
        includes=_spans(head["includes"]),
        spaces=tuple(tuple(map(_space, spaces)) for spaces in head["spaces"]),
        entities=Entities(**entities, name=head["names"], used=[(name, kind) for name, kind in head["used_names"]]),
        unlabelled=head["unlabelled"],
    )
    return Analysed(facts, np.frombuffer(data, CHAR_DTYPE, offset=reader.offset), head["cpu_ms"])


def _chunk(start: int, end: int, kind: str, name: str, unit: list[int]) -> Chunk:
    return Chunk(start, end, kind, name, (unit[0], unit[1]))


def _space(space: dict[str, Any]) -> Space:
    return Space(Span(*space.pop("opening")), **{**space, "within": tuple(space["within"])})


def _spans(rows: list[list[int]]) -> tuple[Span, ...]:
    return tuple(Span(*row) for row in rows)


def _arrays(facts: FileFacts) -> Iterator[bytes]:
    parts = ((facts.entities, _ENTITIES), (facts.links.declared, _DECLARED), (facts.links.used, _USED))
    for columns, kinds in parts:
        for name, kind in kinds.items():
            yield getattr(columns, name).astype(kind, copy=False).tobytes()


class _Reader:
    """Reads columns from bytes, one after another. `offset` is the start of the next one."""

    def __init__(self, data: bytes, offset: int) -> None:
        self._data = data
        self.offset = offset

    def columns(self, kinds: dict[str, str], length: int) -> dict[str, NDArray[Any]]:
        """Return a column of `length` values for each of `kinds`."""
        return {name: self._take(kind, length) for name, kind in kinds.items()}

    def _take(self, kind: str, length: int) -> NDArray[Any]:
        # Copied, because the array may not be aligned in `data` and would keep all of `data` in memory.
        array = np.frombuffer(self._data, kind, length, self.offset).copy()
        self.offset += array.nbytes
        return array
