"""Submodules come from the parent's owner or a named one, over https or a mirror; nothing else is ever read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.repos.catalogue import CatalogueEntry
from megacpp_assets.repos.pins import pin
from megacpp_assets.repos.sources import MIRROR_VARIABLE
from megacpp_assets.repos.stage import PinnedReposSpec, run, target
from megacpp_assets.storage.artifact import Artifact, find_artifact
from megacpp_assets.storage.git_objects import blob_reader, source_files
from tests.repos.git_tree import commit, git, make_repository

_PRIVATE = b"int private_of_this_machine;\n"


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Clones of example.org/OWNER/NAME, on this machine."""
    monkeypatch.setenv(MIRROR_VARIABLE, str(tmp_path / "mirror" / "{owner}" / "{name}"))
    return tmp_path / "mirror"


def _parent(directory: Path, url: str, inner: str, path: str = "deps/inner") -> None:
    """A repository whose tree links `inner` at `path` and whose `.gitmodules` says `url`."""
    modules = f'[submodule "inner"]\n\tpath = {path}\n\turl = {url}\n'.encode()
    make_repository(directory, {"outer.cpp": b"int x;\n", ".gitmodules": modules})
    git(directory, "update-index", "--add", "--cacheinfo", f"160000,{inner},{path}")
    git(directory, "commit", "-q", "-m", "v2")
    git(directory, "tag", "-a", "v2", "-m", "v2")


def _entry(owners: tuple[str, ...] = ()) -> CatalogueEntry:
    url = "https://example.org/team/outer"
    return CatalogueEntry("outer", url, "v2", submodules=True, submodule_owners=owners)


def _fetch(entry: CatalogueEntry, root: Path) -> Artifact:
    return run(PinnedReposSpec(root, pin(entry, "v2", root)))


def _by_path(artifact: Artifact) -> dict[str, SourceFile]:
    return {file.path: file for file in source_files(artifact)}


@pytest.mark.parametrize("url", ["../inner", "../inner.git", "https://example.org/team/inner", "./../inner"])
def test_a_submodule_of_the_same_owner_is_fetched_at_its_commit_and_recorded(
    mirror: Path, root: Path, url: str
) -> None:
    inner = make_repository(mirror / "team" / "inner", {"inner.hpp": b"struct inner {};\n"})
    _parent(mirror / "team" / "outer", url, inner)
    artifact = _fetch(_entry(), root)
    files = _by_path(artifact)
    assert files["deps/inner"].blob == inner
    with blob_reader(artifact) as blobs:
        assert blobs.read(files["deps/inner/inner.hpp"].blob) == b"struct inner {};\n"
    (recorded,) = artifact.manifest.stats["submodules"]
    assert recorded["path"] == "deps/inner" and recorded["commit"] == inner
    assert recorded["url"].removesuffix(".git") == "https://example.org/team/inner"
    assert str(mirror) not in artifact.manifest.to_bytes().decode()


def test_a_submodule_of_another_owner_is_fetched_where_the_catalogue_names_that(mirror: Path, root: Path) -> None:
    inner = make_repository(mirror / "friends" / "inner", {"inner.hpp": b"struct inner {};\n"})
    _parent(mirror / "team" / "outer", "https://example.org/friends/inner", inner)
    with pytest.raises(SpecError, match=r"below https://example.org/team/;.*--submodule-owner example.org/friends"):
        _fetch(_entry(), root)
    assert "deps/inner/inner.hpp" in _by_path(_fetch(_entry(("example.org/friends",)), root))


@pytest.mark.parametrize(
    "url",
    ["{private}", "file://{private}", "../../../private/r", "../../private/r", "../secret/../../private/r",
     "ext::sh -c id", "git://example.org/team/inner", "ssh://git@example.org/team/inner", "git@example.org:team/inner",
     "../inner?token=x", "http://example.org/team/inner", "https://example.org/team/../private/r", "inner",
     "https://other.org/team/inner", "https://example.org/private/r", "https://example.org//private/r",
     "https://169.254.169.254/team/inner", "https://user:canary@example.org/team/inner",
     "https://example.org@other.org/team/inner", "../\\tinner"],
)  # fmt: skip
def test_any_other_url_is_rejected_in_a_sentence_and_nothing_is_read(
    mirror: Path, root: Path, tmp_path: Path, url: str
) -> None:
    private = mirror / "private" / "r"
    inner = make_repository(private, {"private.cpp": _PRIVATE})
    make_repository(mirror / "team" / "inner", {"inner.hpp": b"struct inner {};\n"})
    _parent(mirror / "team" / "outer", url.format(private=private), inner)
    with pytest.raises(
        SpecError, match=r"^submodule deps/inner of outer@v2; expected .*; found .*; what to do: "
    ) as no:
        _fetch(_entry(), root)
    assert "canary" not in str(no.value)
    assert find_artifact(root, "cpp_raw/outer@v2") is None
    assert not list((root / "cpp_raw").rglob("*.pack"))


@pytest.mark.parametrize("url", ["../inner", "{tmp}/inner", "file://{tmp}/inner"])
def test_a_local_parent_reads_no_other_repository_of_the_machine(tmp_path: Path, root: Path, url: str) -> None:
    inner = make_repository(tmp_path / "inner", {"private.cpp": _PRIVATE})
    _parent(tmp_path / "outer", url.format(tmp=tmp_path), inner)
    local = replace(_entry(), url=str(tmp_path / "outer"))
    with pytest.raises(SpecError, match=r"^submodule deps/inner of outer@v2; expected "):
        _fetch(local, root)


def test_without_submodules_links_stay_without_content(mirror: Path, root: Path) -> None:
    inner = make_repository(mirror / "team" / "inner", {"inner.hpp": b"struct inner {};\n"})
    _parent(mirror / "team" / "outer", "/nowhere", inner)
    artifact = _fetch(replace(_entry(), submodules=False), root)
    assert _by_path(artifact)["deps/inner"].skipped == "submodule"
    assert "submodules" not in artifact.manifest.stats


def test_an_artifact_made_without_submodules_is_not_current_with_them(mirror: Path, root: Path) -> None:
    make_repository(mirror / "team" / "outer", {"a.cpp": b"int x;\n"}, "v2")
    made = pin(_entry(), "v2", root)
    plain = target(PinnedReposSpec(root, replace(made, submodules=False)))
    assert target(PinnedReposSpec(root, made)).fingerprint(()) != plain.fingerprint(())


def test_a_moved_submodule_keeps_the_commit_that_the_tree_names(mirror: Path, root: Path) -> None:
    inner = make_repository(mirror / "team" / "inner", {"inner.hpp": b"struct inner {};\n"})
    _parent(mirror / "team" / "outer", "../inner", inner)
    commit(mirror / "team" / "inner", {"inner.hpp": b"struct moved {};\n"}, "v2")
    assert _fetch(_entry(), root).manifest.stats["submodules"][0]["commit"] == inner
