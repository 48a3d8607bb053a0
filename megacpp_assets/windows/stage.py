"""Stage `commit_windows`: from the listed commits of a repository to windows around the modified functions (v4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.schemas import DOCUMENT_COLUMNS
from megacpp_assets.contract.step import Progress, silent
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.publish import Publication, Target, publish
from megacpp_assets.storage.root.layout import commit_windows_path
from megacpp_assets.versions.source import Opened
from megacpp_assets.windows.code_graph import CodeGraph
from megacpp_assets.windows.functions import ParsedBlobs
from megacpp_assets.windows.graph import TreeGraph
from megacpp_assets.windows.making import WindowsSpec, make_windows, windows_spec, windows_target

VERSION: Final = str(14 + DOCUMENT_COLUMNS)
DATASET_VERSION: Final = "v4"


def spec(corpus: Corpus, partition: str) -> WindowsSpec:
    """Return the spec of the partition `NAME@REF` of `corpus`. `SpecError` if no phase names v4."""
    return windows_spec(corpus, partition, DATASET_VERSION)


def target(spec: WindowsSpec) -> Target:
    """Return the target of the windows of one repository."""
    history = spec.history
    path = commit_windows_path(history.dataset, history.repo)
    return windows_target(spec, "commit_windows", path, VERSION, history.config("file_bytes", "most_windows"))


def run(spec: WindowsSpec, progress: Progress = silent) -> Artifact:
    """Make the windows of every listed commit. A current artifact is returned unchanged.

    Raises the errors of `make_windows` and `publish`.
    """

    def produce(publication: Publication, inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
        return make_windows(publication, inputs, spec, progress, _graph)

    return publish(target(spec), produce)


@contextmanager
def _graph(source: Opened) -> Iterator[tuple[CodeGraph, Callable[[], Mapping[str, Any]]]]:
    graph = TreeGraph(ParsedBlobs(source.judge.files))
    yield graph, lambda: {"blobs_parsed": graph.blobs.parsed}
