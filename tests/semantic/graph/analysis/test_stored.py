"""Stored facts: a field is decoded when it is first read, and no other with it."""

from __future__ import annotations

import pickle
from itertools import pairwise
from pathlib import Path

import pytest

from megacpp_assets.semantic.graph.analysis.analysis import FileFacts
from megacpp_assets.semantic.graph.analysis.stored import Packed, StoredFacts, pack
from tests.semantic.sources import analysed

SOURCE = "#include <vector>\nnamespace n { struct Box { int side; }; }\nint area(n::Box box) { return box.side; }\n"
FIELDS = ("file", "source", "chunks", "spans", "signatures", "roots", "root_spans", "includes", "spaces", "unlabelled")


@pytest.fixture
def facts(tmp_path: Path) -> FileFacts:
    return analysed(tmp_path, {"a.cc": SOURCE})[0][0]


@pytest.mark.parametrize("name", FIELDS)
def test_each_field_has_the_value_that_was_packed(name: str, facts: FileFacts) -> None:
    assert getattr(StoredFacts(pack(facts)), name) == getattr(facts, name)


def test_damaged_bytes_cost_the_fields_of_one_part_and_no_other(facts: FileFacts) -> None:
    data, ends = pack(facts)
    lost = list[str]()
    for start, end in pairwise(ends):
        stored = StoredFacts(Packed(data[:start] + bytes(end - start) + data[end:], ends))
        lost += [name for name in FIELDS if not _is_read(stored, name, facts)]
    assert sorted(lost) == sorted(FIELDS)


def test_an_unknown_field_is_an_attribute_error(facts: FileFacts) -> None:
    with pytest.raises(AttributeError, match="colour"):
        StoredFacts(pack(facts)).colour  # noqa: B018


def _is_read(stored: StoredFacts, name: str, facts: FileFacts) -> bool:
    try:
        return bool(getattr(stored, name) == getattr(facts, name))
    except pickle.UnpicklingError:
        return False
