"""Stage `tokenized_parquet`: JSONL documents and the tokenizer to token parquet of one repository.

For each document set training shards of 50,000 documents and a validation shard; every document has at most the
tokens of its budget, BOS included.
Records stream through in batches, so memory does not grow with the repository.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.document_sets import DocumentSet, source_set, stage_of, tokens_of
from megacpp_assets.contract.names import VALID_SPLIT, documents_at_once, fixed_max_chunks
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.schemas import DOCUMENT_COLUMNS, SHARD_DOCUMENTS
from megacpp_assets.contract.step import Progress, silent
from megacpp_assets.contract.tokens.encoding import TextEncoder
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.budgets import BUDGETS, by_budget
from megacpp_assets.storage.jsonl import SHARD_SUFFIX, read_records
from megacpp_assets.storage.publish import Publication, Target, publish
from megacpp_assets.storage.root.layout import (
    commit_documents_path,
    commit_windows_path,
    jsonl_path,
    parquet_path,
    resolved_windows_path,
    tokenizer_path,
)
from megacpp_assets.tokenized.encode import tokenize
from megacpp_assets.tokenized.records import documents_table
from megacpp_assets.tokenized.shards import ShardWriter
from megacpp_assets.tokenized.split import DocumentLimits
from megacpp_assets.tokenized.stats import SUMS, TokenizedTotals
from megacpp_assets.tokenizer.device import load_encoder

VERSION: Final = str(11 + DOCUMENT_COLUMNS)
_SOURCES: Final = {
    "commit_documents": commit_documents_path,
    "commit_windows": commit_windows_path,
    "resolved_windows": resolved_windows_path,
}
"""Stage that makes documents of commits -> the path of its artifact."""
BATCH_DOCUMENTS: Final = 256
"""The number of documents of the smallest budget in memory at a time; fewer of a larger budget."""


@dataclass(frozen=True, slots=True)
class TokenizedParquetSpec:
    """One repository of one dataset, with documents of each of the sets `budgets`.

    `limits` are the most tokens of a document of each budget that is not the limit itself.
    """

    root: Path
    dataset: str
    repo: RepoRef
    budgets: tuple[DocumentSet, ...]
    limits: Mapping[int, int] = field(default_factory=dict)


def spec(corpus: Corpus, partition: str) -> TokenizedParquetSpec:
    """Return the spec of the partition `NAME@REF` of `corpus`."""
    recipe = corpus.recipe
    limits = {budget: limit for budget in recipe.budgets if (limit := recipe.token_limit(budget)) < budget}
    repo = RepoRef.parse(partition)
    return TokenizedParquetSpec(corpus.root, corpus.dataset, repo, recipe.document_sets, limits)


def target(spec: TokenizedParquetSpec) -> Target:
    """Return the target for one repository. The tokenizer's identity is in the manifest of the second input."""
    limits = {"limits": {str(budget): limit for budget, limit in spec.limits.items()}} if spec.limits else {}
    return Target(
        root=spec.root,
        path=parquet_path(spec.dataset, spec.repo),
        stage="tokenized_parquet",
        partition=spec.repo.key,
        version=VERSION,
        config={"dataset": spec.dataset, BUDGETS: list(spec.budgets), "shard_documents": SHARD_DOCUMENTS, **limits},
        inputs=(
            jsonl_path(spec.dataset, spec.repo),
            tokenizer_path(spec.dataset),
            *(_SOURCES[stage](spec.dataset, spec.repo) for stage in _stages(spec.budgets)),
        ),
    )


def run(spec: TokenizedParquetSpec, progress: Progress = silent) -> Artifact:
    """Tokenize the repository's documents. A current artifact is returned unchanged.

    Raises `LineageGap` for a missing or changed input and `SchemaViolation` for a record or an encoder that breaks its
    contract.
    """

    def produce(publication: Publication, inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
        jsonl, tokenizer, *_ = inputs
        total = sum(map(_records, (jsonl, *inputs[2:])))
        sources = dict(zip(_stages(spec.budgets), inputs[2:], strict=True))
        encoder = _encoder(tokenizer.directory, tokenizer.manifest.sha256)
        done = 0

        def report(documents: int) -> None:
            nonlocal done
            done += documents
            progress(done, max(done, total))

        by_set = {
            budget: write_shards(
                publication,
                read_records(sources.get(stage_of(budget), jsonl), source_set(budget)),
                encoder,
                budget,
                limit=spec.limits.get(tokens_of(budget), tokens_of(budget)),
                report=report,
            )
            for budget in spec.budgets
        }
        return by_budget(by_set, SUMS)

    return publish(target(spec), produce)


def _stages(budgets: Sequence[DocumentSet]) -> tuple[str, ...]:
    """Return the stages other than `semantic_jsonl` that made documents of the sets `budgets`."""
    return tuple(stage for stage in _SOURCES if stage in set(map(stage_of, budgets)))


def _records(documents: Artifact) -> int:
    return sum(entry.rows or 0 for entry in documents.manifest.files if entry.name.endswith(SHARD_SUFFIX))


@functools.lru_cache(maxsize=1)
def _encoder(directory: Path, manifest_sha256: str) -> TextEncoder:
    """Load an encoder and cache it: repositories share a tokenizer, and loading a full vocabulary takes seconds."""
    return load_encoder(directory)


def write_shards(
    publication: Publication,
    records: Iterable[Mapping[str, Any]],
    encoder: TextEncoder,
    budget: DocumentSet,
    *,
    limit: int,
    report: Callable[[int], None],
) -> dict[str, Any]:
    """Write every record as token parquet of the set `budget`, with at most `limit` tokens per document.

    Return the statistics. `report` receives the number of records of each batch.
    """
    totals = TokenizedTotals(tokens_of(budget))
    limits = DocumentLimits(limit, fixed_max_chunks(limit))
    with ShardWriter(publication, budget) as shards:
        for documents in _batches(iter(records), documents_at_once(BATCH_DOCUMENTS, tokens_of(budget))):
            tokenized = tokenize(documents, encoder, limits)
            validation = np.repeat(
                np.array([side == VALID_SPLIT for side in documents[c.SPLIT].to_pylist()]), tokenized.pieces
            )
            shards.write(tokenized.table, validation)
            totals.add(tokenized.table, validation, int((tokenized.pieces > 1).sum()))
            report(documents.num_rows)
    return totals.as_stats()


def _batches(records: Iterator[Mapping[str, Any]], most: int) -> Iterator[pa.Table]:
    while (documents := documents_table(islice(records, most))).num_rows:
        yield documents
