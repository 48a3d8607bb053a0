from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.semantic.commands.database import entries as database_entries
from megacpp_assets.semantic.commands.database.entries import Entry, Reading

# A backslash is left out: it marks a Windows path, which is read as one with slashes (test_compile_database.py).
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\\"), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
ENTRIES = st.fixed_dictionaries(
    {"directory": TEXTS, "file": TEXTS, "arguments": st.lists(TEXTS, max_size=4)}, optional={"output": VALUES}
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("entries") / "database.json"


def read(path: Path, text: str | bytes) -> tuple[list[Entry], str]:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    reading = Reading(path)
    return list(reading), reading.reason


@given(items=st.lists(ENTRIES | VALUES, max_size=6), indent=st.sampled_from([None, 2]))
def test_each_entry_comes_out_as_it_was_written_whatever_is_between(
    path: Path, items: list[Any], indent: int | None
) -> None:
    found, reason = read(path, json.dumps(items, indent=indent))
    assert reason == ""
    assert found == [
        Entry(item["directory"], item["file"], tuple(item["arguments"]))
        for item in items
        if isinstance(item, dict) and {"directory", "file", "arguments"} <= item.keys()
    ]


def test_a_command_line_stays_one_text(path: Path) -> None:
    assert read(path, '[{"directory": "/b", "command": "c++ a.cc", "file": "a.cc"}]') == (
        [Entry("/b", "a.cc", "c++ a.cc")],
        "",
    )


@pytest.mark.parametrize("text", ["", "{}", "1", "[1", "[1}", b"\xff", b"\xef\xbb\xbf[]", "[]]", "[[NaN]]", "\0" * 99])
def test_text_that_is_not_a_json_list_is_reported(path: Path, text: str | bytes) -> None:
    found, reason = read(path, text)
    assert found == [] and reason.startswith("no JSON")


@pytest.mark.parametrize("text", ["[" * 2_000_000, "[" * 1_000_000 + "]" * 1_000_000, '[{"a":' * 300_000])
def test_deep_nesting_costs_nothing(path: Path, text: str) -> None:
    assert read(path, text) == ([], "no JSON: JSONError")


def test_no_more_bytes_and_entries_are_read_than_the_limits_say(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps([{"directory": "", "file": str(number), "arguments": []} for number in range(5)])
    monkeypatch.setattr(database_entries, "MAX_ENTRIES", 3)
    found, reason = read(path, text)
    assert [entry.file for entry in found] == ["0", "1", "2"]
    assert reason == "more than 3 entries; the others are not read"
    monkeypatch.setattr(database_entries, "MAX_BYTES", 100)
    assert read(path, text) == ([], "more than 100 bytes")


def test_an_entry_whose_arguments_are_endless_is_left_out_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_entries, "MAX_ENTRY_BYTES", 10)
    items = [{"directory": "", "file": text, "arguments": [text]} for text in ("a", "b" * 11)]
    assert read(path, json.dumps(items)) == ([Entry("", "a", ("a",))], "")
