"""`v6_enriched` once more in plain Python, one token, chunk and edge at a time: what the vectorised code must equal."""

from __future__ import annotations

from typing import Any

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import CATEGORY_ID
from megacpp_assets.contract.schemas import CHANGE_TYPES, CHAR_TYPES

Row = dict[str, Any]


def first_character(values: list[int], starts: list[int], ends: list[int]) -> list[int]:
    """The value of each token's first character; 0 where it has none."""
    return [
        values[start] if start < end and start < len(values) else 0 for start, end in zip(starts, ends, strict=True)
    ]


def chunk_tokens(row: Row) -> tuple[list[Row], dict[int, int]]:
    """Chunks with `start` and `end` in tokens, in their order, and old index -> new index of those not lost."""
    spans = list(zip(row[c.TOKEN_CHAR_STARTS], row[c.TOKEN_CHAR_ENDS], strict=True))
    ranges = []
    for index, chunk in enumerate(row[c.CHUNK_BOUNDARIES]):
        over = [
            token for token, (start, end) in enumerate(spans)
            if start < chunk["char_end"] and end > chunk["char_offset"]
        ]  # fmt: skip
        ranges.append((min(over), max(over) + 1, index))
    ranges.sort(key=lambda item: item[0])
    kept: list[Row] = []
    place: dict[int, int] = {}
    for start, end, index in ranges:
        free = max(start, kept[-1]["start"] + 1) if kept else start
        if free < end:
            place[index] = len(kept)
            kept.append({**row[c.CHUNK_BOUNDARIES][index], "start": free, "end": end})
    return kept, place


def dep_levels(chunks: list[Row], tokens: int) -> list[int]:
    """Per token the level of the last chunk that starts at or before it."""
    levels = []
    for token in range(tokens):
        before = [chunk["dep_level"] for chunk in chunks if chunk["start"] <= token]
        levels.append(before[-1] if before else 0)
    return levels


def edges(row: Row, name: str, ends: tuple[str, str], place: dict[int, int]) -> list[Row]:
    """Edges between kept chunks as {from, to}."""
    pairs = [tuple(edge[end] for end in ends) for edge in row[name]]
    return [{"from": place[a], "to": place[b]} for a, b in pairs if a in place and b in place]


def enrich(row: Row) -> Row:
    """A row of token parquet as a row of the enriched schema."""
    chunks, place = chunk_tokens(row)
    starts, ends = row[c.TOKEN_CHAR_STARTS], row[c.TOKEN_CHAR_ENDS]
    dropped = {
        *CHAR_TYPES, *CHANGE_TYPES, c.TOKEN_CHAR_STARTS, c.TOKEN_CHAR_ENDS, c.CHUNK_BOUNDARIES,
        c.CALL_EDGES, c.TYPE_EDGES,
    }  # fmt: skip
    return {
        **{name: value for name, value in row.items() if name not in dropped},
        **{c.TOKEN_OF_CHAR[name]: first_character(row[name], starts, ends) for name in CHAR_TYPES},
        **{
            c.TOKEN_OF_CHANGE[name]: [
                row[name][start] if start < end and start < len(row[name]) else -1 if name == c.HUNK_ID else 0
                for start, end in zip(starts, ends, strict=True)
            ]
            for name in CHANGE_TYPES
        },
        c.TOKEN_DEP_LEVELS_COLUMN: dep_levels(chunks, len(starts)),
        c.TOKEN_CHUNK_STARTS_COLUMN: [chunk["start"] for chunk in chunks],
        c.TOKEN_CHUNK_ENDS_COLUMN: [chunk["end"] for chunk in chunks],
        c.TOKEN_CHUNK_KINDS_COLUMN: [CATEGORY_ID.get(chunk["kind"].lower(), 0) for chunk in chunks],
        c.TOKEN_CHUNK_DEP_LEVELS_COLUMN: [chunk["dep_level"] for chunk in chunks],
        c.TOKEN_CALL_EDGES_COLUMN: edges(row, c.CALL_EDGES, ("caller_idx", "callee_idx"), place),
        c.TOKEN_TYPE_EDGES_COLUMN: edges(row, c.TYPE_EDGES, ("user_idx", "type_idx"), place),
    }
