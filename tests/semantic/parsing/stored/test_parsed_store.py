from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np

from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.semantic.graph.analysis.analyses import Item, StoredItem
from megacpp_assets.semantic.parsing.parsed import ParsedFile
from megacpp_assets.semantic.parsing.stored.parsed_store import ParsedStore
from megacpp_assets.semantic.parsing.stored.unit_entry import to_bytes
from megacpp_assets.semantic.parsing.worker import UnitResult
from megacpp_assets.semantic.tree.text import decode
from tests.semantic.sources import analysed

TEXT = "int half(int v) { return v / 2; }\n"


def _parsed(tmp_path: Path) -> ParsedFile:
    return analysed(tmp_path / "tree", {"a.cc": TEXT})[0][0].parsed


def test_a_stored_parse_equals_the_one_that_was_put(tmp_path: Path) -> None:
    store, parsed = ParsedStore(tmp_path), replace(_parsed(tmp_path), standard="c++17")
    store["a.cc"] = parsed
    store["\udcff.cc"] = ParsedFile("\udcff.cc", "failed", "inferred", "crash")
    assert (list(store), len(store), store.reasons) == (["a.cc", "\udcff.cc"], 2, {"\udcff.cc": "crash"})
    assert to_bytes(UnitResult(store["a.cc"])) == to_bytes(UnitResult(parsed))
    assert store["a.cc"].standard == "c++17"
    store["\udcff.cc"] = replace(store["\udcff.cc"], status="clean", reason="")
    assert (store["\udcff.cc"].status, store.reasons) == ("clean", {})
    del store["a.cc"]
    assert list(store) == ["\udcff.cc"]


def test_a_stored_item_is_pickled_with_its_text_and_parse(tmp_path: Path) -> None:
    store, parsed = ParsedStore(tmp_path), _parsed(tmp_path)
    store["a.cc"] = parsed
    file = SourceFile("a.cc", "0" * 40, len(TEXT), "c++", False, "MIT")
    text = decode("a.cc", TEXT.encode())
    item = StoredItem(file, {"a.cc": text}, store)
    copy = pickle.loads(pickle.dumps(item))
    assert isinstance(copy, Item)
    assert (copy.file, copy.source, copy.path, item.reason) == (item.file, text, "a.cc", "")
    assert parsed.cursors is not None and copy.parsed.cursors is not None
    assert np.array_equal(copy.parsed.cursors.start, parsed.cursors.start)
