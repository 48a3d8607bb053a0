"""`megacpp backfill`: releases become partitions, once, at the commits that upstream names, and mixtures stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.pipeline.corpus import open_corpus
from tests.cli.commands import exit_code
from tests.cli.conftest import LONG, make_root, make_upstream
from tests.repos.git_tree import commit, git


@pytest.fixture
def root(lib_root: Path) -> Path:
    """A data root whose dataset `mine` reads lib@v1.0."""
    return lib_root


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same for tests that change nothing in it."""
    folder = tmp_path_factory.mktemp("unchanged")
    with pytest.MonkeyPatch.context() as patch:
        return make_root(folder, make_upstream(folder), patch)


def _backfill(monkeypatch: pytest.MonkeyPatch, root: Path, tags: str, *words: str) -> int | str | None:
    words = ("--repo", "lib", "--tags", tags, "--until", "semantic_jsonl", *words, "--data-root", str(root))
    return exit_code(monkeypatch, "backfill", *words)


def _files(root: Path) -> dict[Path, bytes]:
    """All but the cache of what was looked at."""
    files = (file for file in root.rglob("*") if file.is_file() and file.relative_to(root).parts[0] != "cache")
    return {file: file.read_bytes() for file in files}


def test_a_dry_run_says_what_would_be_made_and_changes_nothing(
    unchanged: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = _files(unchanged)
    assert not _backfill(monkeypatch, unchanged, "*", "--dry-run")
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [(line[0], line[2], line[5:]) for line in lines] == [
        ("lib@v1.0", "known", ["curated_files,", "semantic_jsonl"]),
        ("lib@v1.1", "new", ["pinned_repos,", "curated_files,", "semantic_jsonl"]),
        ("lib@v2.0", "new", ["pinned_repos,", "curated_files,", "semantic_jsonl"]),
    ]
    assert _files(unchanged) == before


def test_chosen_releases_are_made_once_beside_what_mixtures_read_and_a_tag_that_moved_changes_nothing(
    root: Path, upstream: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not _backfill(monkeypatch, root, "v1.1,v2.*")
    lock = open_corpus(root).lock
    assert [pin.ref for pin in lock.repos] == ["v1.0"]
    assert {pin.ref: pin.commit for pin in lock.beside} == {
        tag: git(upstream, "rev-parse", f"{tag}^{{commit}}") for tag in ("v1.1", "v2.0")
    }
    assert {folder.name for folder in (root / "jsonl" / "mine").iterdir()} == {"lib@v1.1", "lib@v2.0"}
    capsys.readouterr()
    assert not _backfill(monkeypatch, root, "v1.1,v2.*")
    said = capsys.readouterr().out
    assert said.count("nothing, complete") == 2 and "Nothing to do: 6 steps" in said
    _assert_a_moved_tag_is_named_and_its_documents_stay(root, upstream, monkeypatch, capsys)


def _assert_a_moved_tag_is_named_and_its_documents_stay(
    root: Path, upstream: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """lib@v1.1, which was made, becomes another commit upstream."""
    pinned = open_corpus(root).pin("lib@v1.1").commit
    made = {file: file.stat().st_mtime_ns for file in (root / "jsonl").rglob("*")}
    moved = commit(upstream, {"lib.cc": LONG + b"// other\n"}, "v1.1")
    capsys.readouterr()
    assert not _backfill(monkeypatch, root, "v1.1")
    said = capsys.readouterr()
    assert pinned in said.err and moved in said.err and "moved upstream" in said.err and "v1.1" not in said.out
    assert open_corpus(root).pin("lib@v1.1").commit == pinned
    assert {file: file.stat().st_mtime_ns for file in (root / "jsonl").rglob("*")} == made


def test_a_release_that_cannot_be_made_does_not_keep_the_others_from_it(
    root: Path, upstream: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commit(upstream, {"a/" * 300 + "deep.cc": LONG}, "v1.2")
    assert _backfill(monkeypatch, root, "v1.*") == 1
    assert "lib@v1.2\n  expected path_depth" in capsys.readouterr().err
    assert {folder.name for folder in (root / "jsonl" / "mine").iterdir()} == {"lib@v1.0", "lib@v1.1"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--repo", "lib", "--tags", "v9.*"), "tags 'v9.*' of lib\n  expected patterns of its releases upstream"),
        (
            ("--repo", "other", "--tags", "*"),
            "a pin of other\n  found those of lib\n  what to do: name other under repos of the dataset's recipe",
        ),
        (("--repo", "../lib", "--tags", "*"), "a pin of ../lib"),
        (("--repo", "lib", "--tags", "*", "--dataset", "none"), "dataset 'none'"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence_and_the_lock_stays(
    unchanged: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    said: str,
) -> None:
    before = (unchanged / "corpus.lock").read_bytes()
    assert exit_code(monkeypatch, "backfill", *words, "--data-root", str(unchanged)) == 1
    assert said in capsys.readouterr().err
    assert (unchanged / "corpus.lock").read_bytes() == before


def test_a_mirror_that_goes_away_in_the_middle_loses_nothing_and_the_same_command_continues(
    root: Path, upstream: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not _backfill(monkeypatch, root, "v1.1")
    gone = upstream.with_name("gone")
    upstream.rename(gone)
    assert _backfill(monkeypatch, root, "v*") == 1
    assert "correct the path in the command or in the catalogue" in capsys.readouterr().err
    gone.rename(upstream)
    assert not _backfill(monkeypatch, root, "v*")
    assert RepoRef("lib", "v2.0") in open_corpus(root).known_refs
    said = capsys.readouterr().out
    assert "lib@v1.0: 0 of 1 units parsed because of a change (0.0 %), 1 reused" in said
    assert "lib@v2.0: 2 of 4 units parsed because of a change (50.0 %), 2 reused" in said, (
        "those of v1.1 were parsed before"
    )
