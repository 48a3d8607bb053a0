"""v5 beside a full parse of each commit, and the call edges of v4 beside those of v5, over the same commits."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from _harness import Meter, cpu_seconds
from semantic import InProcess

from megacpp_assets.contract.sources.commit import Commit
from megacpp_assets.contract.tokens.encoding import TextEncoder
from megacpp_assets.resolved.graph import ResolvedGraph
from megacpp_assets.resolved.opened import Compiler, opened_graph
from megacpp_assets.semantic.commands.toolchain import find_toolchain
from megacpp_assets.semantic.parsing.parse import DEFAULT_OPTIONS, parse_tree
from megacpp_assets.semantic.tree.folder import WORK_FOLDER
from megacpp_assets.storage.caching.cache import Cache
from megacpp_assets.windows import build as windows
from megacpp_assets.windows.code_graph import CodeGraph, DefinitionLines, DefinitionPlace, Edge, Walk
from megacpp_assets.windows.functions import ParsedBlobs
from megacpp_assets.windows.graph import TreeGraph

if TYPE_CHECKING:
    from history import History

LIMITS = {"v5_65536": 65_536}
_HERE = InProcess()
OPTIONS = replace(DEFAULT_OPTIONS, limits=replace(DEFAULT_OPTIONS.limits, applied=False))


@dataclass
class Compared:
    """CPU seconds of both sides over all commits, windows made, and call edges: of v4, of v5, and of both."""

    ours_s: float = 0.0
    peer_s: float = 0.0
    units_parsed: int = 0
    made: Counter[str] = field(default_factory=Counter)

    @property
    def precision(self) -> float:
        """Share of v4's edges that v5 has."""
        return self.made["both"] / max(self.made["v4"], 1)

    @property
    def recall(self) -> float:
        """Share of v5's edges that v4 has."""
        return self.made["both"] / max(self.made["v5"], 1)


def compare_resolved(history: History, encoder: TextEncoder, every: int) -> Compared:
    """Make v5's windows of each commit, and parse the whole tree of every N-th one; that time is extrapolated."""
    found, peer, aside = Compared(), Meter(), Meter()
    together = cpu_seconds(lambda: _in_turn(history, encoder, every, (found, peer, aside)))
    found.ours_s = together - peer.peer_s - aside.peer_s
    found.peer_s = peer.peer_s * len(history.commits) / max(found.made["commits of the peer"], 1)
    return found


def _in_turn(history: History, encoder: TextEncoder, every: int, sides: tuple[Compared, Meter, Meter]) -> None:
    found, peer, aside = sides
    compiler, commits = Compiler(find_toolchain(), OPTIONS), history.commits
    with ExitStack() as stack:
        store = Cache(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="megacpp-bench-"))))
        most = history.judge.recipe.most_parsed
        graph = stack.enter_context(opened_graph(history.files, compiler, _HERE, store, most))
        builder = windows.WindowBuilder(
            history.git_dir, windows.Sets(LIMITS, encoder), history.origin, history.judge, graph
        )
        builder.left_out = {name: Counter() for name in LIMITS}
        names = TreeGraph(ParsedBlobs(history.files))
        walk = Walk(history.git_dir, [each.commit for each in commits], history.judge.recipe.file_bytes, Counter())
        other = names.follow(walk)
        for number, (commit, _) in enumerate(zip(commits, graph.follow(walk), strict=True), start=1):
            targets = _targets(builder, commit, found)
            with aside.peer():
                next(other)
                _compare_edges(graph, names, targets, found.made)
            if number % every == 0:
                found.made["commits of the peer"] += 1
                _parse_whole(graph, compiler, peer, aside)
        found.units_parsed = graph.units.parsed


def _targets(builder: windows.WindowBuilder, commit: Commit, found: Compared) -> list[DefinitionPlace]:
    """Make the windows of one commit; the targets whose neighbours the graph was asked for."""
    asked: list[DefinitionPlace] = []
    inner = builder.graph

    class Listening:
        """The graph, whose questions are noted."""

        def __getattr__(self, name: str) -> object:
            return getattr(inner, name)

        def callers(self, place: DefinitionPlace) -> object:
            asked.append(place)
            return inner.callers(place)

    builder.graph = Listening()  # type: ignore[assignment]
    builder.commit(commit, lambda _name, _line: found.made.update(["windows"]))
    builder.graph = inner
    return list(dict.fromkeys(asked))


def _compare_edges(graph: ResolvedGraph, names: TreeGraph, targets: list[DefinitionPlace], made: Counter[str]) -> None:
    """Count the call edges around `targets` that each graph has; callers only in files that v5 parsed."""
    for target in targets:
        other = _same(names, target.path, graph.node(target))
        if other is None:
            continue
        made["targets"] += 1
        known = graph.parsed_files
        ours = {("calls", *_key(graph, edge)) for edge in graph.callees(target)}
        ours |= {("called", *_key(graph, edge)) for edge in graph.callers(target)}
        theirs = {("calls", *_key(names, edge)) for edge in names.callees(other)}
        theirs |= {("called", *_key(names, edge)) for edge in names.callers(other) if edge.place.path in known}
        made.update({"v4": len(theirs), "v5": len(ours), "both": len(ours & theirs)})


def _same(names: TreeGraph, path: str, node: DefinitionLines) -> DefinitionPlace | None:
    """The function of the other graph that ends where this one ends."""
    functions = names.functions(path, node.blob) or ()
    return next((place for place, other in functions if other.end == node.end), None)


def _key(graph: CodeGraph, edge: Edge) -> tuple[str, int]:
    """Path and last line of a function. Its first line differs: one of the graphs counts the template line."""
    return edge.place.path, graph.node(edge.place).end


def _parse_whole(graph: ResolvedGraph, compiler: Compiler, peer: Meter, aside: Meter) -> None:
    with tempfile.TemporaryDirectory(prefix="megacpp-bench-") as folder:
        with aside.peer():
            tree = Path(folder, "tree")
            shutil.copytree(graph.tree.folder, tree, ignore=shutil.ignore_patterns(WORK_FOLDER))
        with peer.peer():
            parse_tree(tree, graph.tree.sources(), compiler.toolchain, _HERE, options=OPTIONS)
