"""Stage `commits`: from a pin of `corpus.lock` to the objects of its bounded history and the list of its commits."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from megacpp_assets.commits.fetch import CollectedHistory, HistoryRequest, fetch_history
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.lock.corpus_lock import RepoPin
from megacpp_assets.contract.recipe.documents import SourcesRecipe
from megacpp_assets.contract.recipe.history import HistoryRecipe
from megacpp_assets.contract.recipe.whole import as_config
from megacpp_assets.contract.sources.commit import COMMITS_LIST, commit_lines
from megacpp_assets.contract.sources.source_file import OBJECTS
from megacpp_assets.contract.step import Progress, silent
from megacpp_assets.repos.apart import Job, run_apart
from megacpp_assets.repos.git import require_git
from megacpp_assets.repos.stage import adopt_objects
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.atomic import undone_on_error
from megacpp_assets.storage.jsonl import write_lines
from megacpp_assets.storage.publish import Publication, Target, publish
from megacpp_assets.storage.root.layout import commits_path

VERSION = "5"


@dataclass(frozen=True, slots=True)
class CommitsSpec:
    """One pin of a dataset, the wanted history, and limits, which do not change any byte."""

    root: Path
    dataset: str
    pin: RepoPin
    recipe: HistoryRecipe
    limits: SourcesRecipe = field(default_factory=SourcesRecipe)


def spec(corpus: Corpus, partition: str) -> CommitsSpec:
    """Return what the partition `NAME@REF` of `corpus` is made from."""
    recipe = corpus.recipe
    return CommitsSpec(corpus.root, corpus.dataset, corpus.pin(partition), recipe.history, recipe.sources)


def target(spec: CommitsSpec) -> Target:
    """Return the target of one history. It leaves out the URL, because a mirror gives the same objects."""
    pin = spec.pin
    return Target(
        root=spec.root,
        path=commits_path(spec.dataset, pin.partition),
        stage="commits",
        partition=pin.partition.key,
        version=VERSION,
        config={"name": pin.name, "ref": pin.ref, "commit": pin.commit, "history": _decisive(spec)},
    )


def _decisive(spec: CommitsSpec) -> dict[str, Any]:
    """Return the parts of the recipe that decide the listed commits of this repository."""
    wanted = ("since", "most_commits", "first_parent", "paths", "most_files", "file_bytes")
    config = as_config(spec.recipe)
    denied = [each for each in spec.recipe.denied_commits if each.startswith(f"{spec.pin.name}:")]
    return {**{name: config[name] for name in wanted}, "paths": list(spec.recipe.paths), "denied_commits": denied}


def run(spec: CommitsSpec, progress: Progress = silent) -> Artifact:
    """Fetch and list the history. A current artifact is returned unchanged.

    Raises `SourceUnreachable`, `SourcePinMismatch` (the tag moved), `OverLimit`, `EnvironmentLacks` (git is too old),
    and `SpecError` if the rules leave no change.
    """
    require_git()

    def produce(publication: Publication, _inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
        progress(0, 1)
        git_dir = publication.directory / OBJECTS
        request = HistoryRequest(spec.pin, spec.root, spec.limits, spec.recipe, git_dir)
        with undone_on_error(lambda: shutil.rmtree(git_dir)):
            history: CollectedHistory = run_apart(Job(fetch_history, request, spec.pin.partition.key, spec.limits))
        adopt_objects(publication, git_dir)
        with publication.file(COMMITS_LIST) as pending:
            write_lines(pending.path, commit_lines(history.collected.commits))
            pending.rows = len(history.collected.commits)
        progress(1, 1)
        return _stats(history)

    return publish(target(spec), produce)


def _stats(history: CollectedHistory) -> dict[str, Any]:
    found = history.collected
    return {
        "commits_seen": found.seen,
        "commits": len(found.commits),
        "changes": sum(len(commit.changes) for commit in found.commits),
        **history.facts,
        "commits_left_out": dict(sorted(found.commits_left_out.items())),
        "changes_left_out": dict(sorted(found.changes_left_out.items())),
        "messages_changed": dict(sorted(found.messages_changed.items())),
    }
