"""The common part of the stages of windows: their spec, their target, and the making of windows with either graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.document_sets import tokens_of, version_of
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.step import Progress
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.budgets import BUDGETS, by_budget
from megacpp_assets.storage.publish import Publication, Target
from megacpp_assets.storage.root.layout import tokenizer_path
from megacpp_assets.tokenizer.device import load_encoder
from megacpp_assets.versions.source import HistorySpec, Opened, history_spec, opened
from megacpp_assets.versions.spools import spools
from megacpp_assets.windows.build import Sets, WindowBuilder
from megacpp_assets.windows.code_graph import CodeGraph

LIMITS: Final = "limits"
"""The key of the configuration for the maximum tokens of a window of each set."""


@dataclass(frozen=True, slots=True)
class WindowsSpec:
    """The history of a repository, and the maximum tokens of a window of each requested document set."""

    history: HistorySpec
    limits: Mapping[str, int]


def windows_spec(corpus: Corpus, partition: str, version: str) -> WindowsSpec:
    """Return the spec of `version` for the partition `NAME@REF` of `corpus`. `SpecError` if no phase names it."""
    recipe = corpus.recipe
    limits = {
        name: recipe.token_limit(tokens_of(name)) for name in recipe.window_sets if version_of(name) == version
    }  # fmt: skip
    if not limits:
        do = f"name it in the blend of a phase, as in phases.16k.blend = {{ {version} = 1.0 }}"
        raise SpecError(f"recipe {recipe.dataset}", expected=f"dataset version {version}", found="none", do=do)
    return WindowsSpec(history_spec(corpus, partition), limits)


def windows_target(spec: WindowsSpec, stage: str, path: str, version: str, config: Mapping[str, Any]) -> Target:
    """Return the target of a stage of windows. The tokenizer's identity is in the manifest of its artifact."""
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
    """Make and write the windows of every listed commit; return the statistics, with those of the graph.

    A function or file that cannot be used is counted by its rule. Raises `TokenizerDrift` for a changed tokenizer.
    """
    *history, tokenizer = inputs
    encoder = load_encoder(tokenizer.directory)
    with (
        opened(spec.history, tuple(history)) as source,
        spools(tuple(spec.limits)) as spooled,
        graph_of(source) as (graph, figures),
    ):
        builder = WindowBuilder(source.git_dir, Sets(spec.limits, encoder), source.origin, source.judge, graph)
        total = len(source.commits)
        builder.build(source.commits, spooled.emit, lambda done: progress(done, total))
        stats = spooled.write(publication, builder.left_out)
        return {
            "commits": total,
            **figures(),
            "callers_and_callees_left_out": dict(sorted(builder.context_left_out.items())),
            "tree_files_left_out": dict(sorted(builder.tree_left_out.items())),
            **by_budget(stats, ("documents",)),
        }
