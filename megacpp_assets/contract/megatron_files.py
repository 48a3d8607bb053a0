"""The sidecar files of a Megatron prefix `<dataset>_<split>`, and their record `<prefix>.idx.json`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Final

from megacpp_assets.contract.canonical import canonical_json
from megacpp_assets.contract.errors import IndexCorrupt
from megacpp_assets.contract.manifest import Manifest

BIN: Final = ".bin"
IDX: Final = ".idx"
SIDECAR_RECORD: Final = ".idx.json"
ROWS: Final = ".rows.bin"
DOCUMENTS: Final = ".documents.parquet"
PLATFORMS: Final = ".platforms.bin"

CHUNK_ROWS: Final = "rows"
CHUNK_VALUES: Final = ("starts", "ends", "kinds", "dep_levels")
CHUNK_EDGES: Final = ("call_edges", "type_edges")
CHUNK_PARTS: Final = (
    CHUNK_ROWS, *CHUNK_VALUES, *(part for name in CHUNK_EDGES for part in (f"{name}.{CHUNK_ROWS}", name)),
)  # fmt: skip
_DTYPE: Final = re.compile(r"u?int(8|16|32)|[|<][iu](1|2|4)")

FORMAT = 4


def prefix_name(dataset: str, split: str) -> str:
    """Return the file name prefix of a split, for example `clang_semantic_4k_v10_train`."""
    return f"{dataset}_{split}"


def pairs_name(manifest: Manifest) -> str:
    """Return the name in `NAME_train.bin` that the manifest of a `megatron_bin_idx` artifact states.

    It is the recipe's `phases.PHASE.dataset_version`, or else the dataset.
    """
    return str(manifest.config["dataset"])


def channel_suffix(channel: str) -> str:
    """Return the suffix of a channel's file, for example `.structure_ids.bin`."""
    return f".{channel}.bin"


def chunk_suffix(part: str) -> str:
    """Return the suffix of a file of chunks or edges, for example `.chunks.starts.bin`."""
    return f".chunks.{part}.bin"


@dataclass(frozen=True, slots=True)
class SidecarRecord:
    """The content of `<prefix>.idx.json`. Paths are file names in the folder of the prefix.

    `side_channel_paths` names the channels (format: `megatron/sidecars/channels.py`). A channel has one value per
    token, or runs if `side_channel_runs` has their number. `side_channel_dtypes` has the little-endian numpy dtype of
    the values.
    `rows_path` has rows + 1 int64: the first sequence of each packed row, and the number of sequences. `platforms_path`
    has MAX_PLATFORM_IDS bytes per sequence: the numbers of its platforms, ascending, padded with 0. `chunk_paths` names
    the files of chunks by part (format: `megatron/sidecars/chunks.py`), and `chunk_counts` has the number of chunks,
    call edges and type edges.
    """

    row_tokens: int
    rows: int
    documents: int
    tokens: int
    token_dtype: str
    rows_path: str
    documents_path: str
    platforms_path: str
    side_channel_paths: Mapping[str, str]
    side_channel_dtypes: Mapping[str, str]
    side_channel_runs: Mapping[str, int]
    chunk_paths: Mapping[str, str]
    chunk_counts: Mapping[str, int]

    def to_bytes(self) -> bytes:
        """Return the record as canonical JSON."""
        return canonical_json({"format": FORMAT, **asdict(self)})

    @staticmethod
    def from_bytes(data: bytes, where: str) -> SidecarRecord:
        """Parse a record.

        Raises `IndexCorrupt`, which names `where`, if it is malformed or a path leaves the folder.
        """
        try:
            raw = json.loads(data)
            if raw.pop("format") != FORMAT:
                raise ValueError("another format")
            record = SidecarRecord(**raw)
            if record.side_channel_paths.keys() != record.side_channel_dtypes.keys():
                raise ValueError("paths and dtypes name different channels")
            if not record.side_channel_runs.keys() <= record.side_channel_paths.keys():
                raise ValueError("runs of a channel that has no path")
            if set(record.chunk_paths) != set(CHUNK_PARTS) or set(record.chunk_counts) != {"chunks", *CHUNK_EDGES}:
                raise ValueError("other parts than those of chunks and edges")
            if not all(_DTYPE.fullmatch(each) for each in (record.token_dtype, *record.side_channel_dtypes.values())):
                raise ValueError("a type that is no whole number's of 1, 2 or 4 bytes")
            names = (
                record.rows_path,
                record.documents_path,
                record.platforms_path,
                *record.side_channel_paths.values(),
                *record.chunk_paths.values(),
            )
            if any(not name or "/" in name or name in (".", "..") for name in names):
                raise ValueError("a path outside the prefix's folder")
            counts = (*record.chunk_counts.values(), *record.side_channel_runs.values())
            numbers = (record.row_tokens, record.rows, record.documents, record.tokens, *counts)
            if any(type(number) is not int or number < 0 for number in numbers):
                raise ValueError("a count that is not a whole number")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise IndexCorrupt(
                where, expected=f"a sidecar record of format {FORMAT}", found=str(error), do="rerun megatron_bin_idx"
            ) from error
        return record
