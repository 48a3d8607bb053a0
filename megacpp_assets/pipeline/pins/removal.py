"""Removal: a repository, or files of it, leave a dataset for good, and what contained them is made again without
them.

Artifacts of the repository itself and earlier checkpoints stay, so that an audit can say which checkpoints saw it.
"""

from __future__ import annotations

from collections.abc import Sequence

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.lock.removal import Removal, takes
from megacpp_assets.lineage.history import ManifestHistory
from megacpp_assets.lineage.queries import LineageAnswer, that_saw
from megacpp_assets.lineage.whole import artifact_paths
from megacpp_assets.pipeline.pins.pinning import remove_from_lock
from megacpp_assets.pipeline.steps import RunPlan, Step, planned_steps
from megacpp_assets.storage.artifact import Artifact, find_artifact
from megacpp_assets.storage.git_objects import source_files
from megacpp_assets.storage.root.layout import raw_path

_RAW = "pinned_repos"
_SHARED = "cpp_raw"
"""Artifacts in this folder belong to no dataset."""
_SHOWN = 5


def remove(corpus: Corpus, removal: Removal, *, who: str) -> Corpus:
    """Remove it from the corpus and from `corpus.lock`. Nothing is built yet. Earlier removals stay in force.

    `SpecError` for a repository that the dataset lacks, and for a pattern that matches none of its files.
    """
    require_present(corpus, removal)
    return remove_from_lock(corpus, removal, note={"removed": removal.what, "who": who, "why": removal.reason})


def made_steps(corpus: Corpus) -> list[Step]:
    """Return the steps of the corpus whose artifacts exist, current or not, each after the steps that it depends on."""
    if not corpus.repo_refs:
        return []
    made = {f"{artifact.manifest.stage} {artifact.manifest.partition}" for artifact in _artifacts(corpus)}
    phases = [name for name, phase in corpus.recipe.phases.items() if phase.document_tokens in corpus.recipe.budgets]
    mixtures = corpus.mixtures(corpus.specialists, phases)
    every = [*planned_steps(corpus, RunPlan((), refs=corpus.known_refs)), *planned_steps(corpus, RunPlan(mixtures))]
    return list({step.name: step for step in every if step.name in made}.values())


def checkpoints_that_saw(history: ManifestHistory, name: str) -> LineageAnswer:
    """Return every checkpoint whose rows or tokenizer were made from the repository `name`, replaced checkpoints
    included.
    """
    if not _sources(history, name):
        return LineageAnswer(f"repository {name}", [], [])
    return that_saw(history, name)


def left_of(history: ManifestHistory, name: str) -> list[str]:
    """Return the paths of artifacts that hold data of the repository `name` and still exist."""
    made = (history.find(sha256) for sha256 in history.made_from(_sources(history, name), without="tokenizer"))
    return sorted(each.path for each in made if history.is_on_disk(each))


def _sources(history: ManifestHistory, name: str) -> list[str]:
    return [made.sha256 for made in history.of_stage(_RAW) if made.partition.partition("@")[0] == name]


def _artifacts(corpus: Corpus) -> Sequence[Artifact]:
    """Return the artifacts of the dataset, and those that belong to no dataset."""
    paths = [path.split("/") for path in artifact_paths(corpus.root)]
    own = ["/".join(parts) for parts in paths if parts[0] == _SHARED or parts[1] == corpus.dataset]
    return [artifact for path in own if (artifact := find_artifact(corpus.root, path)) is not None]


def require_present(corpus: Corpus, removal: Removal) -> None:
    """Raise `SpecError` unless the dataset has the repository, or had it before its removal."""
    lock, name = corpus.lock, removal.repository
    if (name, removal.path) in {(before.repository, before.path) for before in lock.removed}:
        return
    lock.require_not_removed(name)
    pins = [pin for pin in lock.known if pin.name == name]
    if not pins:
        known = sorted({pin.name for pin in lock.known})
        do = "megacpp lock show lists the repositories of each dataset"
        raise SpecError.unknown(f"removal from {corpus.dataset}: repository", name, known, do)
    if removal.path:
        raws = [raw for pin in pins if (raw := find_artifact(corpus.root, raw_path(pin.partition)))]
        paths = [file.path for raw in raws for file in source_files(raw)]
        if not any(takes([removal.path], path) for path in paths):
            raise SpecError(
                f"removal of {removal.what} from {corpus.dataset}",
                expected=f"a pattern over whole paths that takes one of its {len(paths)} files, such as "
                f"{', '.join(paths[:_SHOWN]) or 'none, as nothing of it was fetched'}",
                found="none of that name",
                do="write it as in a shell, src/detail/*; a '*' takes '/' too",
            )
