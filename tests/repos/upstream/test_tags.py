"""Upstream's tags: which are releases, their order, the commits that they name, and a source that answers badly."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.contract.errors import OverLimit, SourceUnreachable, SpecError
from megacpp_assets.repos import git as git_module
from megacpp_assets.repos.catalogue import CatalogueEntry
from megacpp_assets.repos.upstream import references, tags
from megacpp_assets.repos.upstream.tags import upstream_tags, version_order
from tests.repos.git_tree import commit, git


def _names(entry: CatalogueEntry, root: Path) -> list[str]:
    return [tag.name for tag in upstream_tags(entry, root)]


def test_releases_come_in_the_order_of_their_versions_and_nothing_else_comes(
    entry: CatalogueEntry, upstream: Path, root: Path
) -> None:
    releases = ("v9.0", "v10.0", "v10.0.1", "llvmorg-19.1.0", "2024.08.05.00", "boost-1.86.0")
    for name in (*releases, "v10.0-rc1", "nightly", "v3/beta", "x@1", "v1,2"):
        git(upstream, "tag", name)
    expected = ["v1", "boost-1.86.0", "v9.0", "v10.0", "v10.0.1", "llvmorg-19.1.0", "2024.08.05.00"]
    assert _names(entry, root) == expected


def test_a_repository_says_itself_what_is_a_release(entry: CatalogueEntry, upstream: Path, root: Path) -> None:
    for name in ("v2.0-rc1", "v2.0", "v2.0-rc2"):
        git(upstream, "tag", name)
    chosen = CatalogueEntry("lib", entry.url, "v1", tags=r"v2\..*")
    assert _names(chosen, root) == ["v2.0-rc1", "v2.0-rc2", "v2.0"]


def test_what_is_no_regular_expression_is_rejected() -> None:
    with pytest.raises(SpecError, match=r"repo\.lib\.tags; expected a regular expression; found '\('"):
        CatalogueEntry("lib", "/srv/lib", "v1", tags="(")


def test_a_tag_with_a_message_has_the_commit_that_it_names_in_the_end(
    entry: CatalogueEntry, upstream: Path, root: Path
) -> None:
    (tag,) = upstream_tags(entry, root)
    assert tag.commit == git(upstream, "rev-parse", "v1^{commit}") != git(upstream, "rev-parse", "v1")
    moved = commit(upstream, {"src/lib.cc": b"int answer() { return 43; }\n"}, "v1")
    assert [tag.commit for tag in upstream_tags(entry, root)] == [moved]


@given(st.lists(st.text("0123456789v._-rcbe", min_size=1, max_size=12), max_size=20))
def test_any_tags_have_one_order(names: list[str]) -> None:
    in_order = sorted(names, key=version_order)
    names.reverse()
    assert sorted(names, key=version_order) == in_order


def test_too_many_references_are_rejected_and_not_held(
    entry: CatalogueEntry, upstream: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(references, "MOST_REFERENCES", 50)
    head = git(upstream, "rev-parse", "HEAD")
    packed = "".join(f"{head} refs/tags/v2.{number}\n" for number in range(60))
    (upstream / ".git" / "packed-refs").write_text(f"# pack-refs with: peeled fully-peeled sorted \n{packed}")
    with pytest.raises(OverLimit, match="expected at most 50 references; found more"):
        upstream_tags(entry, root)


def test_more_releases_than_any_repository_has_are_rejected_with_the_way_to_say_which_are(
    entry: CatalogueEntry, upstream: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tags, "MOST_RELEASES", 3)
    for number in range(3):
        git(upstream, "tag", f"v2.{number}")
    with pytest.raises(OverLimit, match=r"releases of lib; expected at most 3 tags .*; found more; .*tags of"):
        upstream_tags(entry, root)
    assert len(upstream_tags(CatalogueEntry("lib", entry.url, "v1", tags=r"v2.*"), root)) == 3


def test_a_mirror_that_is_gone_or_never_answers_is_named(
    entry: CatalogueEntry, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEGACPP_GIT_MIRROR", f"{tmp_path}/{{owner}}/{{name}}")
    with pytest.raises(SourceUnreachable, match="MEGACPP_GIT_MIRROR"):
        upstream_tags(CatalogueEntry("lib", "https://github.com/nobody/lib", "v1"), root)
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nexec sleep 600\n")
    slow.chmod(slow.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{slow.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(references, "_SECONDS", 0.2)
    assert str(slow.parent) in git_module.environment()["PATH"]
    with pytest.raises(SourceUnreachable, match=r"still running after 0\.2 s"):
        upstream_tags(entry, root)
