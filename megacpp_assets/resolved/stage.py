"""Stage `resolved_windows`: from listed commits to windows of functions that libclang linked (v5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Final

from megacpp_assets.compute.executors.select import open_local
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.schemas import DOCUMENT_COLUMNS
from megacpp_assets.contract.step import Progress, silent
from megacpp_assets.resolved.opened import Compiler, opened_graph
from megacpp_assets.semantic.commands.toolchain import find_toolchain
from megacpp_assets.semantic.parsing.parse import options_of
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.caching.cache import Cache
from megacpp_assets.storage.publish import Publication, Target, publish
from megacpp_assets.storage.root.layout import resolved_windows_path, semantic_cache_path
from megacpp_assets.storage.work import write_work
from megacpp_assets.versions.source import Opened
from megacpp_assets.windows.code_graph import CodeGraph
from megacpp_assets.windows.making import WindowsSpec, make_windows, windows_spec, windows_target

VERSION: Final = str(14 + DOCUMENT_COLUMNS)
DATASET_VERSION: Final = "v5"
_toolchain = cache(find_toolchain)


@dataclass(frozen=True, slots=True)
class ResolvedWindowsSpec:
    """The requested windows, and the compiler that parses each commit's tree."""

    windows: WindowsSpec
    compiler: Compiler


def spec(corpus: Corpus, partition: str) -> ResolvedWindowsSpec:
    """Return the spec of the partition `NAME@REF` of `corpus`.

    `SpecError` if no phase names v5; `EnvironmentLacks` without a working toolchain.
    """
    compiler = Compiler(_toolchain(), options_of(corpus.recipe.semantic))
    return ResolvedWindowsSpec(windows_spec(corpus, partition, DATASET_VERSION), compiler)


def target(spec: ResolvedWindowsSpec) -> Target:
    """Return the target of the windows of one repository."""
    history = spec.windows.history
    config = {
        **history.config("file_bytes", "most_windows", "most_parsed"),
        "toolchain": dict(spec.compiler.toolchain.identity),
        "standards": asdict(spec.compiler.options.standards),
        "unit_limits": asdict(spec.compiler.options.limits),
    }
    path = resolved_windows_path(history.dataset, history.repo)
    return windows_target(spec.windows, "resolved_windows", path, VERSION, config)


def run(spec: ResolvedWindowsSpec, progress: Progress = silent) -> Artifact:
    """Make the windows of every listed commit. A current artifact is returned unchanged.

    A unit that cannot be parsed has no edges. Raises what `make_windows`, `publish` and the executor raise.
    """

    history = spec.windows.history
    work: dict[str, int | str] = {}

    def produce(publication: Publication, inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
        return make_windows(publication, inputs, spec.windows, progress, graph_of)

    @contextmanager
    def graph_of(source: Opened) -> Iterator[tuple[CodeGraph, Callable[[], Mapping[str, Any]]]]:
        store = Cache(history.root / semantic_cache_path())
        most = history.recipe.most_parsed
        with (
            open_local() as executor,
            opened_graph(source.judge.files, spec.compiler, executor, store, most) as graph,
        ):
            yield (
                graph,
                lambda: {
                    "plans": graph.plans.made,
                    "changed_files_not_parsed": dict(sorted(graph.not_parsed.items())),
                },
            )
            work.update({"units_parsed": graph.units.parsed, "units_reused": graph.units.reused})
        store.trim()

    artifact = publish(target(spec), produce)
    if work:  # counts of cache hits differ between runs, so they are not a part of the artifact
        write_work(artifact, work)
    return artifact
