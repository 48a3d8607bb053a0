"""A Megatron artifact written value by value from known rows, for tests of what reads it."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract import megatron_files as files
from megacpp_assets.contract.columns import SIDE_CHANNELS
from megacpp_assets.contract.megatron_files import SidecarRecord
from megacpp_assets.contract.names import TRAIN_SPLIT
from megacpp_assets.contract.partition import Mixture
from megacpp_assets.contract.specials import BOS_ID
from megacpp_assets.storage import layout
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.publish import Publication, Target, publish

DATASET = "tiny_v1"
MIXTURE = Mixture("base", "4k")
PREFIX = files.prefix_name(DATASET, TRAIN_SPLIT)
DTYPES = {
    "structure_ids": "uint8",
    "dep_levels": "uint16",
    "ast_depth_ids": "uint16",
    "sibling_index_ids": "uint16",
    "node_type_ids": "uint8",
    "roles": "uint8",
}


@dataclass(frozen=True, slots=True)
class Document:
    """Tokens of one document, BOS first, and its five channels."""

    tokens: NDArray[np.int32]
    channels: dict[str, NDArray[np.int32]] = field(default_factory=dict)


def random_document(rng: np.random.Generator, length: int, vocabulary: int) -> Document:
    """A document whose tokens are far from uniform, so that a model can learn something in a few steps."""
    tokens = 3 + rng.geometric(0.3, length).astype(np.int32) % (vocabulary - 3)
    tokens[0] = BOS_ID
    channels = {channel: rng.integers(0, 9, length).astype(np.int32) for channel in SIDE_CHANNELS}
    return Document(tokens, channels)


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


def publish_rows(root: Path, rows: list[list[Document]], row_tokens: int) -> Artifact:
    """Publish `rows` as the training split of the tiny dataset."""

    def produce(publication: Publication, inputs: tuple[Artifact, ...]) -> dict[str, int]:
        documents = [document for row in rows for document in row]
        lengths = np.array([len(document.tokens) for document in documents], dtype="<i4")
        write_array(publication, files.BIN, [document.tokens.astype("<i4") for document in documents])
        publication.write(PREFIX + files.IDX, index_bytes(lengths))
        for channel, dtype in DTYPES.items():
            suffix = files.channel_suffix(channel)
            write_array(publication, suffix, [document.channels[channel].astype(dtype) for document in documents])
        first = np.cumsum([0, *(len(row) for row in rows)], dtype="<i8")
        write_array(publication, files.ROWS, [first])
        record = SidecarRecord(
            row_tokens=row_tokens,
            rows=len(rows),
            documents=len(documents),
            tokens=int(lengths.sum()),
            token_dtype="int32",
            rows_path=PREFIX + files.ROWS,
            documents_path=PREFIX + files.DOCUMENTS,
            side_channel_paths={channel: PREFIX + files.channel_suffix(channel) for channel in DTYPES},
            side_channel_dtypes=DTYPES,
        )
        publication.write(PREFIX + files.SIDECAR_RECORD, record.to_bytes())
        return {"tokens": record.tokens, "rows": record.rows}

    path = layout.megatron_path(DATASET, MIXTURE)
    return publish(Target(root, path, "megatron_bin_idx", MIXTURE.key, "1", {"rows": len(rows)}), produce)


def write_array(publication: Publication, suffix: str, arrays: list[NDArray[np.generic]]) -> None:
    """Write arrays end to end as one file."""
    publication.write(PREFIX + suffix, b"".join(array.tobytes() for array in arrays))


def index_bytes(lengths: NDArray[np.int32], code: int = 4, width: int = 4) -> bytes:
    """An MMIDIDX file of one sequence per document, of tokens of a dtype code and a width in bytes."""
    count = len(lengths)
    header = struct.pack("<9sQBQQ", b"MMIDIDX\x00\x00", 1, code, count, count + 1)
    pointers = np.cumsum([0, *lengths[:-1]], dtype="<i8") * width
    return header + lengths.tobytes() + pointers.tobytes() + np.arange(count + 1, dtype="<i8").tobytes()
