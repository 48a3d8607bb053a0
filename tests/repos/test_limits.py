"""What a repository may hold and cost is bounded: over a limit it is refused by its name, and nothing is left."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from megacpp_assets.contract.errors import OverLimit
from megacpp_assets.contract.recipe.documents import SourcesRecipe
from megacpp_assets.repos.catalogue import CatalogueEntry
from megacpp_assets.repos.pins import pin
from megacpp_assets.repos.stage import PinnedReposSpec, run
from megacpp_assets.storage.artifact import Artifact, find_artifact
from megacpp_assets.storage.git_objects import source_files
from tests.repos.git_tree import bare_repository, make_repository

_MB = 1 << 20
Git = Callable[..., str]


def _fetch(directory: Path, root: Path, limits: SourcesRecipe) -> Artifact:
    entry = CatalogueEntry(directory.name, str(directory), "v1")
    return run(PinnedReposSpec(root, pin(entry, "v1", root), limits))


def _refused(directory: Path, root: Path, limits: SourcesRecipe, name: str) -> str:
    sentence = rf"^repository \w+@v1; expected {name} of at most [\d,]+; found .+; what to do: raise {name} in section"
    with pytest.raises(OverLimit, match=sentence) as caught:
        _fetch(directory, root, limits)
    assert find_artifact(root, f"cpp_raw/{directory.name}@v1") is None
    assert [path for path in (root / "cpp_raw").rglob("*") if path.is_file()] == []
    return str(caught.value)


def _blob(git: Git, data: bytes) -> str:
    return git("hash-object", "-w", "--stdin", text=data)


def _tree(git: Git, kind: str, names: dict[str, str]) -> str:
    return git("mktree", text="".join(f"{kind} {child}\t{name}\n" for name, child in names.items()).encode())


@pytest.fixture
def bomb(tmp_path: Path) -> Path:
    """A tree of 10^9 files in nine objects and a blob."""

    def tree(git: Git) -> str:
        made = _tree(git, "100644 blob", dict.fromkeys((f"f{i}.cpp" for i in range(10)), _blob(git, b"int x;\n")))
        for _ in range(8):
            made = _tree(git, "040000 tree", dict.fromkeys((f"d{i}" for i in range(10)), made))
        return made

    bare_repository(tmp_path / "bomb", tree)
    return tmp_path / "bomb"


def test_a_tree_of_a_thousand_million_entries_is_rejected_at_the_limit(bomb: Path, root: Path) -> None:
    _refused(bomb, root, SourcesRecipe(entries=20_000, memory_bytes=512 * _MB), "entries")


def test_what_takes_too_long_is_ended_by_cpu_time(bomb: Path, root: Path) -> None:
    _refused(bomb, root, SourcesRecipe(entries=10**10, cpu_seconds=1), "cpu_seconds")


def test_what_takes_too_long_is_ended_by_the_clock(bomb: Path, root: Path) -> None:
    _refused(bomb, root, SourcesRecipe(entries=10**10, wall_seconds=2), "wall_seconds")


def test_many_large_licence_files_take_no_more_memory_than_one(tmp_path: Path, root: Path) -> None:
    def tree(git: Git) -> str:
        texts = {f"LICENSE.{i:02}": _blob(git, b"%d" % i + b"x" * (3 * _MB)) for i in range(96)}
        return _tree(git, "100644 blob", {**texts, "a.cpp": _blob(git, b"int x;\n")})

    bare_repository(tmp_path / "r", tree)
    artifact = _fetch(tmp_path / "r", root, SourcesRecipe(memory_bytes=256 * _MB))
    assert artifact.manifest.stats["licenses"] == ["NOASSERTION"]


def test_a_licence_of_one_long_line_is_read_in_seconds(tmp_path: Path, root: Path) -> None:
    line = b"Redistribution and use in source and binary forms " * 40_000
    make_repository(tmp_path / "r", {"LICENSE": line, "a.cpp": b"int x;\n"})
    artifact = _fetch(tmp_path / "r", root, SourcesRecipe(cpu_seconds=5))
    assert artifact.manifest.stats["licenses"] == ["BSD-2-Clause"]


def test_a_blob_of_many_names_is_read_once(tmp_path: Path, root: Path) -> None:
    def tree(git: Git) -> str:
        large = _blob(git, b"// SPDX-License-Identifier: MIT\n".ljust(64 * _MB, b"\n"))
        return _tree(git, "100644 blob", {f"a{i:03}.cpp": large for i in range(200)})

    bare_repository(tmp_path / "r", tree)
    artifact = _fetch(tmp_path / "r", root, SourcesRecipe(cpu_seconds=5))
    assert {file.license for file in source_files(artifact)} == {"MIT"}


@pytest.mark.parametrize(
    ("limits", "name", "found"),
    [
        (SourcesRecipe(blob_bytes=9_999), "blob_bytes", "found 10,000 in data/big.bin"),
        (SourcesRecipe(total_bytes=20_000), "total_bytes", "found 20,014 in the first 4 entries"),
        (SourcesRecipe(path_depth=3), "path_depth", "found one/two/three/four.h"),
        (SourcesRecipe(path_bytes=150), "path_bytes", "found a longer path"),
    ],
)
def test_each_limit_is_named_with_what_was_found(
    tmp_path: Path, root: Path, limits: SourcesRecipe, name: str, found: str
) -> None:
    files = {"data/big.bin": bytes(10_000), "data/other.bin": bytes(9_990), "one/two/three/four.h": b"int x;\n"}
    files |= {"z" * 140 + "/" + "z" * 140 + ".cpp": b"int y;\n", "y.cpp": b"int z; // 012345\n"}
    make_repository(tmp_path / "r", files)
    assert found in _refused(tmp_path / "r", root, limits, name)


def test_what_takes_too_much_memory_is_ended(tmp_path: Path, root: Path) -> None:
    make_repository(tmp_path / "r", {"a.cpp": bytes(64 * _MB)})
    _refused(tmp_path / "r", root, SourcesRecipe(memory_bytes=48 * _MB), "memory_bytes")


def test_a_pack_that_fills_the_disk_is_ended_while_it_comes(tmp_path: Path, root: Path) -> None:
    make_repository(tmp_path / "r", {"a.cpp": os.urandom(_MB)})
    assert "git fetch" in _refused(tmp_path / "r", root, SourcesRecipe(total_bytes=100_000), "total_bytes")


def test_limits_decide_no_byte(entry: CatalogueEntry, root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    wide = run(PinnedReposSpec(root, pin(entry, "v1", root)))
    narrow = run(PinnedReposSpec(other, pin(entry, "v1", other), SourcesRecipe(entries=5, path_depth=3)))
    assert wide.manifest.to_bytes() == narrow.manifest.to_bytes()
