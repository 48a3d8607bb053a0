"""One step of the line: a stage and a partition, with what makes it, what it would make, and what must hold of it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from megacpp_assets.contract.check import CheckResult
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.names import MIXTURE_STAGES
from megacpp_assets.contract.partition import Mixture, RepoRef
from megacpp_assets.contract.progress import Progress
from megacpp_assets.enriched import stage as enriched
from megacpp_assets.megatron import stage as megatron
from megacpp_assets.packed import stage as packed
from megacpp_assets.pipeline.corpus import Corpus
from megacpp_assets.quality import enriched as enriched_quality
from megacpp_assets.quality import megatron as megatron_quality
from megacpp_assets.quality import packed as packed_quality
from megacpp_assets.quality import repos as repos_quality
from megacpp_assets.quality import semantic as semantic_quality
from megacpp_assets.quality import tokenized as tokenized_quality
from megacpp_assets.quality import tokenizer as tokenizer_quality
from megacpp_assets.quality import training as training_quality
from megacpp_assets.repos import stage as repos
from megacpp_assets.semantic import stage as semantic
from megacpp_assets.semantic.toolchain import Toolchain, find_toolchain
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.publish import Target
from megacpp_assets.tokenized import stage as tokenized
from megacpp_assets.tokenizer import stage as tokenizer
from megacpp_assets.training import stage as training
from megacpp_assets.training.launch import Launch, launch_local


@dataclass(frozen=True, slots=True)
class Step:
    """A stage over one partition of one corpus. `target` is lazy: it may need upstream manifests."""

    stage: str
    partition: str
    target: Callable[[], Target]
    run: Callable[[Progress], Artifact]
    check: Callable[[Artifact], Sequence[CheckResult]]


@functools.lru_cache(maxsize=1)
def _toolchain() -> Toolchain:
    return find_toolchain()


def repo_step(corpus: Corpus, stage: str, repo: RepoRef) -> Step:
    """A step of a repository stage. `SpecError` if the lock does not pin `repo`."""
    dataset, root = corpus.dataset, corpus.root
    pin = corpus.lock.pin(repo.name)
    if pin.partition != repo:
        raise SpecError(f"partition {repo.key}", expected=f"the pinned {pin.partition.key}", found=repo.key)
    if stage == "pinned_repos":
        spec1 = repos.PinnedReposSpec(root, pin, corpus.recipe.sources)
        return _step(stage, repo.key, lambda: repos.target(spec1), lambda p: repos.run(spec1, p), repos_quality.check)
    if stage == "semantic_jsonl":

        def spec2() -> semantic.SemanticJsonlSpec:
            return semantic.SemanticJsonlSpec(
                root, dataset, repo, pin.commit, pin.license, corpus.recipe.semantic, _toolchain()
            )

        return _step(
            stage,
            repo.key,
            lambda: semantic.target(spec2()),
            lambda p: semantic.run(spec2(), p),
            semantic_quality.check,
        )
    if stage == "tokenized_parquet":
        spec3 = tokenized.TokenizedParquetSpec(root, dataset, repo)
        return _step(
            stage, repo.key, lambda: tokenized.target(spec3), lambda p: tokenized.run(spec3, p), tokenized_quality.check
        )
    spec4 = enriched.V6EnrichedSpec(root, dataset, repo)
    return _step(
        stage, repo.key, lambda: enriched.target(spec4), lambda p: enriched.run(spec4, p), enriched_quality.check
    )


def tokenizer_step(corpus: Corpus) -> Step:
    """The one tokenizer of the corpus. Once pinned it comes from its registry: no tag or recipe retrains it."""
    pinned = corpus.lock.tokenizer
    repos_seen = tuple(RepoRef.parse(key) for key in pinned.repos) if pinned else corpus.repo_refs
    spec = tokenizer.TokenizerSpec(corpus.root, corpus.dataset, repos_seen, corpus.recipe.tokenizer, pinned)
    return _step(
        "tokenizer",
        corpus.dataset,
        lambda: tokenizer.target(spec),
        lambda p: tokenizer.run(spec, p),
        tokenizer_quality.check,
    )


def mixture_step(corpus: Corpus, stage: str, mixture: Mixture, launch: Launch = launch_local) -> Step:
    """A step of a mixture stage."""
    dataset, root = corpus.dataset, corpus.root
    if stage == "packed_rows":
        spec5 = packed.PackedRowsSpec(
            root, dataset, mixture, corpus.repo_refs, corpus.own_repo(mixture.specialist), corpus.recipe.mixture
        )
        return _step(
            stage, mixture.key, lambda: packed.target(spec5), lambda p: packed.run(spec5, p), packed_quality.check
        )
    if stage == "megatron_bin_idx":
        spec6 = megatron.MegatronBinIdxSpec(root, dataset, mixture)
        return _step(
            stage, mixture.key, lambda: megatron.target(spec6), lambda p: megatron.run(spec6, p), megatron_quality.check
        )
    spec7 = training.TrainedCheckpointSpec(root, dataset, mixture, corpus.recipe.training)
    return _step(
        stage,
        mixture.key,
        lambda: training.target(spec7),
        lambda p: training.run(spec7, launch, p),
        training_quality.check,
    )


def line_steps(corpus: Corpus, mixtures: Sequence[Mixture]) -> Iterator[Step]:
    """All steps of the line, in an order in which each comes after its inputs."""
    for stage in ("pinned_repos", "semantic_jsonl"):
        yield from (repo_step(corpus, stage, repo) for repo in corpus.repo_refs)
    yield tokenizer_step(corpus)
    for stage in ("tokenized_parquet", "v6_enriched"):
        yield from (repo_step(corpus, stage, repo) for repo in corpus.repo_refs)
    for stage in MIXTURE_STAGES:
        yield from (mixture_step(corpus, stage, mixture) for mixture in mixtures)


def _step(
    stage: str,
    partition: str,
    target: Callable[[], Target],
    run: Callable[[Progress], Artifact],
    check: Callable[[Artifact], Sequence[CheckResult]],
) -> Step:
    return Step(stage, partition, target, run, check)
