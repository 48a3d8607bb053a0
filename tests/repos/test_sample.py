"""The embedded sample becomes repositories whose commit ids are the same on every machine."""

from __future__ import annotations

from pathlib import Path

from megacpp_assets.repos.catalogue import load_catalogue
from megacpp_assets.repos.pins import pin, remote_references
from megacpp_assets.repos.sample import TAGS, make_sample_repositories


def test_the_eight_sample_repositories_are_those_of_the_catalogue(tmp_path: Path) -> None:
    assert make_sample_repositories(tmp_path) == sorted(load_catalogue("sample", tmp_path))


def test_every_sample_repository_has_two_tags_with_different_commits(tmp_path: Path) -> None:
    make_sample_repositories(tmp_path)
    for entry in load_catalogue("sample", tmp_path).values():
        references = remote_references(entry.url, tmp_path)
        assert len({references[f"refs/tags/{tag}"] for tag in TAGS}) == len(TAGS)


def test_commit_ids_do_not_depend_on_the_folder(tmp_path: Path) -> None:
    roots = [tmp_path / "a", tmp_path / "b" / "longer"]
    ids = []
    for root in roots:
        root.mkdir(parents=True)
        make_sample_repositories(root)
        catalogue = load_catalogue("sample", root)
        ids.append([pin(catalogue[name], "v1.0.0", root).commit for name in sorted(catalogue)])
    assert ids[0] == ids[1]
