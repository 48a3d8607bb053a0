"""The history of a repository: what the rules leave out is counted, and what goes wrong in one commit stays there."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.history import HistoryRecipe
from megacpp_assets.quality.commits import check
from megacpp_assets.repos.git import git
from megacpp_assets.storage.artifact import Artifact
from tests.commits.repository import history_of, listed, make_history

CODE = b"int one() { return 1; }\n"
SUBMODULES = (b"1" * 40, b"2" * 40)
COMMITS = [
    (
        "Start\n\nFixes #7\n\nSigned-off-by: A Person <a.person@example.org>",
        {"a.cpp": CODE, "place.c": CODE, "r.md": b"x"},
    ),
    ("Add b, thanks to Jane Roe", {"b.cpp": CODE * 3, "lib@": SUBMODULES[0]}),
    ("The file becomes a folder", {"place.c": None, "place.c/x.h": b"struct Other { char name[8]; };\n"}),
    ("Rename b", {"b.cpp": None, "src/c.cpp": CODE * 3 + b"int two();\n"}),
    ("Move the submodule", {"lib@": SUBMODULES[1]}),
    ("Bump version to 2.0", {"a.cpp": CODE + b"// 2.0\n"}),
    ("Reformat everything", {"a.cpp": CODE + b"  // 2.0\n"}),
    ("Import five files", {f"many/{number}.cpp": CODE for number in range(5)}),
    ("Update a copy", {"third_party/z/z.c": CODE, "gen.pb.cc": CODE}),
    ("Merge three branches", {"a.cpp": CODE * 2}, (2, 3)),
    ("Delete a", {"a.cpp": None}),
]


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("upstream") / "lib"
    make_history(directory, COMMITS)
    return directory


@pytest.fixture(scope="module")
def history(upstream: Path, tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    return history_of(upstream, tmp_path_factory.mktemp("data"), HistoryRecipe(most_files=4))


def test_every_commit_is_listed_or_counted_by_its_rule(history: Artifact) -> None:
    stats = history.manifest.stats
    assert [commit.subject for commit in listed(history)] == [
        "Delete a", "Rename b", "The file becomes a folder", "Add b,", "Start",
    ]  # fmt: skip
    assert stats["commits_left_out"] == {
        "mass change": 1, "merge": 1, "no C or C++ change left": 1, "reformatting": 1, "submodule update": 1,
        "version bump": 1,
    }  # fmt: skip
    assert stats["changes_left_out"] == {
        "generated path": 1, "not C or C++": 1, "submodule": 1, "vendored path": 1,
    }  # fmt: skip
    assert all(result.passed for result in check(history))


def test_messages_keep_fixes_trailers_and_lose_persons(history: Artifact) -> None:
    first = listed(history)[-1]
    assert (first.subject, first.body) == ("Start", "Fixes #7")


def test_root_commit_deletion_and_rename_are_changes_with_the_names_of_the_file(history: Artifact) -> None:
    by_subject = {commit.subject: commit.changes for commit in listed(history)}
    (added,), (renamed,), (deleted,) = (by_subject[name] for name in ("Add b,", "Rename b", "Delete a"))
    assert [change.status for change in by_subject["Start"]] == ["A", "A"]
    assert (renamed.status, renamed.old_path, renamed.path) == ("R", "b.cpp", "src/c.cpp")
    assert added.names == renamed.names == ("b.cpp", "src/c.cpp")
    assert (added.file_index, renamed.file_index) == (0, 1)
    assert (deleted.status, deleted.blob_post) == ("D", "")


def test_parents_that_were_not_fetched_are_counted(upstream: Path, tmp_path: Path) -> None:
    shallow = tmp_path / "lib"
    git("init", "--bare", "--quiet", str(shallow))
    git("fetch", "--quiet", "--depth=2", str(upstream), "+refs/tags/v1:refs/tags/v1", git_dir=shallow)
    stats = history_of(shallow, tmp_path / "data", HistoryRecipe(most_commits=0)).manifest.stats
    assert (stats["commits_seen"], stats["shallow_commits"]) == (2, 1)
    assert stats["commits_left_out"] == {"parent not fetched": 1}


@pytest.mark.parametrize(
    ("recipe", "commits"),
    [
        (HistoryRecipe(most_commits=2), ["Delete a"]),
        (HistoryRecipe(paths=("src/*",)), ["Rename b"]),
        (HistoryRecipe(since="2100-01-01"), None),
    ],
)
def test_bounds_of_the_recipe_hold(
    upstream: Path, tmp_path: Path, recipe: HistoryRecipe, commits: list[str] | None
) -> None:
    if commits is None:
        with pytest.raises(
            SpecError, match=r"^history of lib@v1; expected at least one commit .* found none of 0 commits"
        ):
            history_of(upstream, tmp_path, recipe)
        assert not (tmp_path / "commits").exists() or not list((tmp_path / "commits").rglob("*.zst"))
    else:
        assert [commit.subject for commit in listed(history_of(upstream, tmp_path, recipe))] == commits


def test_denied_commit_is_not_listed_and_history_bytes_do_not_depend_on_the_run(
    upstream: Path, history: Artifact, tmp_path: Path
) -> None:
    again = history_of(upstream, tmp_path / "one", HistoryRecipe(most_files=4))
    assert again.manifest.sha256 == history.manifest.sha256
    denied = listed(history)[0].commit
    found = history_of(upstream, tmp_path / "two", HistoryRecipe(denied_commits=(f"lib:{denied}",)))
    assert found.manifest.stats["commits_left_out"]["denied commit"] == 1


def test_a_denied_commit_that_is_not_in_the_history_is_named_in_a_warning(upstream: Path, tmp_path: Path) -> None:
    known = git("rev-parse", "v1~1", git_dir=upstream).decode().strip()
    recipe = HistoryRecipe(most_files=4, denied_commits=(f"lib:{known}", f"lib:{'0' * 40}", f"other:{'1' * 40}"))
    (warning,) = [result for result in check(history_of(upstream, tmp_path, recipe)) if not result.passed]
    assert (warning.name, warning.blocking) == ("denied_commits_are_known", False)
    assert warning.found == f"1 that are not: lib:{'0' * 40}"


def test_a_first_tag_that_a_repository_lacks_is_an_error_that_names_the_key(upstream: Path, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"history.since 'v9'; expected a tag that .*no such tag of lib"):
        history_of(upstream, tmp_path, HistoryRecipe(since="v9"))
