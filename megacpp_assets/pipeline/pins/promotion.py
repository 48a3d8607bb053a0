"""Promotion: mixtures switch to another reference of a repository that is built and passes all checks.

The history of the lock records who did it, why, and the findings. The earlier lock is kept, so that checkpoints that
were made from it can still be audited.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import CheckFailed, MegacppError
from megacpp_assets.contract.lock.corpus_lock import RepoPin
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.step import CheckResult
from megacpp_assets.pipeline.execute import examine_steps
from megacpp_assets.pipeline.pins.pinning import move_pin
from megacpp_assets.pipeline.stages import REPOSITORY_STAGES
from megacpp_assets.pipeline.steps import RunPlan, planned_steps
from megacpp_assets.quality.shared.release import ReferenceArtifacts, ReleaseComparison, compare
from megacpp_assets.repos.upstream.tags import version_order
from megacpp_assets.storage.artifact import find_artifact
from megacpp_assets.storage.root.layout import enriched_path, jsonl_path

WHEN_CHECKED = "when_checked"
_MADE = "stages_current"


def findings(corpus: Corpus, repo: RepoRef) -> list[CheckResult]:
    """Check `repo` before mixtures read it: it must be known, built and sound. `SpecError` if it is unknown."""
    pin = corpus.pin(repo.key)
    steps = planned_steps(corpus, RunPlan((), REPOSITORY_STAGES[-1], (pin.partition,)))
    stale = [step.name for step, done in examine_steps(steps) if done is None]
    expected = "every stage of it current, its checks passed"
    first = CheckResult(_MADE, not stale, expected, f"to make: {', '.join(stale)}" if stale else "all of them")
    return [first] if stale else [first, *comparison(corpus, repo)]


def comparison(corpus: Corpus, repo: RepoRef) -> list[CheckResult]:
    """Compare what was made of `repo` with what mixtures read of that repository. Empty if a stage of it is missing."""
    read, new = pinned_reference(corpus, repo), _made(corpus, repo)
    earlier = _made(corpus, read) if read else None
    return compare(ReleaseComparison(new, earlier, corpus.recipe.promotion)) if new else []


def pinned_reference(corpus: Corpus, repo: RepoRef) -> RepoRef | None:
    """Return the other reference of the same repository that mixtures read, or None."""
    return next((read for read in corpus.repo_refs if read.name == repo.name and read != repo), None)


def promote(corpus: Corpus, text: str, *, who: str, why: str, unchecked: bool = False) -> Corpus:
    """Promote `text` (`NAME@REF`): mixtures read that reference of its repository from now on, also in
    `corpus.lock`.

    `CheckFailed` with all objections, unless `unchecked`, which is recorded. `SpecError` for a reference that the
    dataset does not know, `SourcePinMismatch` for a tag that moved.
    """
    corpus.lock.pin(text.partition("@")[0])
    results = [] if unchecked else findings(corpus, RepoRef.parse(text))
    if failures := [check for check in results if not check.passed]:
        _refuse(corpus, text, failures)
    return move_pin(corpus, text, note=_note(text, who, why, results))


def promote_by_policy(corpus: Corpus) -> tuple[Corpus, list[str], list[MegacppError]]:
    """Apply the recipe's policy; return the corpus, the promoted keys, and the errors of references that were
    rejected.

    For each repository that is pinned at a tag, the latest release that is built and later than the pin is tried.
    """
    if corpus.recipe.promotion.policy != WHEN_CHECKED:
        return corpus, [], []
    promoted, rejected = list[str](), list[MegacppError]()
    for read in corpus.lock.repos:
        later = [pin for pin in corpus.lock.beside if pin.name == read.name and _is_later(pin, read)]
        if not later:
            continue
        newest = max(later, key=lambda pin: version_order(pin.ref)).partition.key
        try:
            corpus = promote(corpus, newest, who=f"policy {WHEN_CHECKED}", why="the latest release, all checks passed")
            promoted.append(newest)
        except MegacppError as error:
            rejected.append(error)
    return corpus, promoted, rejected


def _is_later(pin: RepoPin, read: RepoPin) -> bool:
    """Only tags have an order."""
    tags = all(each.git_ref.startswith("refs/tags/") for each in (pin, read))
    return tags and version_order(pin.ref) > version_order(read.ref)


def _made(corpus: Corpus, repo: RepoRef) -> ReferenceArtifacts | None:
    semantic = find_artifact(corpus.root, jsonl_path(corpus.dataset, repo))
    enriched = find_artifact(corpus.root, enriched_path(corpus.dataset, repo))
    return ReferenceArtifacts(semantic, enriched) if semantic and enriched else None


def _refuse(corpus: Corpus, text: str, failures: Sequence[CheckResult]) -> None:
    first, *others = failures
    also = f"; also failed: {', '.join(check.name for check in others)}" if others else ""
    do = f"look at {text}, then change [promotion] of the recipe, or promote it with --unchecked and a reason"
    if first.name == _MADE:
        do = f"megacpp run --refs {text} --dataset {corpus.dataset}"
    raise CheckFailed(
        f"promotion of {text}, check {first.name}", expected=first.expected, found=first.found + also, do=do
    )


def _note(text: str, who: str, why: str, results: Sequence[CheckResult]) -> dict[str, object]:
    checks = {check.name: asdict(check) for check in results}
    return {"promoted": text, "who": who, "why": why, "checked": bool(results), "checks": checks}
