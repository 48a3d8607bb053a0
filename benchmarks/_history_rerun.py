"""What a rerun costs when one commit came on top, beside the first run, in CPU seconds.

v5 keeps what it parsed in a cache. v3 and v4 keep nothing between runs and make all documents again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from _harness import Figure, cpu_seconds, report
from _resolved import LIMITS as RESOLVED_LIMITS
from _resolved import OPTIONS
from semantic import InProcess

from megacpp_assets.contract.sources.commit import Commit
from megacpp_assets.contract.tokens.encoding import TextEncoder
from megacpp_assets.resolved.opened import Compiler, opened_graph
from megacpp_assets.semantic.commands.toolchain import find_toolchain
from megacpp_assets.storage.caching.cache import Cache
from megacpp_assets.storage.git_objects import blob_reader_at
from megacpp_assets.versions import build as versions
from megacpp_assets.versions.files import FileVersions
from megacpp_assets.windows import build as windows
from megacpp_assets.windows.code_graph import CodeGraph
from megacpp_assets.windows.functions import ParsedBlobs
from megacpp_assets.windows.graph import TreeGraph

if TYPE_CHECKING:
    from history import History

Lines = list[bytes]
Make = Callable[[Sequence[Commit], Lines], int]
"""Makes the documents of commits; the number of units that were parsed, 0 where nothing is parsed by units."""


def measure_rerun(history: History, encoder: TextEncoder, limits: dict[str, int], resolved: int) -> None:
    """Print the line of v3, v4 and v5; v5 of the last `resolved` commits.

    `SystemExit` if documents of the first run are not those of the second one.
    """
    with tempfile.TemporaryDirectory(prefix="megacpp-bench-") as folder:
        makers: dict[str, tuple[Make, int]] = {
            "v3": (_documents(history), len(history.commits)),
            "v4": (_windows(history, encoder, limits), len(history.commits)),
            "v5": (_resolved(history, encoder, Path(folder)), min(resolved, len(history.commits))),
        }
        for version, (make, count) in makers.items():
            _measure(f"{version} of {history.name}", make, history.commits[-count:])


def _measure(name: str, make: Make, commits: Sequence[Commit]) -> None:
    before: Lines = []
    after: Lines = []
    parsed: list[int] = []
    first = cpu_seconds(lambda: parsed.append(make(commits[:-1], before)))
    again = cpu_seconds(lambda: parsed.append(make(commits, after)))
    if after[: len(before)] != before:
        raise SystemExit(f"{name}: documents of the first run are not those of the run after one more commit")
    units = f", units parsed {parsed[0]} then {parsed[1]}" if parsed[0] else ""
    figure = Figure("history", f"rerun of {name} after one commit on top of {len(commits) - 1}{units}", "CPU-s")
    report(figure, again, first, peer_name="the first run")


@contextmanager
def _fresh(history: History) -> Iterator[History]:
    """The history with its blobs unread, as a new run finds them."""
    with blob_reader_at(history.git_dir, history.name) as blobs:
        yield replace(history, files=FileVersions(blobs, history.judge.recipe.file_bytes))


def _documents(history: History) -> Make:
    def make(commits: Sequence[Commit], lines: Lines) -> int:
        with _fresh(history) as own:
            builder = versions.VersionBuilder(("v3_simple",), own.origin, own.judge)
            builder.build(commits, lambda _, line: lines.append(line), lambda _: None)
        return 0

    return make


def _windows(history: History, encoder: TextEncoder, limits: dict[str, int]) -> Make:
    def make(commits: Sequence[Commit], lines: Lines) -> int:
        with _fresh(history) as own:
            _build(own, windows.Sets(limits, encoder), TreeGraph(ParsedBlobs(own.files)), commits, lines)
        return 0

    return make


def _resolved(history: History, encoder: TextEncoder, store: Path) -> Make:
    compiler = Compiler(find_toolchain(), OPTIONS)

    def make(commits: Sequence[Commit], lines: Lines) -> int:
        with ExitStack() as stack:
            own = stack.enter_context(_fresh(history))
            most = own.judge.recipe.most_parsed
            graph = stack.enter_context(opened_graph(own.files, compiler, InProcess(), Cache(store), most))
            _build(own, windows.Sets(RESOLVED_LIMITS, encoder), graph, commits, lines)
            return graph.units.parsed

    return make


def _build(history: History, sets: windows.Sets, graph: CodeGraph, commits: Sequence[Commit], lines: Lines) -> None:
    builder = windows.WindowBuilder(history.git_dir, sets, history.origin, history.judge, graph)
    builder.build(commits, lambda _, line: lines.append(line), lambda _: None)
