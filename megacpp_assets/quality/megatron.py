"""Invariants of `megatron_bin_idx`: index bytes, ids, documents, sidecars, and equality with the packed rows.

Files are mapped, not trusted: each check reads what it needs at the offsets the format gives, whatever the others find,
so that one fault fails one check.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract import megatron_files as files
from megacpp_assets.contract.check import CheckResult
from megacpp_assets.contract.errors import IndexCorrupt, LineageGap
from megacpp_assets.contract.names import SPLITS
from megacpp_assets.contract.specials import BOS_ID
from megacpp_assets.megatron.index_format import HEADER_BYTES, TOKEN_CODE, TOKEN_DTYPE, IndexHeader
from megacpp_assets.megatron.reader import blocks
from megacpp_assets.megatron.sidecars import ROW_DTYPE, channel_dtype
from megacpp_assets.megatron.vocabulary import vocabulary_size_of
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.parquet import read_table, row_groups

CHECKS = {
    "splits_are_those_of_the_rows": "a pair for each split that has rows, and no other",
    "header_is_megatrons": "MMIDIDX version 1, code 4, one more boundary than sequences",
    "index_bytes_fit_the_documents": "34 + 12 n + 8 (n + 1) bytes for n documents",
    "lengths_add_up_to_the_bin": "4 bytes for each token of each document",
    "pointers_are_the_running_sum": "each pointer the bytes before it, boundaries 0 to n",
    "ids_are_below_the_vocabulary": "every token from 0 to the tokenizer's vocabulary size",
    "bos_opens_each_document_once": "as many BOS as documents, each at a document's start",
    "sidecars_are_token_aligned": "one value per token in each structure channel",
    "row_starts_cover_the_documents": "rising from 0 to the document count, at most T tokens a row",
    "documents_are_listed_in_order": "a line for each sequence, with the document and length of its row",
    "tokens_are_those_of_the_rows": "every token of the packed rows' valid prefixes, in order",
    "structure_is_that_of_the_rows": "every structure value of the packed rows' valid prefixes, in order",
}
"""Name -> what must hold."""


def check(artifact: Artifact) -> list[CheckResult]:
    """Assert every invariant; results in the order of `CHECKS`. Reads the packed rows it was made from."""
    packed = open_artifact(artifact.root, artifact.manifest.inputs[0].path)
    dataset = str(artifact.manifest.config["dataset"])
    problems = _Problems()
    expected = {split for split in SPLITS if _row_files(packed, split)}
    found = {split for split in SPLITS if _names(artifact, dataset, split)}
    if expected != found:
        problems.add("splits_are_those_of_the_rows", f"{sorted(found)} where the rows have {sorted(expected)}")
    vocabulary = _vocabulary(artifact, problems)
    for split in sorted(expected & found):
        _check_split(artifact.directory / files.prefix_name(dataset, split), packed, split, vocabulary, problems)
    return problems.results()


def _vocabulary(artifact: Artifact, problems: _Problems) -> int:
    try:
        return vocabulary_size_of(artifact)
    except LineageGap as gap:
        problems.add("ids_are_below_the_vocabulary", str(gap))
        return 1 << 31


@dataclass(slots=True)
class _Problems:
    found: dict[str, list[str]] = field(default_factory=dict)

    def add(self, name: str, text: str) -> None:
        self.found.setdefault(name, []).append(text)

    def require(self, name: str, holds: bool, text: str) -> None:
        if not holds:
            self.add(name, text)

    def results(self) -> list[CheckResult]:
        return [
            CheckResult(name, name not in self.found, expected, "; ".join(self.found.get(name, ["as expected"])))
            for name, expected in CHECKS.items()
        ]


def _names(artifact: Artifact, dataset: str, split: str) -> list[str]:
    prefix = files.prefix_name(dataset, split)
    return [entry.name for entry in artifact.manifest.files if entry.name.startswith(f"{prefix}.")]


def _row_files(packed: Artifact, split: str) -> list[Path]:
    return [file for file in packed.files(".parquet") if file.name.startswith(f"{split}_")]


@dataclass(frozen=True, slots=True)
class _Pair:
    """The parts of a pair at the offsets that its sequence count gives; `starts` is the running sum of lengths."""

    prefix: Path
    head: bytes
    lengths: NDArray[np.int32]
    pointers: NDArray[np.int64]
    boundaries: NDArray[np.int64]
    starts: NDArray[np.int64]
    tokens: NDArray[Any]

    def path(self, suffix: str) -> Path:
        return self.prefix.with_name(self.prefix.name + suffix)


def _read_pair(prefix: Path) -> _Pair:
    index = prefix.with_name(prefix.name + files.IDX)
    with index.open("rb") as file:
        head = file.read(HEADER_BYTES)
    # A count that the file cannot hold is a fault of its own; the rest is read as far as it goes.
    count = min(struct.unpack_from("<Q", head.ljust(HEADER_BYTES, b"\0"), 18)[0], index.stat().st_size // 12)
    lengths = np.fromfile(index, "<i4", count, offset=HEADER_BYTES)
    pointers = np.fromfile(index, "<i8", count, offset=HEADER_BYTES + 4 * count)
    boundaries = np.fromfile(index, "<i8", count + 1, offset=HEADER_BYTES + 12 * count)
    starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    tokens = _map(prefix.with_name(prefix.name + files.BIN), TOKEN_DTYPE)
    return _Pair(prefix, head, lengths, pointers, boundaries, starts, tokens)


def _map(path: Path, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The whole values of a file; a part of one at its end is left to the check of its size."""
    whole = path.stat().st_size // dtype.itemsize
    return np.memmap(path, dtype, "r", shape=(whole,)) if whole else np.empty(0, dtype)


def _check_split(prefix: Path, packed: Artifact, split: str, vocabulary: int, problems: _Problems) -> None:
    pair = _read_pair(prefix)
    _check_index(pair, split, problems)
    _check_tokens(pair, split, vocabulary, problems)
    _check_sidecars(pair, split, int(packed.manifest.config["row_tokens"]), problems)
    _check_rows(pair, _row_files(packed, split), split, problems)


def _check_index(pair: _Pair, split: str, problems: _Problems) -> None:
    index, count = pair.path(files.IDX), len(pair.lengths)
    try:
        header = IndexHeader.from_bytes(pair.head, index.name)
        usual = header.code == TOKEN_CODE and header.boundaries == header.sequences + 1
        problems.require("header_is_megatrons", usual, f"{split}: {header}")
    except IndexCorrupt as error:
        problems.add("header_is_megatrons", f"{split}: {error}")
    size, expected = index.stat().st_size, HEADER_BYTES + 12 * count + 8 * (count + 1)
    problems.require("index_bytes_fit_the_documents", size == expected, f"{split}: {size} bytes for {count} documents")
    size, total = pair.path(files.BIN).stat().st_size, int(pair.starts[-1]) * TOKEN_DTYPE.itemsize
    problems.require("lengths_add_up_to_the_bin", size == total, f"{split}: {size} bytes where lengths give {total}")
    running = np.array_equal(pair.pointers, pair.starts[:-1] * TOKEN_DTYPE.itemsize)
    one_each = np.array_equal(pair.boundaries, np.arange(count + 1))
    problems.require("pointers_are_the_running_sum", running and one_each, f"{split}: otherwise")


def _check_tokens(pair: _Pair, split: str, vocabulary: int, problems: _Problems) -> None:
    outside = bos = 0
    for part in blocks(len(pair.tokens)):
        tokens = pair.tokens[part]
        outside += int(((tokens < 0) | (tokens >= vocabulary)).sum())
        bos += int((tokens == BOS_ID).sum())
    problems.require("ids_are_below_the_vocabulary", outside == 0, f"{split}: {outside} tokens not below {vocabulary}")
    starts = pair.starts[:-1]
    opened = int((pair.tokens[starts[starts < len(pair.tokens)]] == BOS_ID).sum())
    problems.require(
        "bos_opens_each_document_once",
        bos == opened == len(pair.lengths),
        f"{split}: {bos} BOS, {opened} of them at the start of one of {len(pair.lengths)} documents",
    )


def _check_sidecars(pair: _Pair, split: str, row_tokens: int, problems: _Problems) -> None:
    total = int(pair.starts[-1])
    for channel in c.STRUCTURE_CHANNELS:
        path = pair.path(files.channel_suffix(channel))
        values = path.stat().st_size / channel_dtype(channel).itemsize
        problems.require(
            "sidecars_are_token_aligned", values == total, f"{path.name}: {values:g} values, {total} tokens"
        )
    rows = np.fromfile(pair.path(files.ROWS), ROW_DTYPE)
    rising = len(rows) > 1 and rows[0] == 0 and rows[-1] == len(pair.lengths) and bool((np.diff(rows) > 0).all())
    fits = rising and int(np.diff(pair.starts[rows]).max()) <= row_tokens
    problems.require("row_starts_cover_the_documents", fits, f"{split}: {len(rows) - 1} rows that do not")


def _check_rows(pair: _Pair, row_files: list[Path], split: str, problems: _Problems) -> None:
    """Walk the packed rows and the pair side by side, a row group at a time."""
    channels = {
        channel: _map(pair.path(files.channel_suffix(channel)), channel_dtype(channel))
        for channel in c.STRUCTURE_CHANNELS
    }
    listed = read_table(pair.path(files.DOCUMENTS))
    tokens = documents = 0
    for group in (table for file in row_files for table in row_groups(file)):
        valid = group[c.VALID_TOKEN_COUNT].to_numpy()
        inputs = _valid_prefix(group, c.INPUT_IDS, valid)
        place = slice(tokens, tokens + len(inputs))
        same = np.array_equal(pair.tokens[place], inputs)
        problems.require("tokens_are_those_of_the_rows", same, f"{split}: tokens {place.start} to {place.stop}")
        for channel, values in channels.items():
            # Compared as far as the channel goes: whether it goes far enough is a check of its own.
            wanted = _valid_prefix(group, c.STRUCTURE_CHANNELS[channel], valid)[: max(0, len(values) - tokens)]
            same = np.array_equal(values[place], wanted)
            problems.require("structure_is_that_of_the_rows", same, f"{split}: {channel} after {place.start}")
        documents += _compare_listed(listed, group, documents, f"{split}: after {documents}", problems)
        tokens += len(inputs)
    whole = tokens == int(pair.starts[-1])
    problems.require(
        "tokens_are_those_of_the_rows", whole, f"{split}: {tokens} in rows, {pair.starts[-1]} in documents"
    )
    lines = listed.num_rows == documents == len(pair.lengths)
    problems.require("documents_are_listed_in_order", lines, f"{split}: {listed.num_rows} lines, {documents} documents")


def _compare_listed(listed: pa.Table, group: pa.Table, first: int, where: str, problems: _Problems) -> int:
    """Compare the lines of one row group; gives the number of its documents."""
    pairs = list(_listed_columns(group, first))
    count = len(pairs[0][1])
    part = listed.slice(first, count)
    same = all(part[name].combine_chunks().equals(values.cast(part[name].type)) for name, values in pairs)
    problems.require("documents_are_listed_in_order", same, where)
    return count


def _listed_columns(group: pa.Table, first: int) -> Iterator[tuple[str, pa.Array]]:
    lengths = group[c.SOURCE_DOC_TOKEN_LENGTHS].combine_chunks().flatten()
    yield c.TOKENS, lengths
    yield c.SEQUENCE, pa.array(np.arange(first, first + len(lengths)))
    yield c.DOC_ID, group[c.SOURCE_DOC_IDS].combine_chunks().flatten()
    yield c.REPO, group[c.SOURCE_REPOS].combine_chunks().flatten()


def _valid_prefix(group: pa.Table, column: str, valid: NDArray[np.int32]) -> NDArray[Any]:
    values = group[column].combine_chunks().flatten().to_numpy()
    width = len(values) // len(valid)
    return np.asarray(values.reshape(len(valid), width)[np.arange(width) < valid[:, None]])
