"""The headers of the toolchain that units share: compiled once over commits, and never with a file of the tree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from megacpp_assets.compute.executors.executor import BatchExecutor
from megacpp_assets.contract.recipe.history import HistoryRecipe
from megacpp_assets.resolved.headers import ToolchainHeaders
from megacpp_assets.resolved.parse import Unlimited
from megacpp_assets.semantic.commands.compiler_view import write_view
from megacpp_assets.semantic.commands.plan import Unit
from megacpp_assets.semantic.parsing.lots import Crew
from megacpp_assets.semantic.parsing.parse import DEFAULT_OPTIONS
from megacpp_assets.semantic.parsing.precompiled import SharedHeader
from megacpp_assets.semantic.parsing.worker import Batch
from megacpp_assets.semantic.tree.tree_contents import TreeContents
from megacpp_assets.storage.artifact import Artifact
from tests.commits.repository import Files, history_of, make_history
from tests.resolved.following import pool, toolchain
from tests.resolved.test_build import Built

NAMES = ("a", "b", "c", "d", "e")
LIB = b"#pragma once\n#include <vector>\nint total(const std::vector<int>& values);\n"

TOTAL = b'#include "lib.h"\nint total(const std::vector<int>& values) { return values.empty() ? 0 : values[0]; }\n'


def _source(name: str, more: str = "") -> bytes:
    body = f"int {name}(const std::vector<int>& values) {{ return total(values){more}; }}\n"
    return b'#include <string>\n#include "lib.h"\n' + body.encode()


COMMITS: list[tuple[str, Files]] = [
    ("Start", {"lib.h": LIB, "total.cc": TOTAL, **{f"{name}.cc": _source(name) for name in NAMES}}),
    ("Add one", {"a.cc": _source("a", " + 1")}),
    ("Count", {"lib.h": LIB + b"inline int count() { return total({}); }\n", "b.cc": _source("b", " + count()")}),
    ("A vector of its own", {"vector": b"namespace std { template <class T> struct vector {}; }\n"}),
    ("Add two", {"a.cc": _source("a", " + 2")}),
    ("An error", {"c.cc": _source("c", " + missing()")}),
]


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    directory = tmp_path_factory.mktemp("upstream") / "lib"
    make_history(directory, COMMITS)
    return history_of(directory, tmp_path_factory.mktemp("data"), HistoryRecipe())


@pytest.fixture(scope="module")
def built(history: Artifact, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Built]:
    with pool() as executor:
        yield Built(history, tmp_path_factory.mktemp("cache"), executor)


def test_commits_share_a_header_until_a_file_of_the_tree_could_be_in_it(built: Built) -> None:
    assert built.graph.units.headers_built == 2


def test_windows_are_those_of_parses_without_a_header(
    built: Built, history: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ToolchainHeaders, "text", lambda self, unit: "")
    with pool() as executor:
        plain = Built(history, tmp_path, executor)
    assert plain.graph.units.headers_built == 0
    assert plain.lines == built.lines and sum(map(len, built.lines.values())) > 4


def _headers(tree: Path, text: str, executor: BatchExecutor) -> tuple[ToolchainHeaders, Unit]:
    unit = Unit("a.cc", ("-x", "c++", "-std=c++17", "-I."), "inferred", header=False)
    write_view(str(tree), toolchain().visible)
    plain = Batch(str(tree), (), toolchain(), DEFAULT_OPTIONS.limits)
    headers = ToolchainHeaders(plain, Crew(executor, Unlimited()))
    headers.plan([SharedHeader(text, (unit,))])
    return headers, unit


def _line(name: str) -> str:
    return f"#if __has_include(<{name}>)\n#include <{name}>\n#endif\n"


def test_a_header_with_a_file_of_the_tree_is_not_used(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a.cc").write_bytes(b"int a;\n")
    (tree / "vector").write_bytes(b"struct vector {};\n")
    with pool() as executor:
        headers, unit = _headers(tree, _line("vector"), executor)
        found = headers.ready([unit], TreeContents(tree))
        assert found["a.cc"].header is None
        (tree / "vector").unlink()
        headers.plan([SharedHeader(_line("vector"), (unit,))])
        found = headers.ready([unit], TreeContents(tree))
    assert found["a.cc"].header is not None and all(path.startswith("/") for path in found["a.cc"].files)


def test_a_header_that_does_not_compile_is_not_used(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a.cc").write_bytes(b"int a;\n")
    with pool() as executor:
        headers, unit = _headers(tree, "#if 1\n#include <no_such_header>\n#endif\n", executor)
        contents = TreeContents(tree)
        found = headers.ready([unit], contents)
        assert headers.ready([unit], contents) == found  # not tried again for the same tree
    assert found["a.cc"].header is None and headers.built == 1
