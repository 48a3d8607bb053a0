"""`megacpp tokenizer`, as a user types it: train on what is pinned, compare with the reference, look, pin."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from roots import megacpp

pytestmark = pytest.mark.line


def _said(root: Path, *arguments: str) -> str:
    done = megacpp(root, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A data root whose tokenizer was trained on one repository, and the commit of that tokenizer."""
    root = tmp_path_factory.mktemp("tokenizers") / "data"
    _said(root, "run", "--repos", "sample-kernel", "--until", "pinned_repos")
    found = re.search(r"\b[0-9a-f]{40}\b", _said(root, "tokenizer", "train"))
    assert found is not None
    return root, found[0]


def test_training_needs_no_more_than_the_pinned_sources(trained: tuple[Path, str]) -> None:
    root, commit = trained
    assert not (root / "jsonl").exists()
    page = _said(root, "tokenizer", "show")
    assert commit in page
    assert "| round-trip failures | 0 |" in page


def test_the_reference_gives_the_same_ids_for_every_file(trained: tuple[Path, str]) -> None:
    said = _said(trained[0], "tokenizer", "agree")
    assert re.fullmatch(r"\d+ documents, [\d,]+ tokens: 0 documents differ\n", said)


def test_longest_match_is_measured_to_be_another_model(trained: tuple[Path, str]) -> None:
    differing, documents = re.findall(r"\d+", _said(trained[0], "tokenizer", "trie").splitlines()[0])
    assert 0 < int(differing) <= int(documents)


def test_a_tokenizer_is_pinned_by_its_commit_and_does_not_differ_from_itself(trained: tuple[Path, str]) -> None:
    root, commit = trained
    assert commit in _said(root, "tokenizer", "pin", commit[:12])
    assert _said(root, "tokenizer", "diff", commit, commit[:12]).startswith("0 ids differ")


def test_a_command_before_anything_is_pinned_says_what_to_run(tmp_path: Path) -> None:
    done = megacpp(tmp_path, "tokenizer", "show")
    assert done.returncode == 1
    assert "megacpp run" in done.stderr
