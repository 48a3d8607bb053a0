"""Windows of v5 over a small history: what is parsed, and that neither workers nor their deaths change a byte."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from megacpp_assets.compute.executors.dask import DaskPool
from megacpp_assets.compute.executors.executor import BatchExecutor, Outcome
from megacpp_assets.contract import columns as c
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.recipe.history import HistoryRecipe
from megacpp_assets.contract.sources.source_file import OBJECTS
from megacpp_assets.resolved.graph import ResolvedGraph
from megacpp_assets.resolved.opened import Compiler, opened_graph
from megacpp_assets.semantic.parsing.parse import DEFAULT_OPTIONS
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.caching.cache import Cache
from megacpp_assets.storage.git_objects import blob_reader
from megacpp_assets.versions.files import FileVersions
from megacpp_assets.versions.judge import ChangeRules
from megacpp_assets.versions.records import LineOrigin
from megacpp_assets.windows.build import Sets, WindowBuilder
from tests.commits.repository import Files, history_of, listed, make_history
from tests.compute.dask_cluster import cluster
from tests.resolved.following import pool, toolchain
from tests.tokenized.word_encoder import WordEncoder, token_count

LIB_H = b"#pragma once\nstruct Base {\n  virtual int run() { return 0; }\n};\nint scale(int value);\n"
LIB_CC = b'#include "lib.h"\nint scale(int value) {\n  return value * 2;\n}\n'
USE_CC = b'#include "lib.h"\nstruct Job : Base {\n  int run() override { return scale(1); }\n};\n'
FAR_CC = b'#include "lib.h"\nint far(Base& base) { return base.run(); }\n'
ALONE_CC = b"int alone() { return 1; }\n"
COMMITS: list[tuple[str, Files]] = [
    ("Start", {"lib.h": LIB_H, "lib.cc": LIB_CC, "use.cc": USE_CC, "far.cc": FAR_CC, "alone.cc": ALONE_CC}),
    (
        "Scale by three\n\nCo-authored-by: Jane Roe <jane@roe.org>\nReported-by: Ann",
        {"lib.cc": LIB_CC.replace(b"* 2", b"* 3")},
    ),
    ("Only words", {"README.md": b"scale\n"}),
    ("Another result", {"alone.cc": b"int alone() { return 2; }\n"}),
    ("Run twice", {"use.cc": USE_CC.replace(b"scale(1)", b"scale(1) + scale(2)")}),
    ("A header", {"lib.h": LIB_H + b"int later();\n", "alone.cc": b"int alone() { return 3; }\n"}),
]
LIMITS = {"v5_16384": 100, "v5_65536": 65_536}


class Built:
    """Records by set, the builder, and by subject of the commit how many units were parsed for it."""

    def __init__(self, artifact: Artifact, store: Path, executor: BatchExecutor, first: int = 0) -> None:
        self.lines: dict[str, list[bytes]] = defaultdict(list)
        self.parsed: dict[str, int] = {}
        recipe = HistoryRecipe()
        commits = listed(artifact)[::-1][first:]
        self.subjects = {commit.commit: commit.subject for commit in commits}
        origin = LineOrigin(RepoRef("lib", "v1"), lambda names: "MIT", lambda names: False)
        compiler = Compiler(toolchain(), DEFAULT_OPTIONS)
        with blob_reader(artifact) as blobs:
            judge = ChangeRules("lib", recipe, FileVersions(blobs, recipe.file_bytes))
            with opened_graph(judge.files, compiler, executor, Cache(store), recipe.most_parsed) as graph:
                self.graph = graph
                builder = WindowBuilder(artifact.folder(OBJECTS), Sets(LIMITS, WordEncoder()), origin, judge, graph)
                builder.build(commits, lambda name, line: self.lines[name].append(line), self._count(commits, graph))
                self.left_out = builder.left_out

    def _count(self, commits: list[Any], graph: ResolvedGraph) -> Callable[[int], None]:
        def count(done: int) -> None:
            self.parsed[commits[done - 1].subject] = graph.units.parsed - sum(self.parsed.values())

        return count

    def window(self, subject: str, function: str, name: str = "v5_65536") -> dict[str, Any]:
        """The window of a function of a commit."""
        records: list[dict[str, Any]] = [orjson.loads(line) for line in self.lines.get(name, ())]
        return next(
            record for record in records
            if self.subjects[record[c.COMMIT]] == subject and record[c.CHUNK_BOUNDARIES][1]["name"] == function
        )  # fmt: skip


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    directory = tmp_path_factory.mktemp("upstream") / "lib"
    make_history(directory, COMMITS)
    return history_of(directory, tmp_path_factory.mktemp("data"), HistoryRecipe())


@pytest.fixture(scope="module")
def built(history: Artifact, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Built]:
    with pool() as executor:
        yield Built(history, tmp_path_factory.mktemp("cache"), executor)


def test_a_window_has_the_whole_target_then_its_resolved_context(built: Built) -> None:
    text = built.window("Run twice", "Job::run")[c.TEXT]
    assert text == (
        "// File: use.cc\n// Run twice\n// === MODIFIED FUNCTION: Job::run ===\n"
        "// Removed:   int run() override { return scale(1); }\n"
        "  int run() override { return scale(1) + scale(2); }\n"
        "// === CALLED BY: far (far.cc) ===\nint far(Base& base) { return base.run(); }\n"
        "// === CALLS: scale (lib.cc) ===\nint scale(int value) {\n  return value * 3;\n}\n"
        "// === BASE OF ITS CLASS: Base (lib.h) ===\n"
        "struct Base {\n  virtual int run() { return 0; }\n};\n"
    )


def test_no_window_names_the_persons_of_a_message(built: Built) -> None:
    windows = [line for lines in built.lines.values() for line in lines]
    assert any(b"Scale by three" in line for line in windows)
    assert not any(word in line for line in windows for word in (b"Jane", b"roe.org", b"Reported", b"Ann"))


def test_edges_lead_to_the_base_and_between_caller_and_callee(built: Built) -> None:
    record = built.window("Run twice", "Job::run")
    names = [chunk["name"] for chunk in record[c.CHUNK_BOUNDARIES]]
    calls, types = record[c.CALL_EDGES], record[c.TYPE_EDGES]
    assert [(names[edge["caller_idx"]], names[edge["callee_idx"]], edge["confidence"]) for edge in calls] == [
        ("far.cc", "Job::run", "overload"),
        ("Job::run", "lib.cc", "exact"),
    ]
    assert [(names[edge["type_idx"]], names[edge["user_idx"]]) for edge in types] == [("lib.h", "Job::run")]


def test_a_shorter_window_is_a_prefix_that_ends_with_a_chunk(built: Built) -> None:
    short, long = (built.window("Run twice", "Job::run", name) for name in LIMITS)
    assert len(short[c.TEXT]) < len(long[c.TEXT])
    assert long[c.TEXT].startswith(short[c.TEXT])
    assert len(short[c.TEXT]) in {chunk["char_end"] for chunk in long[c.CHUNK_BOUNDARIES]}
    assert token_count(short[c.TEXT]) <= LIMITS["v5_16384"]


def test_only_units_that_a_commit_reaches_are_parsed(built: Built) -> None:
    assert built.parsed == {
        "Start": 5,
        "Scale by three": 1,
        "Another result": 1,
        "Run twice": 1,
        "A header": 2,  # the header and alone.cc: nobody asks for the others
    }


def test_a_second_run_parses_nothing_and_gives_the_same_bytes(history: Artifact, tmp_path: Path) -> None:
    with pool() as executor:
        first, second = (Built(history, tmp_path, executor) for _ in range(2))
    assert (first.lines, second.graph.units.parsed) == (second.lines, 0)
    assert first.graph.units.parsed == 10


def test_windows_of_a_commit_do_not_depend_on_the_commits_that_were_walked_before_it(
    built: Built, history: Artifact, tmp_path: Path
) -> None:
    with pool() as executor:
        late = Built(history, tmp_path, executor, first=3)
    assert {name: lines[-len(late.lines[name]) :] for name, lines in built.lines.items()} == late.lines
    assert late.window("Run twice", "Job::run") == built.window("Run twice", "Job::run")


class _Dying:
    """An executor whose every third batch is lost with its worker."""

    def __init__(self, inner: BatchExecutor) -> None:
        self._inner = inner
        self._count = 0

    def run(self, function: Any, batches: Any, *, timeout_s: float) -> Iterator[Outcome[Any]]:
        for outcome in self._inner.run(function, batches, timeout_s=timeout_s):
            self._count += 1
            lost = self._count % 3 == 0
            yield Outcome(outcome.index, None, "crash: worker ended with exit code -9") if lost else outcome

    def close(self) -> None:
        self._inner.close()


def test_any_number_of_workers_and_dying_ones_give_the_same_bytes(
    built: Built, history: Artifact, tmp_path: Path
) -> None:
    with pool(2) as executor:
        two = Built(history, tmp_path / "two", executor)
        dying = Built(history, tmp_path / "dying", _Dying(executor))
    assert built.lines == two.lines == dying.lines


@pytest.mark.campaign
def test_workers_of_a_dask_cluster_give_the_same_bytes(built: Built, history: Artifact, tmp_path: Path) -> None:
    (tmp_path / "cluster").mkdir()
    with cluster(tmp_path / "cluster", workers=2) as started:
        executor = DaskPool(started.address, patience_s=60.0)
        try:
            found = Built(history, tmp_path / "cache", executor)
        finally:
            executor.close()
    assert found.lines == built.lines


class _Killed(Built):
    """Ends its own process by SIGKILL after the windows of some commits."""

    after = 0

    def _count(self, commits: list[Any], graph: ResolvedGraph) -> Callable[[int], None]:
        def count(done: int) -> None:
            if done == self.after:
                os.kill(os.getpid(), signal.SIGKILL)

        return count


def kill_after(root: str, path: str, store: str, commits: int) -> None:
    """Make windows in this process until it is killed after so many commits."""
    _Killed.after = commits
    with pool() as executor:
        _Killed(open_artifact(Path(root), path), Path(store), executor)


@pytest.mark.parametrize("commits", [pytest.param(1, marks=pytest.mark.campaign), 4])
def test_a_killed_process_leaves_a_cache_that_gives_the_same_bytes(
    built: Built, history: Artifact, tmp_path: Path, commits: int
) -> None:
    arguments = str(history.root), history.path, str(tmp_path), commits
    code = f"from tests.resolved.test_build import kill_after; kill_after(*{arguments!r})"
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=False, timeout=800)
    assert done.returncode == -signal.SIGKILL
    with pool() as executor:
        again = Built(history, tmp_path, executor)
    assert again.lines == built.lines
    assert 0 < again.graph.units.reused and again.graph.units.parsed < built.graph.units.parsed
