"""`megatron_bin_idx`: packed rows come in; `.bin`/`.idx` pairs and their sidecars come out.

Each document becomes one sequence. Documents keep the order of the rows, padding is left out, and one row group is in
memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract import megatron_files as files
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.contract.names import SPLITS, TRAIN_SPLIT, VALID_SPLIT
from megacpp_assets.contract.partition import Mixture
from megacpp_assets.contract.platforms import MAX_PLATFORM_IDS
from megacpp_assets.contract.step import Progress, silent
from megacpp_assets.contract.tokens.specials import BOS_ID
from megacpp_assets.megatron.outputs import MegatronTotals, Outputs, UnpaddedRows, open_outputs
from megacpp_assets.megatron.pair.index_format import CODES, token_code
from megacpp_assets.megatron.vocabulary import vocabulary_size_of
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.parquet import read_schema, row_groups
from megacpp_assets.storage.publish import PendingFile, Publication, Target, publish
from megacpp_assets.storage.root.layout import megatron_path, packed_path

VERSION = "8"
STAGE = "megatron_bin_idx"

_COLUMNS = [
    c.INPUT_IDS, c.VALID_TOKEN_COUNT, c.SOURCE_DOC_IDS, c.SOURCE_REPOS, c.SOURCE_DOC_TOKEN_LENGTHS,
    c.SOURCE_PLATFORM_IDS, *c.SIDE_CHANNELS.values(), *c.PACKED_ROWS_CHUNK_METADATA_COLUMNS,
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class MegatronBinIdxSpec:
    """The Megatron files of one mixture of a dataset.

    `dataset_version` is used in their names instead of the dataset, unless it is "". `token_dtype` is the recipe's
    value.
    """

    root: Path
    dataset: str
    mixture: Mixture
    dataset_version: str = ""
    token_dtype: str = "int32"

    @property
    def files_dataset(self) -> str:
        """The dataset in the names of the Megatron files."""
        return self.dataset_version or self.dataset


def spec(corpus: Corpus, partition: str) -> MegatronBinIdxSpec:
    """Return the spec of the partition `SPECIALIST/PHASE` of `corpus`."""
    mixture = corpus.mixture(partition)
    version, token_dtype = corpus.recipe.phase(mixture.phase).dataset_version, corpus.recipe.megatron.token_dtype
    return MegatronBinIdxSpec(corpus.root, corpus.dataset, mixture, version, token_dtype)


def target(spec: MegatronBinIdxSpec) -> Target:
    """Return the artifact that `spec` describes: its path, configuration and inputs."""
    return Target(
        root=spec.root,
        path=megatron_path(spec.dataset, spec.mixture),
        stage=STAGE,
        partition=spec.mixture.key,
        version=VERSION,
        config={"dataset": spec.files_dataset, "token_dtype": spec.token_dtype},
        inputs=(packed_path(spec.dataset, spec.mixture),),
    )


def run(spec: MegatronBinIdxSpec, progress: Progress = silent) -> Artifact:
    """Write the pairs of both splits and publish them. A split without rows has no files.

    Raises:
        LineageGap: the chain of the rows does not have exactly one tokenizer.
        SchemaViolation: the columns of a row contradict each other, or an id is outside the vocabulary.
    """

    def produce(publication: Publication, inputs: tuple[Artifact, ...]) -> dict[str, Any]:
        (packed,) = inputs
        vocabulary = vocabulary_size_of(packed)
        code = token_code(vocabulary, spec.token_dtype)
        split_writer = _SplitWriter(publication, packed, spec.files_dataset, vocabulary, code, progress)
        totals = {split: split_writer.write(split) for split in SPLITS}
        train_bin = files.prefix_name(spec.files_dataset, TRAIN_SPLIT) + files.BIN
        return {
            "documents": totals[TRAIN_SPLIT].documents,
            "tokens": totals[TRAIN_SPLIT].tokens,
            "rows": totals[TRAIN_SPLIT].rows,
            "valid_documents": totals[VALID_SPLIT].documents,
            "valid_tokens": totals[VALID_SPLIT].tokens,
            "valid_rows": totals[VALID_SPLIT].rows,
            "row_tokens": _row_tokens(packed),
            "vocabulary_size": split_writer.vocabulary_size,
            "bin_sha256": next(entry.sha256 for entry in publication.entries if entry.name == train_bin),
        }

    return publish(target(spec), produce)


def _row_tokens(packed: Artifact) -> int:
    return int(packed.manifest.config["row_tokens"])


@dataclass(frozen=True, slots=True)
class _Rows:
    """A block of packed rows.

    `is_valid` (rows, T) is True for tokens of documents and False for padding. `lengths` (documents,) has the tokens of
    each document.
    """

    table: pa.Table
    is_valid: NDArray[np.bool_]
    lengths: NDArray[np.int32]
    documents_per_row: NDArray[np.int64]

    def tokens(self, column: str) -> NDArray[Any]:
        """Return the values of a token-aligned column without padding."""
        values = _flat(self.table, column).to_numpy()
        if len(values) != self.is_valid.size:
            raise SchemaViolation(f"packed rows, {column}", expected=f"{self.is_valid.size} values", found=len(values))
        return np.asarray(values[self.is_valid.reshape(-1)])

    def without_padding(self) -> UnpaddedRows:
        """Return the rows in the form that is written."""
        return UnpaddedRows(
            tokens=self.tokens(c.INPUT_IDS),
            lengths=self.lengths,
            documents_per_row=self.documents_per_row,
            tokens_per_row=self.is_valid.sum(axis=1, dtype=np.int64),
            channels={channel: self.tokens(column) for channel, column in c.SIDE_CHANNELS.items()},
            chunks=self.table,
            platforms=_flat(self.table, c.SOURCE_PLATFORM_IDS).to_numpy().reshape(len(self.lengths), MAX_PLATFORM_IDS),
        )


@dataclass(slots=True)
class _SplitWriter:
    publication: Publication
    packed: Artifact
    dataset: str
    vocabulary_size: int
    code: int
    progress: Progress
    _rows_done: int = 0

    def write(self, split: str) -> MegatronTotals:
        names = [entry.name for entry in self.packed.manifest.files if entry.name.startswith(f"{split}_")]
        if not names:
            return MegatronTotals()
        for name in names:
            _require_columns(self.packed.file(name))
        prefix = files.prefix_name(self.dataset, split)
        with ExitStack() as stack:
            outputs = self._outputs(stack, prefix)
            for name in names:
                for rows in _blocks(self.packed.file(name), _row_tokens(self.packed)):
                    outputs.write(rows.without_padding())
                    doc_ids, repos = (_flat(rows.table, name) for name in (c.SOURCE_DOC_IDS, c.SOURCE_REPOS))
                    outputs.write_documents(doc_ids, repos, rows.lengths)
                    self._report(len(rows.documents_per_row))
            totals = outputs.finish()
        record = totals.record(prefix, _row_tokens(self.packed), np.dtype(CODES[self.code]).str)
        self.publication.write(prefix + files.SIDECAR_RECORD, record.to_bytes())
        return totals

    def _outputs(self, stack: ExitStack, prefix: str) -> Outputs:
        def pending(suffix: str) -> AbstractContextManager[PendingFile]:
            return self.publication.file(prefix + suffix)

        row_tokens = _row_tokens(self.packed)
        return open_outputs(stack, pending, self.vocabulary_size, code=self.code, row_tokens=row_tokens)

    def _report(self, rows: int) -> None:
        self._rows_done += rows
        self.progress(self._rows_done, sum(entry.rows or 0 for entry in self.packed.manifest.files))


def _blocks(file: Path, row_tokens: int) -> Iterator[_Rows]:
    for table in row_groups(file, _COLUMNS):
        valid = table[c.VALID_TOKEN_COUNT].to_numpy()
        lengths = _flat(table, c.SOURCE_DOC_TOKEN_LENGTHS).to_numpy()
        offsets = table[c.SOURCE_DOC_TOKEN_LENGTHS].combine_chunks().offsets.to_numpy().astype(np.int64)
        rows = _Rows(table, np.arange(row_tokens) < valid[:, None], lengths, np.diff(offsets))
        _require_platforms(table, file.name)
        _require_whole_documents(rows, offsets - offsets[0], valid, file.name)
        yield rows


def _require_columns(path: Path) -> None:
    """Raise `SchemaViolation` if a column that every packer writes is missing, before any row is read."""
    found = read_schema(path).names
    missing = [name for name in c.PACKED_ROWS_PACKER_REQUIRED_COLUMNS if name not in found]
    if missing:
        expected = f"the columns {', '.join(missing)}"
        raise SchemaViolation(path.name, expected=expected, found=", ".join(found), do="rerun packed_rows")


def _require_platforms(table: pa.Table, where: str) -> None:
    found, documents = (
        table[name].combine_chunks().value_lengths() for name in (c.SOURCE_PLATFORM_IDS, c.SOURCE_DOC_TOKEN_LENGTHS)
    )
    if not np.array_equal(found.to_numpy(), MAX_PLATFORM_IDS * documents.to_numpy()):
        expected = f"{MAX_PLATFORM_IDS} platforms for each document of a row"
        raise SchemaViolation(where, expected=expected, found="another number", do="rerun packed_rows")


def _require_whole_documents(rows: _Rows, offsets: NDArray[np.int64], valid: NDArray[np.int32], where: str) -> None:
    """Raise `SchemaViolation` unless documents fill each row's valid prefix, each with one BOS, at its start."""
    running = np.concatenate([[0], np.cumsum(rows.lengths, dtype=np.int64)])
    if not np.array_equal(running[offsets[1:]] - running[offsets[:-1]], valid):
        raise SchemaViolation(where, expected="document lengths that add up to valid_token_count", found="another sum")
    is_bos = rows.tokens(c.INPUT_IDS) == BOS_ID
    if not is_bos[running[:-1]].all() or int(is_bos.sum()) != len(rows.lengths):
        raise SchemaViolation(where, expected="one BOS per document, at its start", found=f"{int(is_bos.sum())} BOS")


def _flat(table: pa.Table, column: str) -> pa.Array:
    return table[column].combine_chunks().flatten()
