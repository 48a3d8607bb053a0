"""Stage `pinned_repos` over real repositories: exact bytes, equal artifacts, hostile trees kept harmless."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from megacpp_assets.contract.errors import SourcePinMismatch
from megacpp_assets.contract.sources.source_file import FILES_LIST, SourceFile, dump_files
from megacpp_assets.quality.repos import check
from megacpp_assets.repos.catalogue import CatalogueEntry
from megacpp_assets.repos.pins import pin
from megacpp_assets.repos.stage import PinnedReposSpec, run
from megacpp_assets.storage.artifact import Artifact, find_artifact
from megacpp_assets.storage.git_objects import blob_reader, source_files
from tests.quality.planting import seal
from tests.repos.git_tree import commit, git, make_repository


def _fetch(entry: CatalogueEntry, root: Path, ref: str = "v1") -> Artifact:
    return run(PinnedReposSpec(root, pin(entry, ref, root)))


def _by_path(artifact: Artifact) -> dict[str, SourceFile]:
    return {file.path: file for file in source_files(artifact)}


def test_blobs_are_the_committed_bytes_whatever_attributes_say(tmp_path: Path, root: Path) -> None:
    files = {"a.cpp": b"int x; // $Id$\n", ".gitattributes": b"*.cpp text eol=crlf ident\n"}
    make_repository(tmp_path / "r", files)
    artifact = _fetch(CatalogueEntry("r", str(tmp_path / "r"), "v1"), root)
    with blob_reader(artifact) as blobs:
        assert blobs.read(_by_path(artifact)["a.cpp"].blob) == files["a.cpp"]


def test_every_file_is_listed_with_language_licence_and_reason(entry: CatalogueEntry, root: Path) -> None:
    files = _by_path(_fetch(entry, root))
    assert files["src/main.cpp"].license == "MIT"
    assert files["src/lib.cc"].license == "Apache-2.0"
    assert (files["include/lib/lib.h"].language, files["include/lib/lib.h"].header) == ("c++", True)
    assert files["README.md"].skipped == "not C or C++"


def test_two_roots_hold_the_same_bytes(entry: CatalogueEntry, root: Path, tmp_path: Path) -> None:
    other = tmp_path / "another" / "and-longer" / "data"
    other.mkdir(parents=True)
    assert _fetch(entry, root).manifest.to_bytes() == _fetch(entry, other).manifest.to_bytes()


def test_a_second_run_touches_no_file(entry: CatalogueEntry, root: Path) -> None:
    directory = _fetch(entry, root).directory
    before = {path: path.stat().st_mtime_ns for path in directory.rglob("*")}
    _fetch(entry, root)
    assert {path: path.stat().st_mtime_ns for path in directory.rglob("*")} == before


def test_a_tag_moved_between_pin_and_fetch_publishes_nothing(entry: CatalogueEntry, upstream: Path, root: Path) -> None:
    made = pin(entry, "v1", root)
    commit(upstream, {"src/lib.cc": b"int answer() { return 43; }\n"}, "v1")
    with pytest.raises(SourcePinMismatch, match=made.commit):
        run(PinnedReposSpec(root, made))
    assert find_artifact(root, "cpp_raw/lib@v1") is None


def test_a_commit_that_upstream_has_rewritten_away_is_reported_as_such_and_what_was_fetched_before_stays(
    entry: CatalogueEntry, upstream: Path, root: Path, tmp_path: Path
) -> None:
    made = pin(entry, "main", root)
    before = run(PinnedReposSpec(root, made)).manifest.sha256
    (upstream / "src" / "lib.cc").write_bytes(b"int answer() { return 43; }\n")
    git(upstream, "commit", "--all", "--amend", "--message", "another")
    git(upstream, "tag", "--delete", "v1")
    git(upstream, "reflog", "expire", "--expire=now", "--all")
    git(upstream, "gc", "--prune=now", "--quiet")
    assert run(PinnedReposSpec(root, made)).manifest.sha256 == before
    with pytest.raises(SourcePinMismatch, match=rf"expected commit {made.commit}; found none .*rewritten its history"):
        run(PinnedReposSpec(tmp_path, made))


def test_links_and_submodules_are_listed_but_never_followed(tmp_path: Path, root: Path) -> None:
    directory = tmp_path / "r"
    make_repository(directory, {"a.cpp": b"int x;\n"})
    os.symlink("/etc/passwd", directory / "config.h")
    commit(directory, {}, "v2")
    files = _by_path(_fetch(CatalogueEntry("r", str(directory), "v2"), root, "v2"))
    assert files["config.h"].skipped == "symbolic link"


def test_a_path_that_could_surprise_a_command_is_left_out(tmp_path: Path, root: Path) -> None:
    make_repository(tmp_path / "r", {"-rf.cpp": b"int x;\n", "a\nb.cpp": b"int y;\n", "ok.cpp": b"int z;\n"})
    files = source_files(_fetch(CatalogueEntry("r", str(tmp_path / "r"), "v1"), root))
    assert [file.path for file in files if not file.skipped] == ["ok.cpp"]
    assert {file.skipped for file in files if file.path != "ok.cpp"} == {"unsafe path"}


def test_the_checks_pass_on_what_was_fetched(entry: CatalogueEntry, root: Path) -> None:
    assert all(result.passed for result in check(_fetch(entry, root)))


def test_the_checks_see_a_pin_that_is_not_the_commit(entry: CatalogueEntry, root: Path) -> None:
    artifact = _fetch(entry, root)
    config = {**artifact.manifest.config, "commit": "0" * 40}
    lying = replace(artifact, manifest=replace(artifact.manifest, config=config))
    assert not check(lying)[0].passed


def test_the_checks_see_a_file_missing_from_the_list(entry: CatalogueEntry, root: Path) -> None:
    artifact = _fetch(entry, root)
    path = artifact.file("files.jsonl")
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:]))
    assert [result.name for result in check(seal(artifact)) if not result.passed] == ["file_list_is_the_tree"]


def _a_blob_that_is_nowhere(files: list[SourceFile]) -> list[SourceFile]:
    return [replace(files[0], blob="0" * 40), *files[1:]]


def _a_path_twice(files: list[SourceFile]) -> list[SourceFile]:
    return [files[0], *files]


def _every_file_left_out(files: list[SourceFile]) -> list[SourceFile]:
    return [replace(file, skipped="not C or C++") for file in files]


@pytest.mark.parametrize(
    ("plant", "name"),
    [
        (_a_blob_that_is_nowhere, "objects_are_whole"),
        (_a_path_twice, "paths_are_unique"),
        (_every_file_left_out, "has_sources"),
    ],
)
def test_the_checks_see_a_fault_in_the_list(
    entry: CatalogueEntry, root: Path, plant: Callable[[list[SourceFile]], list[SourceFile]], name: str
) -> None:
    artifact = _fetch(entry, root)
    artifact.file(FILES_LIST).write_bytes(dump_files(plant(source_files(artifact))))
    assert [result.name for result in check(seal(artifact)) if not result.passed] == [name]


def test_the_checks_see_objects_that_are_gone(entry: CatalogueEntry, root: Path) -> None:
    artifact = _fetch(entry, root)
    for pack in artifact.files(".pack"):
        pack.unlink()
    assert "objects_are_whole" in [result.name for result in check(artifact) if not result.passed]
