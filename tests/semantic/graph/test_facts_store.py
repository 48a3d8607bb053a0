from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np

from megacpp_assets.semantic.graph.analysis.analyses import Analysed
from megacpp_assets.semantic.graph.analysis.entry import to_bytes
from megacpp_assets.semantic.graph.facts_store import ByFile, Chosen, FactsStore, Recent, Rows
from megacpp_assets.semantic.graph.repository import build_repository
from megacpp_assets.semantic.labels.paint import CHAR_DTYPE
from megacpp_assets.semantic.parsing.parsed import NO_SYMBOLS
from tests.semantic.sources import analysed

SOURCES = {
    "a.h": "#pragma once\nnamespace n { struct Box { int side; int area() const; }; }\n",
    "b.cc": '#include "a.h"\n#define TWICE(x) (2 * (x))\nint n::Box::area() const { return TWICE(side) * side; }\n',
    "c.cc": '#include "a.h"\n// ä\nint half(const n::Box &box) { return box.area() / 2; }\n',
}


def _store(tmp_path: Path, numbers: tuple[int, ...] = (2, 0, 1)) -> tuple[FactsStore, list[bytes]]:
    """The facts of SOURCES in a store, put in the order of `numbers`, and as bytes."""
    found = analysed(tmp_path / "tree", SOURCES)
    store = FactsStore(tmp_path, len(found))
    for number in numbers:
        store.put(number, found[number][0])
    return store.seal(), [to_bytes(Analysed(facts, chars[:0], 0)) for facts, chars in found]


def test_stored_facts_equal_those_that_were_put_but_for_cursors_and_symbols(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    found = [facts for facts, _ in analysed(tmp_path / "tree", SOURCES)]
    store, expected = _store(tmp_path)
    for facts, kept, data in zip(found, store, expected, strict=True):
        assert to_bytes(Analysed(kept, np.zeros(0, dtype=CHAR_DTYPE), 0)) == data
        assert (kept.file, kept.source) == (facts.file, facts.source)
        assert len(kept.parsed.symbols) == 0
        assert replace(kept.parsed, symbols=NO_SYMBOLS) == replace(facts.parsed, cursors=None, symbols=NO_SYMBOLS)


def test_facts_that_are_put_again_replace_the_first(tmp_path: Path) -> None:
    store, _ = _store(tmp_path)
    (tmp_path / "again").mkdir()
    again = FactsStore(tmp_path / "again", 2)
    again.put(0, store[0])
    again.put(1, store[1])
    again.put(0, store[2])
    assert [facts.source.path for facts in again.seal()] == ["c.cc", "b.cc"]


def test_a_pickled_store_reads_the_same_file(tmp_path: Path) -> None:
    store, _ = _store(tmp_path)
    copy = pickle.loads(pickle.dumps(store))
    assert [facts.source for facts in copy] == [facts.source for facts in store]


def test_a_repository_of_stored_facts_equals_that_of_facts_in_memory(tmp_path: Path) -> None:
    store, _ = _store(tmp_path)
    plain, stored = build_repository(list(store)), build_repository(store)
    assert list(plain.nodes) == list(stored.nodes) == [stored.nodes[number] for number in range(len(stored.nodes))]
    assert stored.nodes[-1] == list(plain.nodes)[-1]
    assert list(plain.roots) == list(stored.roots)
    assert list(plain.out) == list(stored.out)
    assert list(plain.spelled) == list(stored.spelled)


def test_recent_values_are_bounded_and_those_used_last_are_kept() -> None:
    recent = Recent[str](8)
    for number in range(100):
        recent.keep(number, str(number), 1)
        assert recent.find_old(0) == "0" or recent.young.get(0) == "0"
    kept = [number for number in range(100) if recent.young.get(number) or recent.find_old(number)]
    assert len(kept) <= 8
    assert kept[-1] == 99


def test_parts_of_files_are_one_sequence_also_with_empty_files() -> None:
    made: list[int] = []

    def parts_of(file: int) -> list[str]:
        made.append(file)
        return {0: [], 1: ["a", "b"], 2: [], 3: ["c"]}[file]

    parts = ByFile([0, 2, 0, 1], parts_of)
    assert ([parts[number] for number in range(3)], parts[-1], parts[1:], len(parts)) == (
        ["a", "b", "c"],
        "c",
        ["b", "c"],
        3,
    )
    assert made == [1, 3]
    assert list(parts) == ["a", "b", "c"]


def test_rows_of_one_column_are_values_and_of_several_tuples() -> None:
    assert list(Rows([0, 2, 3], np.array([5, 6, 7]))) == [[], [5, 6], [7]]
    assert list(Rows([1, 1], np.array([5]), np.array([8]))) == [[(5, 8)], []]


def test_chosen_parts_are_looked_up_by_their_numbers() -> None:
    chosen = Chosen("abcdef", [1, 3, 5])
    assert (list(chosen), len(chosen), chosen[-1], list(chosen[1:])) == (["b", "d", "f"], 3, "f", ["d", "f"])
