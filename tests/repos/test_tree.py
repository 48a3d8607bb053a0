"""A tree comes in path order, one entry at a time, with its submodules in their places."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from megacpp_assets.contract.errors import DiskFailure
from megacpp_assets.repos import git as git_commands
from megacpp_assets.repos.git import GitFailed, GitStopped, RecordTooLong, git_records, require_success
from megacpp_assets.repos.submodules import Submodule
from megacpp_assets.repos.tree import tree_entries, whole_tree
from tests.repos.git_tree import git, make_repository

_LINK = "deps/inner"
_AROUND = [
    "a.cpp",
    "deps/inner-a.h",
    "deps/inner.h",
    "deps/inner0",
    "deps/innerz/x",
    "deps/i",
    "deps.h",
    "z\xe9.h",
    "deps0",
]


@pytest.fixture
def repository(tmp_path: Path) -> tuple[Path, str, str]:
    """(git directory, commit with a link, commit that the link names)."""
    directory = tmp_path / "r"
    inner = make_repository(directory, {"x.hpp": b"1", "a/b.c": b"2", "0": b"3"}, "inner")
    git(directory, "rm", "-r", "-q", ".")
    for name in _AROUND:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(name.encode())
    git(directory, "add", "-A")
    git(directory, "update-index", "--add", "--cacheinfo", f"160000,{inner},{_LINK}")
    git(directory, "commit", "-q", "-m", "outer")
    return directory / ".git", git(directory, "rev-parse", "HEAD"), inner


def test_a_submodule_is_listed_below_its_link_and_all_paths_are_sorted(repository: tuple[Path, str, str]) -> None:
    git_dir, outer, inner = repository
    module = Submodule(_LINK, "https://example.org/o/inner", inner)
    entries = list(whole_tree(outer, [module], git_dir, 4096))
    below = [f"{_LINK}/{name}" for name in ("x.hpp", "a/b.c", "0")]
    assert [entry.path for entry in entries] == sorted([*_AROUND, _LINK, *below], key=str.encode)
    assert {entry.path: entry.bytes for entry in entries}[f"{_LINK}/x.hpp"] == 1


def test_a_path_above_the_limit_is_an_error_and_one_at_it_is_not(tmp_path: Path) -> None:
    commit = make_repository(tmp_path / "r", {"d" * 200 + "/" + "f" * 99: b"1"})
    assert len(list(tree_entries(commit, "", tmp_path / "r" / ".git", 300))) == 1
    with pytest.raises(RecordTooLong):
        list(tree_entries(commit, "", tmp_path / "r" / ".git", 100))


def test_git_ends_with_its_reader(repository: tuple[Path, str, str]) -> None:
    git_dir, outer, _ = repository
    entries = tree_entries(outer, "", git_dir, 4096)
    assert next(entries).path == "a.cpp"
    entries.close()  # type: ignore[attr-defined]


def test_an_error_of_git_is_raised_with_its_words(repository: tuple[Path, str, str]) -> None:
    with pytest.raises(GitFailed, match="not a tree object"):
        list(git_records("ls-tree", "0" * 40, git_dir=repository[0], longest=100))


def test_what_git_says_is_one_line_of_text_although_a_server_ends_it_with_a_nul() -> None:
    with pytest.raises(GitFailed, match=re.escape("found remote: repository corruption fatal: early EOF")):
        require_success("fetch", 128, b"remote: repository corruption\0\nfatal: early EOF\n")


def test_git_without_memory_stopped_at_a_limit_and_a_server_without_memory_did_not() -> None:
    with pytest.raises(GitStopped) as stopped:
        require_success("fetch", 128, b"fatal: Out of memory, malloc failed\n")
    assert stopped.value.limit == "memory_bytes"
    with pytest.raises(GitFailed, match="remote: fatal: Out of memory"):
        require_success("fetch", 128, b"remote: fatal: Out of memory, malloc failed\nfatal: early EOF\n")


def test_a_server_on_this_machine_without_memory_stopped_at_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (tmp_path / "git").write_text("#!/bin/sh\necho 'remote: fatal: Out of memory, malloc failed' >&2\nexit 128\n")
    (tmp_path / "git").chmod(0o755)
    with pytest.raises(GitFailed, match="remote: fatal: Out of memory"):
        git_commands.git("fetch")
    with pytest.raises(GitStopped) as stopped:
        git_commands.git("fetch", served_here=True)
    assert stopped.value.limit == "memory_bytes"


def test_git_that_does_not_end_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_commands, "_TIMEOUT_S", 0.5)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (tmp_path / "git").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "git").chmod(0o755)
    with pytest.raises(GitFailed, match=r"git fetch; expected an end within 0\.5 s; found still running after 0\.5 s"):
        git_commands.git("fetch")


def test_a_full_disk_is_named_with_what_to_do_and_a_full_server_is_not(tmp_path: Path) -> None:
    with pytest.raises(
        DiskFailure,
        match=rf"git repack in {tmp_path}; expected room .* \({tmp_path} has [\d,]+ MB.* what to do: free some",
    ):
        require_success("repack", 128, b"fatal: sha1 file error: Out of diskspace\n", tmp_path)
    with pytest.raises(GitFailed):
        require_success("fetch", 128, b"remote: fatal: No space left on device\nfatal: early EOF\n", tmp_path)
