"""The registry: a commit is a function of its files alone; nothing is lost when a tokenizer is replaced."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.storage.root.layout import REGISTRY
from megacpp_assets.tokenizer.registry import commit_tokenizer, read_committed, registered_commits, trained_commit

TRAINING = "f" * 64


def test_equal_files_give_an_equal_commit_in_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_AUTHOR_NAME", "somebody")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    files = {"tokenizer.json": b"{}", "recipe.json": b"{}\n"}
    first = commit_tokenizer(tmp_path / "a", "d", files, TRAINING)
    second = commit_tokenizer(tmp_path / "longer" / "b", "d", dict(reversed(files.items())), TRAINING)
    assert first == second == "4eea477639f4183d69554bde970267a57e2a76de"


def test_a_replaced_tokenizer_stays_readable(tmp_path: Path) -> None:
    old = commit_tokenizer(tmp_path, "d", {"tokenizer.json": b"old"}, "e" * 64)
    new = commit_tokenizer(tmp_path, "d", {"tokenizer.json": b"new"}, TRAINING)
    assert trained_commit(tmp_path, TRAINING) == new and trained_commit(tmp_path, "e" * 64) == old
    assert registered_commits(tmp_path) == sorted([old, new])
    assert read_committed(tmp_path, old, "tokenizer.json") == b"old"


def test_git_finds_the_repository_sound(tmp_path: Path) -> None:
    commit = commit_tokenizer(tmp_path, "d", {"tokenizer.json": b"x"}, TRAINING)
    command = ["git", "--git-dir", str(tmp_path / REGISTRY)]
    done = subprocess.run([*command, "fsck", "--strict"], capture_output=True, text=True, check=True)
    assert "error" not in done.stderr
    log = subprocess.run([*command, "log", "--format=%H %P", "d"], capture_output=True, text=True, check=True)
    assert log.stdout.strip() == commit


def test_what_a_killed_git_left_behind_does_not_matter(tmp_path: Path) -> None:
    commit = commit_tokenizer(tmp_path / "clean", "d", {"tokenizer.json": b"x"}, TRAINING)
    objects = tmp_path / "hurt" / REGISTRY / "objects" / "ab"
    objects.mkdir(parents=True)
    (objects / "tmp_obj_Xyz").write_bytes(b"half")
    assert commit_tokenizer(tmp_path / "hurt", "d", {"tokenizer.json": b"x"}, TRAINING) == commit
    assert not list(objects.iterdir())


@pytest.mark.parametrize("commit", ["0" * 40, "HEAD", "--help"])
def test_a_commit_that_is_not_there_is_named(tmp_path: Path, commit: str) -> None:
    commit_tokenizer(tmp_path, "d", {"tokenizer.json": b"x"}, TRAINING)
    with pytest.raises(LineageGap, match=r"tokenizer/registry\.git"):
        read_committed(tmp_path, commit, "tokenizer.json")


def test_no_registry_has_no_commits(tmp_path: Path) -> None:
    assert trained_commit(tmp_path, TRAINING) is None
    assert registered_commits(tmp_path) == []
