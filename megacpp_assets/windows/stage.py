"""Stage `commit_windows`: the listed commits of a repository to windows around the functions they modified (v4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.document_sets import tokens_of
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.progress import Progress, silent
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.budgets import BUDGETS, by_budget
from megacpp_assets.storage.layout import commit_windows_path, tokenizer_path
from megacpp_assets.storage.publish import Publication, Target, publish
from megacpp_assets.tokenizer.device import load_encoder
from megacpp_assets.versions.source import HistorySpec, history_spec, opened
from megacpp_assets.versions.spools import spools
from megacpp_assets.windows.build import Builder, Sets
from megacpp_assets.windows.functions import ParsedBlobs
from megacpp_assets.windows.graph import TreeGraph

VERSION: Final = "4"
LIMITS: Final = "limits"
"""Key of the configuration: the most tokens of a window of each set."""


@dataclass(frozen=True, slots=True)
class CommitWindowsSpec:
    """The history of a repository, and the most tokens of a window of each wanted document set."""

    history: HistorySpec
    limits: Mapping[str, int]


def spec(corpus: Corpus, partition: str) -> CommitWindowsSpec:
    """What the partition `NAME@REF` of `corpus` is made from. `SpecError` if no phase names such a version."""
    recipe = corpus.recipe
    limits = {name: recipe.token_limit(tokens_of(name)) for name in recipe.window_sets}
    if not limits:
        do = "name one in the blend of a phase, as in phases.16k.blend = { v4 = 1.0 }"
        raise SpecError(f"recipe {recipe.dataset}", expected="a dataset version of windows", found="none", do=do)
    return CommitWindowsSpec(history_spec(corpus, partition), limits)


def target(spec: CommitWindowsSpec) -> Target:
    """The work of making the windows of one repository; the tokenizer's identity is in the manifest of its artifact."""
    history = spec.history
    return Target(
        root=history.root,
        path=commit_windows_path(history.dataset, history.repo),
        stage="commit_windows",
        partition=history.repo.key,
        version=VERSION,
        config={
            **history.config("file_bytes", "most_windows"),
            BUDGETS: list(spec.limits),
            LIMITS: dict(spec.limits),
        },
        inputs=(*history.inputs, tokenizer_path(history.dataset)),
    )


def run(spec: CommitWindowsSpec, progress: Progress = silent) -> Artifact:
    """Make the windows of every listed commit; a current artifact is returned untouched.

    A function or a file that cannot be used is counted by its rule, never fatal. Raises `SpecError` where a set has no
    window at all, `TokenizerDrift` for a changed tokenizer, and what `publish` raises.
    """

    def produce(publication: Publication, inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
        *history, tokenizer = inputs
        encoder = load_encoder(tokenizer.directory)
        with opened(spec.history, tuple(history)) as source, spools(tuple(spec.limits)) as spooled:
            graph = TreeGraph(ParsedBlobs(source.judge.files))
            builder = Builder(source.git_dir, Sets(spec.limits, encoder), source.origin, source.judge, graph)
            total = len(source.commits)
            builder.build(source.commits, spooled.emit, lambda done: progress(done, total))
            told = spooled.write(publication, spec.history.repo, builder.left_out)
        return {
            "commits": total,
            "blobs_parsed": graph.blobs.parsed,
            "callers_and_callees_left_out": dict(sorted(builder.context_left_out.items())),
            "tree_files_left_out": dict(sorted(builder.tree_left_out.items())),
            **by_budget(told, ("documents",)),
        }

    return publish(target(spec), produce)
