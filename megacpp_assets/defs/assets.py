"""The eight assets. A body opens the corpus, executes one step and returns its metadata and checks."""

# No `from __future__ import annotations` here: Dagster reads the annotations of asset bodies as values.
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import dagster as dg

from megacpp_assets.contract.names import REPO_STAGES
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.defs.launch import pipes_launch
from megacpp_assets.defs.metadata import describe
from megacpp_assets.defs.partitions import MIXTURES, REPO_REFS, mixture_of
from megacpp_assets.defs.resources import CorpusResource
from megacpp_assets.pipeline.checks import CHECKS_OF_STAGE, WARNING_CHECKS
from megacpp_assets.pipeline.corpus import Corpus
from megacpp_assets.pipeline.execute import Done, execute
from megacpp_assets.pipeline.listener import current_listener
from megacpp_assets.pipeline.steps import Step, mixture_step, repo_step, tokenizer_step

OWNERS = ["team:ml-data"]


@dataclass(frozen=True, slots=True)
class StageAsset:
    """What the UI shows of a stage. `description` says what one partition holds."""

    stage: str
    group: str
    kinds: set[str]
    description: str
    deps: Sequence[str] = field(default_factory=tuple)


STAGE_ASSETS = (
    StageAsset(
        "pinned_repos", "sources", {"git"},
        "Bare git objects of one pinned commit and the list of its files, with licences.",
    ),
    StageAsset(
        "semantic_jsonl", "sources", {"cplusplus", "json"},
        "One document per semantic chunk: text, structure, call and type edges, provenance (libclang).",
        ("pinned_repos",),
    ),
    StageAsset(
        "tokenizer", "tokenizer", {"huggingface"},
        "The one tokenizer of the corpus: fixed C++ vocabulary and learned merges, identified by a commit.",
        ("pinned_repos",),
    ),
    StageAsset(
        "tokenized_parquet", "tokens", {"parquet"},
        "Documents of at most 4096 tokens, BOS included, with character spans.",
        ("semantic_jsonl", "tokenizer"),
    ),
    StageAsset(
        "v6_enriched", "tokens", {"parquet"},
        "Token-level structure columns by the first-character rule; chunks and edges in token offsets.",
        ("tokenized_parquet",),
    ),
    StageAsset(
        "packed_rows", "mixtures", {"parquet"},
        "Whole documents of the locked repositories, best-fit packed into rows of T tokens.",
        ("v6_enriched",),
    ),
    StageAsset(
        "megatron_bin_idx", "mixtures", {"megatron"},
        "Megatron .bin/.idx pairs, one sequence per document, and token-aligned structure sidecars.",
        ("packed_rows",),
    ),
    StageAsset(
        "trained_checkpoint", "mixtures", {"pytorch"},
        "A GPT trained on those rows; the checkpoint carries tokenizer commit, .bin sha256 and data manifest.",
        ("megatron_bin_idx", "tokenizer"),
    ),
)  # fmt: skip


def build_assets(locked: Sequence[RepoRef]) -> list[dg.AssetsDefinition]:
    """The assets; mixtures and the tokenizer depend on the `locked` repositories and on no other tag of them."""
    return [_asset(stage, locked) for stage in STAGE_ASSETS]


def _asset(spec: StageAsset, locked: Sequence[RepoRef]) -> dg.AssetsDefinition:
    @dg.multi_asset(
        name=spec.stage,
        specs=[
            dg.AssetSpec(
                spec.stage,
                deps=[_dependency(spec.stage, upstream, locked) for upstream in spec.deps],
                group_name=spec.group,
                kinds=spec.kinds,
                owners=OWNERS,
                description=spec.description,
            )
        ],
        check_specs=[
            dg.AssetCheckSpec(name, asset=spec.stage, blocking=(spec.stage, name) not in WARNING_CHECKS)
            for name in CHECKS_OF_STAGE[spec.stage]
        ],
        partitions_def=_partitions(spec.stage),
    )
    def body(
        context: dg.AssetExecutionContext, corpus: CorpusResource
    ) -> Iterator[dg.AssetCheckResult | dg.MaterializeResult]:  # type: ignore[type-arg]
        opened = corpus.open()
        step = _step(opened, spec.stage, context)
        done = execute(step, current_listener()(step.stage, step.partition))
        yield dg.MaterializeResult(spec.stage, metadata=describe(opened, done), data_version=_version(done))
        for check in done.receipt.checks:
            metadata = {"expected": check.expected, "found": check.found}
            yield dg.AssetCheckResult(
                passed=check.passed,
                asset_key=spec.stage,
                check_name=check.name,
                metadata=metadata,
                severity=dg.AssetCheckSeverity.ERROR if check.blocking else dg.AssetCheckSeverity.WARN,
            )

    return body


def _partitions(stage: str) -> dg.PartitionsDefinition | None:  # type: ignore[type-arg]
    if stage == "tokenizer":
        return None
    return REPO_REFS if stage in REPO_STAGES else MIXTURES


def _dependency(stage: str, upstream: str, locked: Sequence[RepoRef]) -> dg.AssetDep:
    """Fan-in reads exactly the locked partitions: an old tag never leaks into a new mixture."""
    fans_in = upstream in REPO_STAGES and stage not in REPO_STAGES
    if not fans_in or not locked:
        return dg.AssetDep(upstream)
    return dg.AssetDep(upstream, partition_mapping=dg.SpecificPartitionsPartitionMapping([r.key for r in locked]))


def _step(corpus: Corpus, stage: str, context: dg.AssetExecutionContext) -> Step:
    if stage == "tokenizer":
        return tokenizer_step(corpus)
    if stage in REPO_STAGES:
        return repo_step(corpus, stage, RepoRef.parse(context.partition_key))
    return mixture_step(corpus, stage, mixture_of(context.partition_key), pipes_launch(context))


def _version(done: Done) -> dg.DataVersion:
    return dg.DataVersion(done.artifact.manifest.sha256)
