"""`megacpp lock promote`: mixtures take another reference once it is made and as it was before; all is recorded."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import dagster as dg
import pytest

from megacpp_assets.defs.home.instance import open_instance
from megacpp_assets.defs.keys import key_of
from megacpp_assets.pipeline.corpus import open_corpus
from megacpp_assets.pipeline.pins.promotion import promote_by_policy
from megacpp_assets.pipeline.stages import REPOSITORY_STAGES
from megacpp_assets.quality.shared.release import CHECKS
from megacpp_assets.storage.root.lock_file import lock_history, lock_notes
from tests.cli.commands import exit_code
from tests.cli.conftest import make_root, make_upstream
from tests.repos.git_tree import commit

LITTLE = (
    b"int one() { return 1; }\n" + b"// " + b"nothing here but a comment that is long enough to be kept " * 5 + b"\n"
)


def _megacpp(monkeypatch: pytest.MonkeyPatch, root: Path, *words: str) -> int | str | None:
    return exit_code(monkeypatch, *words, "--data-root", str(root))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a data root: lib@v1.0, which mixtures read, and lib@v1.1 made; of v3.0 nearly nothing is left."""
    folder = tmp_path_factory.mktemp("made")
    upstream = make_upstream(folder)
    for name in ("lib.cc", "more0.cc", "more1.cc", "more2.cc"):
        (upstream / name).unlink()
    commit(upstream, {"lib.cc": LITTLE}, "v3.0")
    with pytest.MonkeyPatch.context() as monkeypatch:
        root = make_root(folder, upstream, monkeypatch)
        assert not _megacpp(monkeypatch, root, "backfill", "--repo", "lib", "--tags", "v1.*,v3.0")
    return folder


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    """A copy of that root, beside its recipe."""
    return shutil.copytree(made, tmp_path / "copy", symlinks=True) / "data"


def test_a_release_that_is_made_and_as_before_is_promoted_and_who_and_why_are_kept(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LOGNAME", "ada")
    before = open_corpus(root).lock
    assert not _megacpp(monkeypatch, root, "lock", "promote", "lib@v1.1", "--why", "fixes parsing")
    assert "lib: v1.0" in capsys.readouterr().out
    after = open_corpus(root).lock
    assert after.pin("lib").ref == "v1.1" and "v1.0" in {pin.ref for pin in after.beside}
    number, earlier = lock_history(root)[-1]
    assert earlier.datasets["mine"] == before
    note = lock_notes(root)[number]
    assert (note["promoted"], note["who"], note["why"], note["checked"]) == ("lib@v1.1", "ada", "fixes parsing", True)
    assert set(note["checks"]) >= {"stages_current", "documents_hold", "failed_units_listed"}
    capsys.readouterr()
    assert not _megacpp(monkeypatch, root, "lock", "history")
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "lib@v1.1 promoted by ada" in line]
    assert re.match(rf"after state {number}, 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC: lib@v1.1 promoted by ada, ", line)


def test_a_release_that_became_nearly_empty_is_rejected_unless_somebody_answers_for_it(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (root / "corpus.lock").read_bytes()
    assert _megacpp(monkeypatch, root, "lock", "promote", "lib@v3.0") == 1
    said = capsys.readouterr().err
    assert "promotion of lib@v3.0, check tokens_hold" in said or "check documents_hold" in said
    assert "before:" in said and "--unchecked" in said and (root / "corpus.lock").read_bytes() == before
    assert _megacpp(monkeypatch, root, "lock", "promote", "lib@v3.0", "--unchecked") == 2
    assert not _megacpp(monkeypatch, root, "lock", "promote", "lib@v3.0", "--unchecked", "--why", "upstream moved it")
    assert open_corpus(root).lock.pin("lib").ref == "v3.0"
    assert [note["checked"] for note in lock_notes(root).values() if "promoted" in note] == [False]


def _evaluations(root: Path, partition: str) -> dict[str, dg.AssetCheckEvaluation]:
    """Check -> its outcome for the token-level documents of `partition`, as Dagster's page of it shows them."""
    key, shown = key_of("mine", REPOSITORY_STAGES[-1], partition)
    kind = dg.DagsterEventType.ASSET_CHECK_EVALUATION
    with open_instance(root) as instance:
        every = [
            record.event_log_entry.dagster_event.asset_check_evaluation_data
            for run_id in instance.get_run_ids()
            for record in instance.get_records_for_run(run_id, of_type=kind, limit=1000).records
            if record.event_log_entry.dagster_event
        ]
    return {check.check_name: check for check in every if (check.asset_key, check.partition) == (key, shown)}


def test_a_release_that_became_nearly_empty_has_a_warning_on_its_page_before_anybody_promotes_it(root: Path) -> None:
    odd, usual = _evaluations(root, "lib@v3.0"), _evaluations(root, "lib@v1.1")
    assert not odd["tokens_hold"].passed and all(usual[check.name].passed for check in CHECKS)
    assert odd["tokens_hold"].severity is dg.AssetCheckSeverity.WARN
    assert odd["tokens_hold"].metadata["compared with"].value == "lib@v1.0"
    assert " before: " in str(odd["tokens_hold"].metadata["found"].value)


def test_a_release_whose_stages_are_missing_or_stale_is_rejected_with_the_command_that_makes_them(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in (root / "receipts" / "parquet" / "mine").iterdir():
        file.unlink()
    assert _megacpp(monkeypatch, root, "lock", "promote", "lib@v1.1") == 1
    said = capsys.readouterr().err
    assert "stages_current" in said and "tokenized_parquet lib@v1.1" in said
    assert "megacpp run --refs lib@v1.1 --dataset mine" in said


@pytest.mark.parametrize("key", ["lib@v9", "lib@tip", "lib@../x", "lib", "other@v1.0", "lib@v1.1\x1b[2J"])
def test_what_the_dataset_does_not_know_is_rejected(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], key: str
) -> None:
    before = (root / "corpus.lock").read_bytes()
    assert _megacpp(monkeypatch, root, "lock", "promote", key) == 1
    said = capsys.readouterr().err
    assert "found" in said and "\x1b" not in said.replace("\x1b[31m", "").replace("\x1b[0m", "")
    assert (root / "corpus.lock").read_bytes() == before


def _with_policy(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = root.parent / "mine.toml"
    recipe.write_text(recipe.read_text() + '\n[promotion]\npolicy = "when_checked"\n')
    assert not _megacpp(monkeypatch, root, "run", "--recipe", str(recipe), "--until", "pinned_repos")


def test_with_the_policy_the_latest_release_is_promoted_by_itself_and_one_that_is_odd_is_not(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert promote_by_policy(open_corpus(root))[1:] == ([], [])
    _with_policy(root, monkeypatch)
    corpus, promoted, refused = promote_by_policy(open_corpus(root))
    assert (promoted, corpus.lock.pin("lib").ref) == ([], "v1.0")
    assert len(refused) == 1 and "lib@v3.0" in str(refused[0])


def test_a_history_that_was_cut_off_by_a_crash_has_no_note_of_a_change_that_never_was(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = len(lock_history(root)) + 1
    (root / "corpus.lock.d" / f"{number:06d}.json").write_text(json.dumps({"promoted": "never"}))
    assert number not in lock_notes(root)
    assert not _megacpp(monkeypatch, root, "lock", "promote", "lib@v1.1")
    assert lock_notes(root)[number]["promoted"] == "lib@v1.1"
