"""What a benchmark cannot do as asked it says in a sentence on standard error; it never prints figures of nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks.conftest import FOLDER
from tests.repos.git_tree import make_repository

NOWHERE = "/nowhere/at/all"


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What arguments may name: an empty folder, one with a file, a repository."""
    folder = tmp_path_factory.mktemp("places")
    for name in ("empty", "full"):
        (folder / name).mkdir()
    (folder / "empty" / "notes.txt").write_text("no C++")
    (folder / "full" / "a.h").write_text("int a;\n")
    make_repository(folder / "repository", {"a.cc": b"int a;\n", "b.cc": b"int b;\n"})
    return {name: str(folder / name) for name in ("empty", "full")} | {
        "repository": str(folder / "repository" / ".git")
    }


@pytest.mark.parametrize(
    ("program", "arguments", "said"),
    [
        ("tokenizer", [NOWHERE], f"'{NOWHERE}'"),
        ("tokenizer", ["{full}", NOWHERE], f"'{NOWHERE}'"),
        ("tokenizer", ["{empty}"], "no C/C++ file"),
        ("tokenizer", ["{full}@v1"], "not a git repository"),
        ("tokenizer", ["{repository}@v9"], "v9"),
        ("tokenizer", ["{repository}@--help"], "--help"),
        ("tokenizer", ["{full}"], "at least 6 distinct files"),
        ("tokenizer", ["--fast"], "--fast"),
        ("whitespace", [NOWHERE, "{full}"], f"'{NOWHERE}'"),
        ("whitespace", ["{full}", NOWHERE], f"'{NOWHERE}'"),
        ("whitespace", ["{full}"], "at least one other"),
        ("packing", ["0"], "above zero, found '0'"),
        ("packing", ["many"], "found 'many'"),
        ("packing", ["5", "6"], "6"),
        ("semantic", [NOWHERE], "URL@REF"),
        ("semantic", [f"{NOWHERE}@v1"], NOWHERE),
        ("semantic", ["--runs", "0"], "above zero, found '0'"),
        ("semantic", ["--every", "x"], "above zero, found 'x'"),
        ("semantic", ["--figures", "bare,fastest"], "fastest"),
    ],
)
def test_an_argument_that_means_nothing_is_named(
    places: dict[str, str], program: str, arguments: list[str], said: str
) -> None:
    command = [sys.executable, str(FOLDER / f"{program}.py"), *(part.format(**places) for part in arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (1, 2)
    assert said in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("program", ["clusters_memory", "copies_memory"])
def test_a_benchmark_without_options_has_a_help_and_rejects_words(program: str) -> None:
    for word, code in (("--help", 0), ("nonsense", 2)):
        command = [sys.executable, str(FOLDER / f"{program}.py"), word]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == code and "usage:" in done.stdout + done.stderr, done.stderr


def test_a_commit_is_read_as_a_folder_with_the_same_files_is(places: dict[str, str], tmp_path: Path) -> None:
    from _sources import load

    (tmp_path / "a.cc").write_bytes(b"int a;\n")
    (tmp_path / "b.cc").write_bytes(b"int b;\n")
    assert load([f"{places['repository']}@v1"]) == load([str(tmp_path)]) == [b"int a;\n", b"int b;\n"]


@pytest.mark.parametrize("files", [6, 7, 100])
def test_portions_share_no_text_and_are_about_equal(files: int) -> None:
    from _sources import portions

    texts = [b"%03d" % number * 100 for number in range(files)]
    found = portions(texts, 6, 3000)
    assert len(found) == 6
    given = [text for portion in found for text in portion]
    assert len(given) == len(set(given)) and set(given) <= {text.decode() for text in texts}
    sizes = [sum(map(len, portion)) for portion in found]
    assert max(sizes) <= 3000 and max(sizes) - min(sizes) <= 300
