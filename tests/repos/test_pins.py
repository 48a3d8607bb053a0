"""References become commits, and a moved tag is an error."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from megacpp_assets.contract.errors import SourcePinMismatch, SourceUnreachable, SpecError
from megacpp_assets.repos.catalogue import CatalogueEntry
from megacpp_assets.repos.pins import pin, verify_pin
from tests.repos.git_tree import commit, git


def test_an_annotated_tag_is_pinned_to_the_commit_it_names(entry: CatalogueEntry, upstream: Path, root: Path) -> None:
    made = pin(entry, "v1", root)
    assert made.commit == git(upstream, "rev-parse", "v1^{commit}")
    assert made.partition.key == "lib@v1"


def test_a_tip_is_resolved_once_and_keeps_its_commit(entry: CatalogueEntry, upstream: Path, root: Path) -> None:
    made = pin(entry, "tip", root)
    commit(upstream, {"new.cc": b"int x;\n"}, "v2")
    assert made.ref == f"tip-{made.commit[:12]}"
    verify_pin(made, root)


def test_a_branch_is_pinned_by_its_commit_never_by_its_name(entry: CatalogueEntry, root: Path) -> None:
    made = pin(entry, "main", root)
    assert made.git_ref == made.commit
    assert made.ref.startswith("tip-")


def test_a_moved_tag_is_an_error_that_names_both_commits(entry: CatalogueEntry, upstream: Path, root: Path) -> None:
    made = pin(entry, "v1", root)
    moved = commit(upstream, {"src/lib.cc": b"int answer() { return 43; }\n"}, "v1")
    with pytest.raises(SourcePinMismatch) as caught:
        verify_pin(made, root)
    assert made.commit in str(caught.value)
    assert moved in str(caught.value)


def test_an_unknown_reference_lists_the_newest_tags(entry: CatalogueEntry, root: Path) -> None:
    with pytest.raises(SpecError, match="tags v1"):
        pin(entry, "v9", root)


def test_an_unreachable_url_names_both_ways_out(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEGACPP_GIT_MIRROR", f"{tmp_path}/{{owner}}/{{name}}")
    with pytest.raises(SourceUnreachable, match=r"check the network.*MEGACPP_GIT_MIRROR"):
        pin(CatalogueEntry("lib", "https://github.com/nobody/lib", "v1"), "v1", root)


def test_a_local_path_without_a_repository_is_to_be_corrected_or_cloned(root: Path, tmp_path: Path) -> None:
    gone = CatalogueEntry("lib", str(tmp_path / "nowhere"), "v1")
    with pytest.raises(
        SourceUnreachable, match=r"correct the path in the command or .*, or clone the repository to that folder"
    ):
        pin(gone, "v1", root)


def test_one_reference_among_very_many_is_found_without_holding_the_others(
    entry: CatalogueEntry, upstream: Path, root: Path
) -> None:
    head = git(upstream, "rev-parse", "HEAD")
    packed = "".join(f"{head} refs/tags/v2.{number:05}\n" for number in range(30_000))
    (upstream / ".git" / "packed-refs").write_text(f"# pack-refs with: peeled fully-peeled sorted \n{packed}")
    tracemalloc.start()
    try:
        made = pin(entry, "v2.00007", root)
        verify_pin(made, root)
        with pytest.raises(SpecError, match=r"tags v2.29995, v2.29996, v2.29997, v2.29998, v2.29999"):
            pin(entry, "v9", root)
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert made.commit == head
    assert held < 1_500_000, "bytes, where a list of all has five million"


def test_the_newest_tags_that_are_listed_are_those_of_the_highest_versions(
    entry: CatalogueEntry, upstream: Path, root: Path
) -> None:
    for tag in ("8.0.0", "9.1.0", "10.2.1", "11.0.0", "v0.12.0"):
        git(upstream, "tag", tag)
    with pytest.raises(SpecError, match=r"found tags v1, 8\.0\.0, 9\.1\.0, 10\.2\.1, 11\.0\.0; "):
        pin(entry, "99", root)


def test_a_tag_with_slashes_is_a_partition_like_any_other(entry: CatalogueEntry, upstream: Path, root: Path) -> None:
    commit(upstream, {"new.cc": b"int x;\n"}, "releases/lib-2.0")
    made = pin(entry, "releases/lib-2.0", root)
    assert (made.git_ref, made.partition.key) == ("refs/tags/releases/lib-2.0", "lib@releases~lib-2.0")
    verify_pin(made, root)


def test_a_repository_of_sha256_objects_is_rejected_before_it_is_pinned(tmp_path: Path, root: Path) -> None:
    upstream = tmp_path / "sha256"
    upstream.mkdir()
    git(upstream, "init", "-q", "-b", "main", "--object-format=sha256")
    commit(upstream, {"a.cc": b"int a;\n"}, "v1")
    with pytest.raises(SpecError, match="repository lib; expected commits of 40 hexadecimal digits"):
        pin(CatalogueEntry("lib", str(upstream), "v1"), "v1", root)
