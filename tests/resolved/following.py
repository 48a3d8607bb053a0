"""A history of commits in a real repository, and the graph of v5 that follows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from megacpp_assets.compute.executors.executor import BatchExecutor
from megacpp_assets.compute.executors.local import LocalPool
from megacpp_assets.contract.recipe.history import HistoryRecipe
from megacpp_assets.contract.sources.source_file import OBJECTS
from megacpp_assets.resolved.graph import ResolvedGraph
from megacpp_assets.resolved.opened import Compiler, opened_graph
from megacpp_assets.semantic.commands.toolchain import find_toolchain
from megacpp_assets.semantic.parsing.parse import DEFAULT_OPTIONS
from megacpp_assets.storage.caching.cache import Cache
from megacpp_assets.storage.git_objects import blob_reader
from megacpp_assets.versions.files import FileVersions
from megacpp_assets.windows.code_graph import DefinitionPlace, Edge, Walk
from tests.commits.repository import Files, history_of, listed, make_history

MOST_BYTES = 1 << 20
toolchain = cache(find_toolchain)


@contextmanager
def pool(workers: int = 1) -> Iterator[LocalPool]:
    """A pool that is closed behind the block."""
    executor = LocalPool(workers)
    try:
        yield executor
    finally:
        executor.close()


@dataclass
class Followed:
    """A graph that stands at the last of the commits it was asked for, and the names of its places."""

    graph: ResolvedGraph

    def named(self, name: str, files: Sequence[str]) -> DefinitionPlace:
        """The function of that qualified name in one of the files."""
        blobs = {path: self.graph.tree.files[path][0] for path in files}
        self.graph.read(blobs)
        return next(
            place
            for path, blob in blobs.items()
            for place, node in self.graph.functions(path, blob) or ()
            if node.name == name
        )

    def around(self, edges: Sequence[Edge]) -> list[tuple[str, str, str]]:
        """(relation, name, confidence) of each edge."""
        return [(edge.relation.heading, self.graph.node(edge.place).name, edge.confidence) for edge in edges]


@contextmanager
def followed(
    commits: Sequence[tuple[str, Files]], root: Path, executor: BatchExecutor, most_files: int = 8
) -> Iterator[Followed]:
    """The graph at the last of `commits`."""
    make_history(root / "lib", commits)
    artifact = history_of(root / "lib", root / "data", HistoryRecipe())
    ids = [commit.commit for commit in listed(artifact)[::-1]]
    with blob_reader(artifact) as blobs:
        files = FileVersions(blobs, MOST_BYTES)
        store, compiler = Cache(root / "cache"), Compiler(toolchain(), DEFAULT_OPTIONS)
        with opened_graph(files, compiler, executor, store, most_files) as graph:
            for _ in graph.follow(Walk(artifact.folder(OBJECTS), ids, MOST_BYTES, Counter())):
                pass
            yield Followed(graph)


def tree(files: Mapping[str, str]) -> list[tuple[str, Files]]:
    """One commit with these files."""
    return [("Start", {path: text.encode() for path, text in files.items()})]
