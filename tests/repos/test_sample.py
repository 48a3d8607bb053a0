"""The embedded sample becomes repositories whose commit ids are the same on every machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import megacpp_assets.sample
from megacpp_assets.repos.catalogue import load_catalogue
from megacpp_assets.repos.pins import pin
from megacpp_assets.repos.sample import TAGS, make_sample_repositories
from megacpp_assets.repos.upstream.references import remote_references

SAMPLE = Path(megacpp_assets.sample.__file__).parent / "repos"
QUICK = ("sample-expr", TAGS[-1])
"""The repository and tag that `make test` builds: the quickest of all. `make test-full` builds all of them."""


def test_the_eight_sample_repositories_are_those_of_the_catalogue(tmp_path: Path) -> None:
    assert make_sample_repositories(tmp_path) == sorted(load_catalogue("sample", tmp_path))


def test_every_sample_repository_has_two_tags_with_different_commits(tmp_path: Path) -> None:
    make_sample_repositories(tmp_path)
    for entry in load_catalogue("sample", tmp_path).values():
        references = dict(remote_references(entry.url, tmp_path))
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


def run(*command: str | Path) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("sample")
    make_sample_repositories(directory)
    return directory


@pytest.mark.parametrize(
    ("name", "tag"),
    [
        # Compiling all of them takes minutes, and they change only with the sample.
        pytest.param(name, tag, marks=[] if (name, tag) == QUICK else pytest.mark.campaign)
        for name in sorted(path.name for path in SAMPLE.iterdir())
        for tag in TAGS
    ],
)
def test_every_sample_repository_builds_and_passes_its_own_tests(
    name: str, tag: str, repositories: Path, tmp_path: Path
) -> None:
    import cmake  # which looks for its programs at once

    git_directory, tree, build = repositories / "sample_git" / f"{name}.git", tmp_path / "tree", tmp_path / "build"
    tree.mkdir()
    run("git", "--git-dir", git_directory, "archive", "--output", tmp_path / "tree.tar", tag)
    run("tar", "--extract", "--file", tmp_path / "tree.tar", "--directory", tree)
    programs = Path(cmake.CMAKE_BIN_DIR)
    run(programs / "cmake", "-G", "Unix Makefiles", "-DCMAKE_BUILD_TYPE=None", "-S", tree, "-B", build)
    run(programs / "cmake", "--build", build)
    assert "100% tests passed" in run(programs / "ctest", "--test-dir", build)
