"""`megacpp curated`: which files of a repository were left out, with the reasons that the stages recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.commands import exit_code
from tests.repos.git_tree import make_repository

RECIPE = """
dataset = "mine"
catalogue = "./catalogue.toml"
repos = ["lib"]
curriculum = ["4k"]

[curation]
licenses_denied = ["GPL-*"]
quality_rules = ["long_line"]
copies = "drop_exact"

[semantic]
parsed_documents = 0
"""
GOOD = b"// Adds.\nint add(int a, int b) { return a + b; }\n" * 6
FILES = {
    "LICENSE": b"MIT License\n",
    "README": b"text\n",
    "src/empty.cc": b"\n",
    "src/good.cc": GOOD,
    "src/table.cc": b"int table[] = {" + b"0, " * 600 + b"0};\n",
    "third_party/good.cc": GOOD,
    "third_party/x/COPYING": b"GNU GENERAL PUBLIC LICENSE\n Version 2, June 1991\n",
    "third_party/x/a.c": b"int a(void) { return 1; }\n" * 12,
    "third_party/x/b.c": b"int b(void) { return 2; }\n" * 12,
}
LISTED = [
    "src/empty.cc  empty",
    "src/table.cc  quality rule: long_line",
    "third_party/good.cc  copy of another file: src/good.cc",
    "third_party/x/a.c  licence not permitted: GPL-2.0-only",
    "third_party/x/b.c  licence not permitted: GPL-2.0-only",
]


def _run(folder: Path, until: str) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        words = ("run", "--recipe", str(folder / "mine.toml"), "--until", until, "--data-root", str(folder / "data"))
        assert not exit_code(patch, *words)
    return folder / "data"


@pytest.fixture(scope="module")
def curated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root whose dataset `mine` has curated lib@v1. The root is beside its recipe."""
    folder = tmp_path_factory.mktemp("curated")
    make_repository(folder / "lib", FILES, "v1")
    (folder / "catalogue.toml").write_text(f'[repo.lib]\nurl = "{folder / "lib"}"\nref = "v1"\nlicense = "MIT"\n')
    (folder / "mine.toml").write_text(RECIPE)
    return _run(folder, "curated_files")


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], curated: Path) -> Said:
    """Runs `megacpp curated`."""
    return Said(monkeypatch, capsys, curated)


class Said:
    """What `megacpp curated` prints."""

    def __init__(self, patch: pytest.MonkeyPatch, captured: pytest.CaptureFixture[str], root: Path) -> None:
        self._patch, self._captured, self._root = patch, captured, root

    def __call__(self, *words: str) -> list[str]:
        """Return the lines of a command that succeeds."""
        self._captured.readouterr()
        assert not exit_code(self._patch, "curated", *words, "--data-root", str(self._root))
        return self._captured.readouterr().out.splitlines()

    def error(self, *words: str) -> str:
        """Return the error of a command that fails."""
        self._captured.readouterr()
        assert exit_code(self._patch, "curated", *words, "--data-root", str(self._root)) == 1
        return " ".join(self._captured.readouterr().err.split())


def test_before_the_index_only_files_that_curation_dropped_are_listed_and_this_is_said(said: Said) -> None:
    assert said("lib") == [
        "lib@v1: 4 of 6 files left out",
        "not indexed yet: files that only semantic_jsonl leaves out are missing here",
        "      2  licence not permitted",
        "      1  quality rule",
        "      1  copy of another file",
        "",
        *LISTED[1:],
    ]


def test_a_limit_shortens_the_list_and_not_the_counts_and_all_lifts_it(said: Said) -> None:
    short = said("lib@v1", "--limit", "1")
    assert short[-2:] == [LISTED[1], "… and 3 more files; --all lists every one"]
    assert "      2  licence not permitted" in short
    assert said("lib@v1", "--limit", "1", "--all")[-4:] == LISTED[1:]


def test_a_reason_chooses_files_and_an_unknown_one_is_an_error_with_the_closest(said: Said) -> None:
    lines = said("lib", "--reason", "licence")
    assert lines[lines.index("") + 1 :] == LISTED[3:]
    assert "did you mean `quality rule`?" in said.error("lib", "--reason", "quality ruel")


def test_an_unknown_repository_or_reference_is_an_error_that_says_what_is_pinned(said: Said) -> None:
    assert "did you mean `lib`? " in said.error("libb")
    assert "megacpp lock show" in said.error("libb")
    assert "expected one of lib@v1" in said.error("lib@v2")


def test_after_the_index_files_that_it_did_not_read_are_listed_too(said: Said, curated: Path) -> None:
    _run(curated.parent, "semantic_jsonl")
    lines = said("lib")
    assert lines[0] == "lib@v1: 5 of 6 files left out"
    assert not [line for line in lines if "not indexed" in line]
    assert lines[lines.index("") + 1 :] == LISTED


def test_a_reference_that_is_not_curated_is_an_error_that_names_its_artifact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], lib_root: Path
) -> None:
    capsys.readouterr()
    assert exit_code(monkeypatch, "curated", "lib", "--data-root", str(lib_root)) == 1
    assert "curated/mine/lib@v1.0" in capsys.readouterr().err
