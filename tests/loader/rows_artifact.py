"""A Megatron artifact written value by value from known rows, for tests of what reads it."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from megacpp_assets.contract import megatron_files as files
from megacpp_assets.contract.columns import PACKED_ROWS_CHUNK_METADATA_COLUMNS, ROLES, SIDE_CHANNELS
from megacpp_assets.contract.megatron_files import SidecarRecord
from megacpp_assets.contract.names import ROLE_NAMES, TRAIN_SPLIT, VALID_SPLIT
from megacpp_assets.contract.partition import Mixture
from megacpp_assets.contract.platforms import MAX_PLATFORM_IDS
from megacpp_assets.contract.schemas import MEGATRON_DOCUMENTS, PACKED
from megacpp_assets.contract.tokens.specials import BOS_ID, SPACE_ID
from megacpp_assets.megatron.sidecars.chunks import ChunkWriter
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.publish import Publication, Target, publish
from megacpp_assets.storage.root import layout

DATASET = "tiny_v1"
MIXTURE = Mixture("base", "4k")
PREFIX = files.prefix_name(DATASET, TRAIN_SPLIT)
VALID_PREFIX = files.prefix_name(DATASET, VALID_SPLIT)
DTYPES = {
    "structure_ids": "uint8",
    "dep_levels": "uint16",
    "ast_depth_ids": "uint16",
    "sibling_index_ids": "uint16",
    "node_type_ids": "uint8",
    "roles": "uint8",
    "symbol_ids": "uint32",
    "call_targets": "uint32",
    "type_refs": "uint32",
    "def_use": "uint8",
    "change_mask_pre": "uint8",
    "change_mask_post": "uint8",
    "hunk_id_per_token": "int16",
    "edit_op_per_token": "uint8",
}


@dataclass(frozen=True, slots=True)
class Document:
    """Tokens of one document, BOS first, its five channels, and its platforms."""

    tokens: NDArray[np.int32]
    channels: dict[str, NDArray[np.int32]] = field(default_factory=dict)
    platforms: tuple[int, ...] = ()


def random_document(rng: np.random.Generator, length: int, vocabulary: int) -> Document:
    """A document whose tokens are far from uniform, so that a model can learn something in a few steps."""
    tokens = SPACE_ID + rng.geometric(0.3, length).astype(np.int32) % (vocabulary - SPACE_ID)
    tokens[0] = BOS_ID
    channels = {channel: rng.integers(0, 9, length).astype(np.int32) for channel in SIDE_CHANNELS}
    channels[ROLES] %= len(ROLE_NAMES)
    return Document(tokens, channels, (1 + length % 30, 107 + length % 3))


def random_rows(*, rows: int, row_tokens: int, vocabulary: int = 100, seed: int = 0) -> list[list[Document]]:
    """Rows of one to five documents with a little room left at the end of most."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(rows):
        cuts = np.sort(rng.choice(np.arange(2, row_tokens - 4), rng.integers(0, 5), replace=False))
        ends = [*cuts.tolist(), row_tokens - int(rng.integers(0, 4))]
        lengths = np.diff([0, *ends])
        made.append([random_document(rng, int(length), vocabulary) for length in lengths])
    return made


def publish_rows(
    root: Path,
    rows: list[list[Document]],
    row_tokens: int,
    held_out: list[list[Document]] | None = None,
    inputs: tuple[str, ...] = (),
    mixture: Mixture = MIXTURE,
) -> Artifact:
    """Publish `rows` as the training split of the tiny dataset, and `held_out` as the other, made from `inputs`."""

    def produce(publication: Publication, _inputs: tuple[Artifact, ...]) -> dict[str, int]:
        if held_out:
            write_split(publication, held_out, row_tokens, VALID_PREFIX)
        record = write_split(publication, rows, row_tokens, PREFIX)
        return {"tokens": record.tokens, "rows": record.rows, "valid_rows": len(held_out or [])}

    path = layout.megatron_path(DATASET, mixture)
    config = {"rows": len(rows), "held_out": len(held_out or [])}
    return publish(Target(root, path, "megatron_bin_idx", mixture.key, "1", config, inputs), produce)


def write_split(publication: Publication, rows: list[list[Document]], row_tokens: int, prefix: str) -> SidecarRecord:
    """The files of one split. Document i is of repository `even@1` or `odd@1`."""
    documents = [document for row in rows for document in row]
    lengths = np.array([len(document.tokens) for document in documents], dtype="<i4")
    write_array(publication, prefix + files.BIN, [document.tokens.astype("<i4") for document in documents])
    publication.write(prefix + files.IDX, index_bytes(lengths))
    for channel, dtype in DTYPES.items():
        values = [document.channels[channel].astype(dtype) for document in documents]
        write_array(publication, prefix + files.channel_suffix(channel), values)
    first = np.cumsum([0, *(len(row) for row in rows)], dtype="<i8")
    write_array(publication, prefix + files.ROWS, [first])
    count = range(len(documents))
    columns = [list(count), [f"d{i}" for i in count], [("even@1", "odd@1")[i % 2] for i in count], lengths.tolist()]
    table = pa.Table.from_arrays([pa.array(column) for column in columns], MEGATRON_DOCUMENTS.names)
    with publication.file(prefix + files.DOCUMENTS) as pending:
        pq.write_table(table.cast(MEGATRON_DOCUMENTS), pending.path)
    platforms = np.zeros((len(documents), MAX_PLATFORM_IDS), "u1")
    for line, document in zip(platforms, documents, strict=True):
        line[: len(document.platforms)] = document.platforms
    write_array(publication, prefix + files.PLATFORMS, [platforms])
    record = SidecarRecord(
        row_tokens=row_tokens,
        rows=len(rows),
        documents=len(documents),
        tokens=int(lengths.sum()),
        token_dtype="int32",
        rows_path=prefix + files.ROWS,
        documents_path=prefix + files.DOCUMENTS,
        platforms_path=prefix + files.PLATFORMS,
        side_channel_paths={channel: prefix + files.channel_suffix(channel) for channel in DTYPES},
        side_channel_dtypes=DTYPES,
        side_channel_runs={},
        chunk_paths={part: prefix + files.chunk_suffix(part) for part in files.CHUNK_PARTS},
        chunk_counts=write_chunks(publication, rows, prefix),
    )
    publication.write(prefix + files.SIDECAR_RECORD, record.to_bytes())
    return record


def write_chunks(publication: Publication, rows: list[list[Document]], prefix: str) -> dict[str, int]:
    """Two chunks of each document of two tokens or more, the second calling the first; how many chunks and edges."""
    parts = {part: BytesIO() for part in files.CHUNK_PARTS}
    writer = ChunkWriter(parts)
    writer.append(_chunk_table(rows))
    writer.finish()
    for part, written in parts.items():
        publication.write(prefix + files.chunk_suffix(part), written.getvalue())
    return writer.counts


def _chunk_table(rows: list[list[Document]]) -> pa.Table:
    columns: dict[str, list[list[Any]]] = {name: [] for name in PACKED_ROWS_CHUNK_METADATA_COLUMNS}
    for row in rows:
        places = np.cumsum([0, *(len(document.tokens) for document in row)]).tolist()
        starts = sorted({place for first, end in pairwise(places) for place in (first, (first + end) // 2)})
        calls = [{"from": chunk, "to": chunk - 1} for chunk, start in enumerate(starts) if start not in places]
        lists: tuple[list[Any], ...] = (
            starts,
            [*starts[1:], places[-1]],
            [3] * len(starts),
            [0] * len(starts),
            calls,
            [],
        )
        for name, values in zip(columns, lists, strict=True):
            columns[name].append(values)
    schema = pa.schema([PACKED.field(name) for name in columns])
    return pa.table(columns, schema=schema)


def write_array(publication: Publication, name: str, arrays: list[NDArray[np.generic]]) -> None:
    """Write arrays end to end as one file."""
    publication.write(name, b"".join(array.tobytes() for array in arrays))


def index_bytes(lengths: NDArray[np.int32], code: int = 4, width: int = 4) -> bytes:
    """An MMIDIDX file of one sequence per document, of tokens of a dtype code and a width in bytes."""
    count = len(lengths)
    header = struct.pack("<9sQBQQ", b"MMIDIDX\x00\x00", 1, code, count, count + 1)
    pointers = np.cumsum([0, *lengths[:-1]], dtype="<i8") * width
    return header + lengths.tobytes() + pointers.tobytes() + np.arange(count + 1, dtype="<i8").tobytes()
