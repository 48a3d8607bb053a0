"""Compile databases that lie, swell or break off: each is read in a moment and changes no parse of a good file."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from megacpp_assets.semantic.commands.database import entries as database_entries
from megacpp_assets.semantic.commands.database.compile_database import read_database
from megacpp_assets.semantic.tree.build_files import DATABASE
from tests.semantic.hostile_repository import good
from tests.semantic.parsing.test_parse import facts
from tests.semantic.parsing_trees import parse_in_process

GOOD = good(3)
SOURCES = [path for path in GOOD if path.endswith(".cc")]
ATTACKS = (
    "-fplugin=evil.so -Xclang -load -Xclang evil.so -o evil.o -MD -MF evil.d @/etc/passwd -include /etc/passwd -I/etc "
    "-ivfsoverlay evil.yaml --sysroot=/etc -fms-extensions --serialize-diagnostics evil.dia -save-temps=obj "
    "-working-directory=/etc"
).split()


def _entries(**changes: Any) -> str:
    plain = [{"directory": "/b", "file": f"/b/{path}", "arguments": ["c++", *ATTACKS, "-c", path]} for path in SOURCES]
    return json.dumps([{**entry, **changes} for entry in plain])


DATABASES: dict[str, str | bytes] = {
    "attacks": _entries(),
    "attacks as a command": json.dumps(
        [
            {"directory": "/b", "file": f"/b/{path}", "command": f"c++ {' '.join(ATTACKS)} $(touch evil) `id`"}
            for path in SOURCES
        ]
    ),
    "the folder of the host": _entries(directory="/etc"),
    "an endless folder": _entries(directory="/" + "../" * 1300),
    "a folder of NULs": _entries(directory="\0"),
    "a program that runs": _entries(arguments=["/bin/sh", "-c", "touch evil"]),
    "each entry a thousand times": json.dumps(json.loads(_entries()) * 1000),
    "odd types": '[1, 1.5, true, null, "x", [], {}, {"file": []}, {"directory": {}, "file": 1, "command": []}]',
    "arguments of every type": _entries(arguments=["c++", 1, None, {"a": []}]),
    "an object": '{"0": {"directory": "/b"}}',
    "a number": "1e400",
    "not a number": "[NaN]",
    "deep nesting": "[" * 200_000,
    "deep and closed": "[" * 900 + "]" * 900,
    "a broken tail": _entries()[:-20],
    "a lone surrogate": '[{"directory": "/b", "file": "\\ud800.cc", "arguments": []}]',
    "twice the same key": '[{"directory": "/b", "directory": "/etc", "file": "/b", "file": "x.cc", "arguments": []}]',
    "a byte order mark": b"\xef\xbb\xbf" + _entries().encode(),
    "UTF-16": _entries().encode("utf-16"),
    "NUL bytes": b"\0" * 100_000,
    "an unclosed quote": _entries(arguments=None, command="c++ 'x"),
    "a long argument": _entries(arguments=["c++", "-D" + "A" * 1_000_000, "-I" + "a/" * 100_000]),
    "many arguments": _entries(arguments=["c++", *(f"-I/etc/{index}" for index in range(50_000))]),
}  # fmt: skip


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """The good files' parses in a tree without any database."""
    return [_without_mode(file) for file in parse_in_process(tmp_path_factory.mktemp("alone"), GOOD).values()]


@pytest.mark.parametrize("database", DATABASES.values(), ids=DATABASES.keys())
def test_a_hostile_database_changes_no_parse_and_writes_nothing(
    tmp_path: Path, alone: list[Any], database: str | bytes
) -> None:
    tree = tmp_path / "tree"
    found = parse_in_process(tree, {**GOOD, DATABASE: database})
    assert [_without_mode(file) for file in found.values()] == alone
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")}
    written = {"tree", "tree/good", *(f"tree/{path}" for path in GOOD), f"tree/{DATABASE}"}
    assert left - written == {"tree.view.json"}


def _without_mode(file: Any) -> Any:
    path, status, _mode, *rest = facts(file)
    return path, status, *rest


def _deep(index: int) -> dict[str, Any]:
    return {"directory": "/" + "d/" * 1000, "file": "e/" * 900 + f"{index}.cc", "arguments": ["c++", "-DA"]}


def _paths(index: int) -> dict[str, Any]:
    return {"directory": "/b", "file": SOURCES[0], "arguments": ["c++", *(f"-Igood/{index}/{n}" for n in range(20))]}


@pytest.mark.parametrize("make", [_deep, _paths])
def test_many_entries_are_read_in_seconds(tmp_path: Path, make: Callable[[int], dict[str, Any]]) -> None:
    (tmp_path / "good").mkdir()
    (tmp_path / SOURCES[0]).write_text("")
    (tmp_path / DATABASE).write_text(json.dumps([make(index) for index in range(4_000)]))
    began = time.process_time()
    read_database(tmp_path, DATABASE)
    assert time.process_time() - began < 60


def test_entries_past_the_limit_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_entries, "MAX_ENTRIES", 2)
    names = [f"f{index}.cc" for index in range(3)]
    for name in names:
        (tmp_path / name).write_text("")
    entries = [{"directory": "/b", "file": f"/b/{name}", "arguments": ["c++", "-DA"]} for name in names]
    (tmp_path / DATABASE).write_text(json.dumps(entries))
    assert set(read_database(tmp_path, DATABASE).entries) == {"f0.cc", "f1.cc"}
