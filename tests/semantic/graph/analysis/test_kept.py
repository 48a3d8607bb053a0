"""A file that was analysed before is not analysed again, and its facts never tell which of both it was."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from megacpp_assets.compute.executors.executor import Outcome
from megacpp_assets.semantic.graph.analysis import kept as kept_analyses
from megacpp_assets.semantic.graph.analysis.analyses import Analysed, Item
from megacpp_assets.semantic.graph.analysis.analysis import analyse
from megacpp_assets.semantic.graph.analysis.kept import analyses
from megacpp_assets.semantic.parsing.budget import Budget, CpuBudget
from megacpp_assets.semantic.parsing.lots import Crew
from megacpp_assets.semantic.parsing.parsed import ParsedFile
from megacpp_assets.semantic.tree.text import decode
from megacpp_assets.storage.caching.cache import Cache
from tests.semantic.hostile_repository import good
from tests.semantic.parsing_trees import InProcess, listing, parse_in_process

CPU_S = 60
SOURCES = {
    **good(2),
    "spaces.cc": b'#include "none.h"\nnamespace outer { namespace inner {\n#define TWICE(x) (2 * x)\n'
    b"class Box { public: int width() const { return TWICE(width_); } int width_; };\n"
    b"int area(const Box& box) { return box.width() * strlen(0); }\n} }\n",
    "words.cc": "// grüß\nint größe() { return 1; }\n".encode(),
    "empty.h": b"#pragma once\n",
}


class Counting(InProcess):
    """Counts the files that come to be analysed."""

    def __init__(self) -> None:
        self.files = 0

    def run(
        self, function: Callable[[Any], Any], batches: Iterable[Any], *, timeout_s: float
    ) -> Iterator[Outcome[Any]]:
        def counted(batch: Any) -> Any:
            self.files += len(batch.units)
            return function(batch)

        return super().run(counted, batches, timeout_s=timeout_s)


class Line:
    """Trees analysed one after another over one memory, each compared with analyses that remember nothing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.store = Cache(folder / "cache")

    def analyse(self, sources: Mapping[str, bytes], **failed: str) -> int:
        """How many of `sources` are analysed; `failed` names files, dots left out, that have no parse."""
        parsed = parse_in_process(self._folder / "tree", sources)
        parsed |= {
            path: ParsedFile(path, "failed", "inferred", failed[name])
            for path in parsed
            if (name := path.replace(".", "")) in failed
        }
        return self.repeat(
            [Item(file, decode(file.path, sources[file.path]), parsed[file.path]) for file in listing(sources)]
        )

    def repeat(self, items: Sequence[Item], cpu_s: int = CPU_S) -> int:
        """How many of `items` are analysed."""
        executor = Counting()
        crew = Crew(executor, CpuBudget([item.path for item in items], Budget(), CPU_S))
        found = {each.facts.file.path: each for each in analyses(items, crew, self.store, cpu_s=cpu_s, wall_s=CPU_S)}
        assert found.keys() == {item.path for item in items}
        for item in items:
            fresh = Analysed(*analyse(*item), cpu_ms=0)
            assert values_of(found[item.path]) == values_of(fresh)
            # Spaces are compared as they are: a list in one has no hash.
            assert found[item.path].facts.spaces == fresh.facts.spaces
        return executor.files


def values_of(analysed: Analysed) -> Any:
    """All of an analysis but what it cost, arrays with their types."""
    return comparable([asdict(analysed.facts), analysed.chars, analysed.reason])


def comparable(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.tolist()
    if isinstance(value, dict):
        return {name: comparable(part) for name, part in value.items()}
    return [comparable(part) for part in value] if isinstance(value, tuple | list) else value


@pytest.fixture
def line(tmp_path: Path) -> Line:
    return Line(tmp_path)


def test_each_file_is_analysed_once(line: Line) -> None:
    assert line.analyse(SOURCES) == len(SOURCES)
    assert line.analyse(SOURCES) == 0


def test_a_changed_file_is_analysed_again_and_its_old_state_is_still_known(line: Line) -> None:
    line.analyse(SOURCES)
    assert line.analyse(SOURCES | {"spaces.cc": SOURCES["spaces.cc"] + b"// one more\n"}) == 1
    assert line.analyse(SOURCES) == 0


def test_a_file_that_now_parses_in_another_way_is_analysed_again(line: Line) -> None:
    line.analyse(SOURCES)
    assert line.analyse(SOURCES, spacescc="crash") == 1
    assert line.analyse(SOURCES | {"none.h": b"unsigned long strlen(const char*);\n"}) == 2


def test_a_copy_elsewhere_and_a_file_under_another_limit_are_analysed(line: Line, tmp_path: Path) -> None:
    text = {"empty.h": SOURCES["empty.h"]}
    line.analyse(text)
    assert line.analyse({"copy.h": SOURCES["empty.h"]}) == 1
    (file,), parsed = listing(text), parse_in_process(tmp_path / "again", text)
    item = Item(file, decode(file.path, text["empty.h"]), parsed["empty.h"])
    assert line.repeat([item]) == 0
    assert line.repeat([item], cpu_s=CPU_S - 1) == 1


def test_the_licence_of_a_file_is_not_cached(line: Line, tmp_path: Path) -> None:
    text = {"empty.h": SOURCES["empty.h"]}
    line.analyse(text)
    (file,), parsed = listing(text), parse_in_process(tmp_path / "again", text)
    item = Item(replace(file, license="BSD-3-Clause"), decode(file.path, text["empty.h"]), parsed["empty.h"])
    assert line.repeat([item]) == 0


def test_other_code_or_another_library_has_no_cached_analyses(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    line.analyse(SOURCES)
    for name, other in (("code_identity", lambda module: "other"), ("version", lambda library: "0")):
        with monkeypatch.context() as changed:
            changed.setattr(kept_analyses, name, other)
            kept_analyses._code.cache_clear()
            assert line.analyse(SOURCES) == len(SOURCES)
    kept_analyses._code.cache_clear()
    assert line.analyse(SOURCES) == 0


def test_a_damaged_entry_is_analysed_again(line: Line, tmp_path: Path) -> None:
    line.analyse(SOURCES)
    entries = sorted(file for file in (tmp_path / "cache").rglob("*") if file.is_file())
    for entry in entries[:2]:
        entry.write_bytes(entry.read_bytes()[:-1])
    assert line.analyse(SOURCES) == 2


def test_a_file_that_could_not_be_analysed_is_tried_again(line: Line, tmp_path: Path) -> None:
    class Dead(InProcess):
        def run(
            self, function: Callable[[Any], Any], batches: Iterable[Any], *, timeout_s: float
        ) -> Iterator[Outcome[Any]]:
            return (Outcome(index, None, "crash: worker ended with exit code 1") for index, _ in enumerate(batches))

    text = {"empty.h": SOURCES["empty.h"]}
    (file,), parsed = listing(text), parse_in_process(tmp_path / "tree", text)
    item = Item(file, decode(file.path, text["empty.h"]), parsed["empty.h"])
    crew = Crew(Dead(), CpuBudget(["empty.h"], Budget(), CPU_S))
    (lost,) = analyses([item], crew, line.store, cpu_s=CPU_S, wall_s=CPU_S)
    assert lost.reason
    assert line.repeat([item]) == 1
