"""Stage `tokenized_parquet`: semantic JSONL and the tokenizer to token parquet of one repository.

Training shards of 50,000 documents and a validation shard; every document has at most 4096 tokens, BOS included.
Records stream through in batches, so memory does not grow with the repository.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.encoding import TextEncoder
from megacpp_assets.contract.names import DOCUMENT_TOKENS, VALID_SPLIT, fixed_max_chunks
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.progress import Progress, silent
from megacpp_assets.contract.schemas import SHARD_DOCUMENTS
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.jsonl import SHARD_SUFFIX, read_records
from megacpp_assets.storage.layout import jsonl_path, parquet_path, tokenizer_path
from megacpp_assets.storage.publish import Publication, Target, publish
from megacpp_assets.tokenized.encode import tokenize
from megacpp_assets.tokenized.records import documents_table
from megacpp_assets.tokenized.shards import ShardWriter
from megacpp_assets.tokenized.split import Limits
from megacpp_assets.tokenized.stats import Totals
from megacpp_assets.tokenizer.device import load_encoder

VERSION: Final = "4"
LIMITS: Final = Limits(DOCUMENT_TOKENS, fixed_max_chunks(DOCUMENT_TOKENS))
BATCH_DOCUMENTS: Final = 256
"""Documents in memory at a time."""


@dataclass(frozen=True, slots=True)
class TokenizedParquetSpec:
    """One repository of one dataset."""

    root: Path
    dataset: str
    repo: RepoRef


def spec(corpus: Corpus, partition: str) -> TokenizedParquetSpec:
    """What the partition `NAME@REF` of `corpus` is made from."""
    return TokenizedParquetSpec(corpus.root, corpus.dataset, RepoRef.parse(partition))


def target(spec: TokenizedParquetSpec) -> Target:
    """The work of tokenizing one repository; the tokenizer's identity is in the manifest of the second input."""
    return Target(
        root=spec.root,
        path=parquet_path(spec.dataset, spec.repo),
        stage="tokenized_parquet",
        partition=spec.repo.key,
        version=VERSION,
        config={"dataset": spec.dataset, "document_tokens": DOCUMENT_TOKENS, "shard_documents": SHARD_DOCUMENTS},
        inputs=(jsonl_path(spec.dataset, spec.repo), tokenizer_path(spec.dataset)),
    )


def run(spec: TokenizedParquetSpec, progress: Progress = silent) -> Artifact:
    """Tokenize the repository's semantic documents; a current artifact is returned untouched.

    Raises `LineageGap` for a missing or changed input and `SchemaViolation` for a record or an encoder that breaks its
    contract.
    """

    def produce(publication: Publication, inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
        jsonl, tokenizer = inputs
        total = sum(entry.rows or 0 for entry in jsonl.manifest.files if entry.name.endswith(SHARD_SUFFIX))
        return write_shards(
            publication,
            read_records(jsonl),
            _encoder(tokenizer.directory, tokenizer.manifest.sha256),
            progress=lambda done: progress(done, max(done, total)),
        )

    return publish(target(spec), produce)


@functools.lru_cache(maxsize=1)
def _encoder(directory: Path, manifest_sha256: str) -> TextEncoder:
    """All repositories of a corpus share one tokenizer, and a full vocabulary takes seconds to verify and load."""
    return load_encoder(directory)


def write_shards(
    publication: Publication,
    records: Iterable[Mapping[str, Any]],
    encoder: TextEncoder,
    *,
    progress: Callable[[int], None],
) -> dict[str, Any]:
    """Write every record as token parquet into `publication`; gives the statistics. `progress` hears records done."""
    totals = Totals()
    done = 0
    with ShardWriter(publication) as shards:
        for documents in _batches(iter(records)):
            tokenized = tokenize(documents, encoder, LIMITS)
            validation = np.repeat(
                np.array([side == VALID_SPLIT for side in documents[c.SPLIT].to_pylist()]), tokenized.pieces
            )
            shards.write(tokenized.table, validation)
            totals.add(tokenized.table, validation, int((tokenized.pieces > 1).sum()))
            done += documents.num_rows
            progress(done)
    return totals.as_stats()


def _batches(records: Iterator[Mapping[str, Any]]) -> Iterator[pa.Table]:
    while (documents := documents_table(islice(records, BATCH_DOCUMENTS))).num_rows:
        yield documents
