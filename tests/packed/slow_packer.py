"""The packer's slow twin: one document at a time, one row at a time, everything in Python lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.tokens.specials import BOS_ID, PAD_ID


def best_fit_residuals(sizes: Sequence[int], capacity: int) -> list[int]:
    """Room left in each row when every size, largest first, goes to the row with the least room that holds it."""
    residuals: list[int] = []
    for size in sorted(sizes, reverse=True):
        fitting = [row for row, room in enumerate(residuals) if room >= size]
        if fitting:
            residuals[min(fitting, key=residuals.__getitem__)] -= size
        else:
            residuals.append(capacity - size)
    return sorted(residuals)


def pack_row(pack_id: int, documents: Sequence[dict[str, Any]], row_tokens: int) -> dict[str, Any]:
    """One packed row, token by token, from enriched records."""
    row: dict[str, Any] = {name: [] for name in (c.INPUT_IDS, *c.TOKEN_METADATA_COLUMNS)}
    row |= {name: [] for name in c.PACKED_ROWS_CHUNK_METADATA_COLUMNS}
    for record in documents:
        tokens, chunks = len(row[c.INPUT_IDS]), len(row[c.TOKEN_CHUNK_STARTS_COLUMN])
        row[c.INPUT_IDS] += record[c.TOKEN_IDS_COLUMN]
        for name in (*c.TOKEN_METADATA_COLUMNS, c.TOKEN_CHUNK_KINDS_COLUMN, c.TOKEN_CHUNK_DEP_LEVELS_COLUMN):
            row[name] += record[name]
        for name in (c.TOKEN_CHUNK_STARTS_COLUMN, c.TOKEN_CHUNK_ENDS_COLUMN):
            row[name] += [tokens + place for place in record[name]]
        for name in (c.TOKEN_CALL_EDGES_COLUMN, c.TOKEN_TYPE_EDGES_COLUMN):
            row[name] += [{"from": chunks + edge["from"], "to": chunks + edge["to"]} for edge in record[name]]
    valid = len(row[c.INPUT_IDS])
    pads = row_tokens - valid
    row[c.INPUT_IDS] += [PAD_ID] * pads
    for name in c.TOKEN_METADATA_COLUMNS:
        row[name] += [c.PACKED_ROWS_DENSE_FALLBACK_FILL_VALUES[name]] * pads
    doc_ids, current = [], -1
    for token in row[c.INPUT_IDS]:
        current += token == BOS_ID
        doc_ids.append(current)
    mask = [int(place + 1 < valid and doc_ids[place] == doc_ids[place + 1]) for place in range(row_tokens)]
    return row | {
        c.PACK_ID: pack_id,
        c.TARGET_IDS: [*row[c.INPUT_IDS][1:], PAD_ID],
        c.LOSS_MASK: mask,
        c.DOC_IDS: doc_ids,
        c.VALID_TOKEN_COUNT: valid,
        c.NUM_DOCS: len(documents),
        c.TRAINED_TOKEN_COUNT: sum(mask),
        c.SLACK_TOKENS: pads,
        **{row: [record[name] for record in documents] for name, row in c.CARRIED.items()},
        c.SOURCE_PLATFORM_IDS: [each for record in documents for each in (record[c.PLATFORM_IDS] + [0] * 20)[:20]],
        c.SOURCE_DOC_TOKEN_LENGTHS: [record[c.ACTUAL_TOKEN_COUNT] for record in documents],
    }
