"""What the stages of windows share, whichever graph they ask: their spec, their target, and the work itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.document_sets import tokens_of, version_of
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.progress import Progress
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.budgets import BUDGETS, by_budget
from megacpp_assets.storage.layout import tokenizer_path
from megacpp_assets.storage.publish import Publication, Target
from megacpp_assets.tokenizer.device import load_encoder
from megacpp_assets.versions.source import HistorySpec, Opened, history_spec, opened
from megacpp_assets.versions.spools import spools
from megacpp_assets.windows.build import Builder, Sets
from megacpp_assets.windows.code_graph import CodeGraph

LIMITS: Final = "limits"
"""Key of the configuration: the most tokens of a window of each set."""


@dataclass(frozen=True, slots=True)
class WindowsSpec:
    """The history of a repository, and the most tokens of a window of each wanted document set."""

    history: HistorySpec
    limits: Mapping[str, int]


def windows_spec(corpus: Corpus, partition: str, version: str) -> WindowsSpec:
    """What the partition `NAME@REF` of `corpus` says of `version`. `SpecError` if no phase names it."""
    recipe = corpus.recipe
    limits = {
        name: recipe.token_limit(tokens_of(name)) for name in recipe.window_sets if version_of(name) == version
    }  # fmt: skip
    if not limits:
        do = f"name it in the blend of a phase, as in phases.16k.blend = {{ {version} = 1.0 }}"
        raise SpecError(f"recipe {recipe.dataset}", expected=f"dataset version {version}", found="none", do=do)
    return WindowsSpec(history_spec(corpus, partition), limits)


def windows_target(spec: WindowsSpec, stage: str, path: str, version: str, config: Mapping[str, Any]) -> Target:
    """The work of a stage of windows; the tokenizer's identity is in the manifest of its artifact."""
    history = spec.history
    return Target(
        root=history.root,
        path=path,
        stage=stage,
        partition=history.repo.key,
        version=version,
        config={**config, BUDGETS: list(spec.limits), LIMITS: dict(spec.limits)},
        inputs=(*history.inputs, tokenizer_path(history.dataset)),
    )


def make_windows(
    publication: Publication,
    inputs: tuple[Artifact, ...],
    spec: WindowsSpec,
    progress: Progress,
    graph_of: Callable[[Opened], AbstractContextManager[tuple[CodeGraph, Callable[[], Mapping[str, Any]]]]],
) -> Mapping[str, Any]:
    """Make and write the windows of every listed commit; the statistics, with those that the graph tells at the end.

    A function or a file that cannot be used is counted by its rule, never fatal. Raises `SpecError` where a set has no
    window at all, and `TokenizerDrift` for a changed tokenizer.
    """
    *history, tokenizer = inputs
    encoder = load_encoder(tokenizer.directory)
    with (
        opened(spec.history, tuple(history)) as source,
        spools(tuple(spec.limits)) as spooled,
        graph_of(source) as (graph, figures),
    ):
        builder = Builder(source.git_dir, Sets(spec.limits, encoder), source.origin, source.judge, graph)
        total = len(source.commits)
        builder.build(source.commits, spooled.emit, lambda done: progress(done, total))
        told = spooled.write(publication, spec.history.repo, builder.left_out)
        return {
            "commits": total,
            **figures(),
            "callers_and_callees_left_out": dict(sorted(builder.context_left_out.items())),
            "tree_files_left_out": dict(sorted(builder.tree_left_out.items())),
            **by_budget(told, ("documents",)),
        }
