"""`megacpp copies`: its summary, its list, the line for the recipe, and what it says where it cannot work."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from tests.cli.commands import exit_code
from tests.repos.git_tree import make_repository

RECIPE = """
dataset = "mine"
catalogue = "./catalogue.toml"
repos = ["app", "zlib"]
curriculum = ["4k"]

[semantic]
parsed_documents = 0

[tokenizer]
vocabulary_size = 8192
"""


def _text(name: str) -> bytes:
    lines = (f"  if ({name}{i} > {i}) {{ {name}_total += {name}{i} * {i}; }}" for i in range(40))
    return (f"int {name}() {{\n" + "\n".join(lines) + "\n}\n").encode()


FILES = {
    "app": {"third_party/zlib/inflate.c": _text("inflate").replace(b"inflate39", b"changed"), "own.c": _text("own")},
    "zlib": {"inflate.c": _text("inflate"), "again.c": _text("inflate")},
}


def _run(folder: Path, until: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    entries = []
    for name, files in FILES.items():
        make_repository(folder / name, files, "v1")
        entries.append(f'[repo.{name}]\nurl = "{folder / name}"\nref = "v1"\nlicense = "MIT"\n')
    (folder / "catalogue.toml").write_text("\n".join(entries))
    (folder / "mine.toml").write_text(RECIPE)
    words = ("run", "--recipe", str(folder / "mine.toml"), "--until", until, "--data-root", str(folder / "data"))
    assert not exit_code(monkeypatch, *words)
    return folder / "data"


def test_the_command_prints_a_summary_and_the_line_of_the_list_for_the_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root, written = _run(tmp_path, "curated_files", monkeypatch), tmp_path / "copies.jsonl"
    capsys.readouterr()
    words = ("copies", "--dataset", "mine", "--write", str(written), "--data-root", str(root))
    assert not exit_code(monkeypatch, *words)
    assert capsys.readouterr().out.splitlines() == [
        "3 files in 1 cluster across repositories; copies of one that stays: 1",
        "     1 of app are copies of files of zlib",
        f"{hashlib.sha256(written.read_bytes()).hexdigest()}  {written}",
    ]
    rows = [json.loads(line) for line in written.read_text().splitlines()]
    assert [(row["repo"], row["path"], row["stays"]) for row in rows] == [
        ("app", "third_party/zlib/inflate.c", "zlib:again.c"),
        ("zlib", "again.c", ""),
        ("zlib", "inflate.c", ""),
    ]
    before = written.read_bytes()
    assert not exit_code(monkeypatch, *words)
    assert written.read_bytes() == before


def test_a_dataset_that_is_unknown_or_not_curated_is_an_error_and_writes_no_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root, written = _run(tmp_path, "pinned_repos", monkeypatch), tmp_path / "copies.jsonl"
    common = ("copies", "--dataset", "mine", "--write", str(written), "--data-root", str(root))
    capsys.readouterr()
    assert exit_code(monkeypatch, *common)
    assert "curated" in capsys.readouterr().err
    assert exit_code(monkeypatch, *common, "--against", "mime")
    assert "mime" in capsys.readouterr().err
    assert not written.exists()
