"""What curation decides is the same for any number of workers and any order of the repositories, for each rule.

1 and 2 workers; with MEGACPP_FULL_TESTS=1 also 4.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from megacpp_assets.compute.executors.select import WORKERS_VARIABLE
from megacpp_assets.contract.sources.curated import DECISIONS_FILE, FINDS_FILE
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.parquet import read_table
from tests.cli.commands import exit_code
from tests.curation.solutions import INTERSPERSE
from tests.repos.git_tree import make_repository

_GPL = "// SPDX-License-Identifier: GPL-2.0-only\n"
_ADDRESS = "jane.roe@corp-mail.com"


def _text(name: str) -> str:
    lines = (f"  if ({name}{i} > {i}) {{ {name}_total += {name}{i} * {i}; }}" for i in range(40))
    return f"int {name}() {{\n" + "\n".join(lines) + "\n}\n"


FILES = {
    "zlib": {
        "inflate.c": _text("inflate"),
        "mail.c": f"// Ask {_ADDRESS}.\n{_text('mail')}",
        "gpl.c": _GPL + _text("gpl"),
    },
    "app": {
        "deps/inflate.c": _text("inflate").replace("inflate39", "changed"),
        "own.c": _text("own"),
        "again.c": _text("own").replace("own39", "changed"),
        "answer.c": _text("before") + INTERSPERSE,
    },
    "tool": {"table.c": "int table[] = {" + "0, " * 600 + "0};\n", "tool.c": _text("tool") + f"// {_ADDRESS}\n"},
}
Made = dict[int, tuple[dict[str, Artifact], bytes]]
"""By workers: the curated artifact of each repository, and the list of copies across repositories."""
ORDERS = {1: ["app", "tool", "zlib"], 2: ["zlib", "app", "tool"]}
if os.environ.get("MEGACPP_FULL_TESTS") == "1":
    ORDERS[4] = ["tool", "zlib", "app"]


def _run(folder: Path, workers: int, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Artifact], bytes]:
    """The curated artifact of each repository, and the list of copies across repositories."""
    made = folder / str(workers)
    made.mkdir()
    entries = [f'[repo.{name}]\nurl = "{folder / name}"\nref = "v1"\nlicense = "MIT"\n' for name in ORDERS[workers]]
    (made / "catalogue.toml").write_text("\n".join(entries))
    answers = folder / "answers.jsonl"
    answers.write_text(json.dumps({"id": "1", "prompt": "", "canonical_solution": INTERSPERSE}) + "\n")
    (made / "mine.toml").write_text(
        f"""
dataset = "mine"
catalogue = "./catalogue.toml"
repos = {ORDERS[workers]}
curriculum = ["4k"]
[tokenizer]
vocabulary_size = 8192
[curation]
licenses_denied = ["GPL-*"]
copies = "drop_near"
secrets = "replace"
quality_rules = ["long_line"]
benchmarks = ["{hashlib.sha256(answers.read_bytes()).hexdigest()}  {answers}"]
benchmark_action = "drop"
"""
    )
    monkeypatch.setenv(WORKERS_VARIABLE, str(workers))
    root = str(made / "data")
    words = ("run", "--recipe", str(made / "mine.toml"), "--until", "curated_files", "--data-root", root)
    assert not exit_code(monkeypatch, *words)
    written = made / "copies.jsonl"
    assert not exit_code(monkeypatch, "copies", "--dataset", "mine", "--write", str(written), "--data-root", root)
    return {
        name: open_artifact(made / "data", f"curated/mine/{name}@v1") for name in sorted(FILES)
    }, written.read_bytes()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("workers")
    for name, files in FILES.items():
        make_repository(folder / name, {path: text.encode() for path, text in files.items()}, "v1")
    with pytest.MonkeyPatch.context() as patch:
        return {workers: _run(folder, workers, patch) for workers in ORDERS}


def _decided(artifacts: dict[str, Artifact], reason: str) -> list[tuple[str, str, str]]:
    return [
        (name, row["filepath"], row["cluster"])
        for name, artifact in artifacts.items()
        for row in read_table(artifact.file(DECISIONS_FILE)).to_pylist()
        if reason in row["reason"]
    ]


@pytest.mark.parametrize(
    ("reason", "dropped"),
    [
        ("licen", [("zlib", "gpl.c")]),
        ("copy", [("app", "own.c")]),
        ("quality", [("tool", "table.c")]),
        ("benchmark", [("app", "answer.c")]),
    ],
)
def test_each_rule_drops_the_same_files(made: Made, reason: str, dropped: list[tuple[str, str]]) -> None:
    decided = {workers: _decided(artifacts, reason) for workers, (artifacts, _) in made.items()}
    assert [each[:2] for each in decided[1]] == dropped
    assert all(each == decided[1] for each in decided.values())


def test_the_same_places_are_masked(made: Made) -> None:
    finds = {
        workers: [read_table(artifact.file(FINDS_FILE)).to_pylist() for artifact in artifacts.values()]
        for workers, (artifacts, _) in made.items()
    }
    assert sum(map(len, finds[1])) == 2 and all(each == finds[1] for each in finds.values())


def test_the_same_files_are_copies_across_repositories(made: Made) -> None:
    lists = [copies for _, copies in made.values()]
    assert len(lists[0].splitlines()) == 2 and len(set(lists)) == 1


def test_all_bytes_are_the_same(made: Made) -> None:
    hashes = [
        [hashlib.sha256(path.read_bytes()).hexdigest() for each in artifacts.values() for path in each.files("")]
        for artifacts, _ in made.values()
    ]
    assert hashes[0] and all(each == hashes[0] for each in hashes)
