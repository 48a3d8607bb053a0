"""Enriched artifacts for tests: seeded documents with chunks and edges, published as `v6_enriched` would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.document_sets import tokens_of
from megacpp_assets.contract.names import DOCUMENT_TOKENS, TRAIN_SPLIT
from megacpp_assets.contract.partition import Mixture, RepoRef
from megacpp_assets.contract.platforms import PLATFORM_IDS
from megacpp_assets.contract.schemas import CHANGE_TYPES, CHAR_TYPES, ENRICHED
from megacpp_assets.contract.tokens.specials import BOS_ID
from megacpp_assets.packed.stage import PackedRowsSpec
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.publish import Publication, Target, publish
from megacpp_assets.storage.root.layout import enriched_path, parquet_path, tokenizer_path
from tests.contract.blank import blank_record

DATASET = "tiny_4k"
MIXTURE = Mixture("small_cpp", "4k")
FMT, ABSEIL = RepoRef("fmt", "11.0.0"), RepoRef("abseil-cpp", "tip-0123456789ab")
VOCABULARY = 9000
_TOP = {"uint8": 200, "uint16": 5000, "uint32": 100_000, "int32": 9}


def document(repo: RepoRef, doc_id: str, *, tokens: int, chunks: int, seed: int, **fields: Any) -> dict[str, Any]:
    """A document of `tokens` tokens (BOS included), with `chunks` chunks one after the other and a few edges."""
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.choice(np.arange(1, tokens + 1), size=chunks + 1, replace=False)) if chunks else np.empty(0, int)
    values = blank_record(ENRICHED)
    values |= {c.DOC_ID: doc_id, c.REPO: repo.name, c.REF: repo.ref, c.BYTE_START: 0, c.BYTE_END: 1}
    platforms = sorted({int(each) for each in rng.integers(1, PLATFORM_IDS, seed % 7)})
    values |= {c.CONSTITUENTS: [], c.SPLIT: TRAIN_SPLIT, c.PLATFORM_IDS: platforms, **fields}
    values[c.TOKEN_IDS_COLUMN] = [BOS_ID, *rng.integers(46, VOCABULARY, tokens - 1).tolist()]
    values[c.ACTUAL_TOKEN_COUNT] = tokens
    token_names = c.TOKEN_OF_CHAR | c.TOKEN_OF_CHANGE
    for name, kind in (CHAR_TYPES | CHANGE_TYPES).items():
        values[token_names[name]] = rng.integers(0, _TOP[str(kind)], tokens).tolist()
    values[c.TOKEN_DEP_LEVELS_COLUMN] = rng.integers(0, 40, tokens).tolist()
    values[c.TOKEN_CHUNK_STARTS_COLUMN] = cuts[:-1].tolist()
    values[c.TOKEN_CHUNK_ENDS_COLUMN] = cuts[1:].tolist()
    values[c.TOKEN_CHUNK_KINDS_COLUMN] = rng.integers(0, 9, chunks).tolist()
    values[c.TOKEN_CHUNK_DEP_LEVELS_COLUMN] = rng.integers(0, 9, chunks).tolist()
    for name in (c.TOKEN_CALL_EDGES_COLUMN, c.TOKEN_TYPE_EDGES_COLUMN):
        pairs = rng.integers(0, chunks, (chunks // 2, 2)).tolist() if chunks else []
        values[name] = [{"from": int(start), "to": int(end)} for start, end in pairs]
    return values


def documents(repo: RepoRef, count: int, *, seed: int, longest: int = 1500) -> list[dict[str, Any]]:
    """`count` documents of mixed length."""
    rng = np.random.default_rng(seed)
    lengths = np.clip(rng.lognormal(5, 1, count).astype(int), 2, longest)
    return [
        document(
            repo, f"{repo.name}-{seed}-{index}", tokens=int(n), chunks=int(min(n - 1, 1 + n // 60)), seed=seed + index
        )
        for index, n in enumerate(lengths)
    ]


def table_of(records: Sequence[dict[str, Any]]) -> pa.Table:
    """Records as an ENRICHED table."""
    return pa.Table.from_pylist(list(records), schema=ENRICHED)


def publish_tokenizer(root: Path, vocabulary_size: int = VOCABULARY) -> Artifact:
    """An artifact with the tokenizer's name and statistics; its bytes are of no interest here."""

    def produce(publication: Publication, inputs: tuple[Artifact, ...]) -> dict[str, Any]:
        publication.write("tokenizer.json", b"{}")
        return {"vocabulary_size": vocabulary_size}

    path = tokenizer_path(DATASET)
    return publish(Target(root, path, "tokenizer", "all", "1", {"vocabulary_size": vocabulary_size}), produce)


def publish_enriched(
    root: Path,
    repo: RepoRef,
    train: Sequence[Sequence[dict[str, Any]]],
    valid: Sequence[dict[str, Any]] = (),
    budget: int = DOCUMENT_TOKENS,
    others: Mapping[int | str, Sequence[dict[str, Any]]] = MappingProxyType({}),
) -> Artifact:
    """Publish `train`, a shard for each list, and `valid`, the validation shard, of `budget`, and the documents of
    `others`, below a token parquet."""

    def tokenized(publication: Publication, inputs: tuple[Artifact, ...]) -> dict[str, Any]:
        publication.write("nothing", b"")
        return {}

    def produce(publication: Publication, inputs: tuple[Artifact, ...]) -> dict[str, Any]:
        own = {c.parquet_shard(index): records for index, records in enumerate(train)} | {c.VAL_SHARD: valid}
        shards = {c.of_budget(budget, name): records for name, records in own.items()}
        shards |= {c.of_budget(other, c.parquet_shard(0)): records for other, records in others.items()}
        for name, records in shards.items():
            with publication.file(name) as pending:
                pq.write_table(table_of(records), pending.path)
                pending.rows = len(records)
        return {"documents": sum(map(len, shards.values()))}

    publish_tokenizer(root)
    below = parquet_path(DATASET, repo)
    config = {"budgets": sorted({budget, *others}, key=lambda made: (tokens_of(made), str(made)))}
    publish(Target(root, below, "tokenized_parquet", repo.key, "1", {}, (tokenizer_path(DATASET),)), tokenized)
    return publish(
        Target(
            root,
            enriched_path(DATASET, repo),
            "v6_enriched",
            repo.key,
            "1",
            config,
            (below,),
        ),
        produce,
    )


@dataclass(frozen=True, slots=True)
class Corpus:
    """Two enriched repositories under `root`, and the records they hold."""

    root: Path
    train: dict[RepoRef, list[dict[str, Any]]]
    valid: dict[RepoRef, list[dict[str, Any]]]

    def spec(self, own_repo: str = "", own_weight: float = 4.0, mixture: Mixture = MIXTURE) -> PackedRowsSpec:
        """A mixture over both repositories."""
        weights = {own_repo: own_weight} if own_repo else {}
        return PackedRowsSpec(
            self.root,
            DATASET,
            mixture,
            tuple(self.train),
            weights,
            row_tokens=4096,
            document_tokens=DOCUMENT_TOKENS,
            seed=7,
        )


def shard(artifact: Artifact, split: str = TRAIN_SPLIT, index: int = 0) -> str:
    """The name of a file of packed rows, which its content decides."""
    return artifact.files(".parquet", f"{split}_{index:05d}_")[0].name


def small_corpus(root: Path, count: int = 60) -> Corpus:
    """A corpus whose first repository has two shards."""
    train = {FMT: documents(FMT, count, seed=1000), ABSEIL: documents(ABSEIL, count // 2, seed=2000)}
    valid = {FMT: documents(FMT, count // 6, seed=3000), ABSEIL: documents(ABSEIL, count // 12, seed=4000)}
    publish_enriched(root, FMT, [train[FMT][: count // 3], train[FMT][count // 3 :]], valid[FMT])
    publish_enriched(root, ABSEIL, [train[ABSEIL]], valid[ABSEIL])
    return Corpus(root, train, valid)
