"""`megacpp tokenizer`, as a user types it: train on what is pinned, compare with the reference, look, pin."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import dagster as dg
import pytest

from megacpp_assets.contract.lock.corpus_lock import TokenizerPin
from megacpp_assets.defs.home.instance import open_instance
from megacpp_assets.defs.recording.recorded_run import COMMAND_TAG
from megacpp_assets.pipeline.alone import only_run
from megacpp_assets.pipeline.corpus import open_corpus
from megacpp_assets.storage.root.layout import words_cache_path
from tests.pipeline.roots import command, environment, megacpp_here, succeed

pytestmark = pytest.mark.line


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A data root whose tokenizer was trained on one repository, and the commit of that tokenizer."""
    root = tmp_path_factory.mktemp("tokenizers") / "data"
    succeed(root, "run", "--repos", "sample-kernel", "--until", "pinned_repos")
    found = re.search(r"\b[0-9a-f]{40}\b", succeed(root, "tokenizer", "train"))
    assert found is not None
    return root, found[0]


def test_training_needs_no_more_than_the_pinned_sources(trained: tuple[Path, str]) -> None:
    root, commit = trained
    assert not (root / "jsonl").exists()
    page = succeed(root, "tokenizer", "show")
    assert commit in page
    assert "| round-trip failures | 0 |" in page


def test_the_reference_gives_the_same_ids_for_every_file(trained: tuple[Path, str]) -> None:
    said = succeed(trained[0], "tokenizer", "agree")
    assert re.fullmatch(r"\d+ documents, [\d,]+ tokens: 0 documents differ\n", said)


def test_longest_match_is_measured_to_be_another_model(trained: tuple[Path, str]) -> None:
    differing, documents = re.findall(r"\d+", succeed(trained[0], "tokenizer", "trie").splitlines()[0])
    assert 0 < int(differing) <= int(documents)


def _pinned(root: Path) -> TokenizerPin | None:
    return open_corpus(root).lock.tokenizer


@pytest.fixture(scope="module")
def tagged(trained: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That root after a new tag was pinned: training would give another tokenizer now."""
    root = Path(shutil.copytree(trained[0], tmp_path_factory.mktemp("tagged") / "data"))
    succeed(root, "lock", "promote", "sample-kernel@v1.1.0", "--unchecked", "--why", "to see")
    succeed(root, "run", "--repos", "sample-kernel", "--until", "pinned_repos")
    return root


@pytest.fixture
def moved(tagged: Path, tmp_path: Path) -> Path:
    """A copy of it to change."""
    return Path(shutil.copytree(tagged, tmp_path / "data"))


def test_training_that_fails_leaves_the_pin_and_the_next_run_keeps_to_it(
    moved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, before = moved, _pinned(moved)
    assert before is not None
    with monkeypatch.context() as patched:
        patched.setenv("MEGACPP_TOKENIZER_DEVICE", "nonsense")
        done = megacpp_here(root, "tokenizer", "train")
    assert (done.returncode, "MEGACPP_TOKENIZER_DEVICE" in done.stderr) == (1, True)
    assert _pinned(root) == before
    succeed(root, "run", "--repos", "sample-kernel", "--until", "tokenizer")
    assert _pinned(root) == before
    assert f"{before.commit} (pinned)" in succeed(root, "tokenizer", "show")


def _words(root: Path) -> int:
    """Portions whose words were counted: training has begun when there is one more, and merging has not."""
    return sum(1 for file in (root / words_cache_path()).rglob("*") if file.is_file())


def test_training_that_is_killed_leaves_the_pin(moved: Path) -> None:
    root, before = moved, _pinned(moved)
    assert before is not None
    process = subprocess.Popen(command("tokenizer", "train"), env=environment(root), start_new_session=True)
    counted = _words(root)
    while _words(root) == counted and process.poll() is None:
        time.sleep(0.002)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "the training ended before it was killed"
    assert _pinned(root) == before
    assert f"{before.commit} (pinned)" in succeed(root, "tokenizer", "show")


def test_training_anew_replaces_the_pin_and_the_old_one_is_compared_pinned_and_restored(moved: Path) -> None:
    root, before = moved, _pinned(moved)
    succeed(root, "tokenizer", "train")
    after = _pinned(root)
    assert after is not None and before is not None
    assert after.commit != before.commit and after.repos == ("sample-kernel@v1.1.0",)
    assert f"{after.commit} (pinned)" in succeed(root, "tokenizer", "show")
    said = succeed(root, "tokenizer", "diff", before.commit, after.commit[:12])
    assert int(said.split()[0]) > 0 and "same recipe" in said
    assert before.commit in succeed(root, "tokenizer", "pin", before.commit[:12])
    assert _pinned(root) == before
    assert f"{before.commit} (pinned)" not in succeed(root, "tokenizer", "show")
    succeed(root, "run", "--repos", "sample-kernel", "--until", "tokenizer")
    assert f"{before.commit} (pinned)" in succeed(root, "tokenizer", "show")


@pytest.mark.parametrize("words", [("train",), ("pin", "0")])
def test_no_tokenizer_is_trained_or_pinned_while_a_run_is_at_work(moved: Path, words: tuple[str]) -> None:
    root = moved
    with open_instance(root) as instance:
        live = dg.DagsterRun("train_tokenizer", status=dg.DagsterRunStatus.STARTED, tags={COMMAND_TAG: "run"})
        instance.add_run(live)
    with only_run(root):
        done = megacpp_here(root, "tokenizer", *words)
    assert (done.returncode, "no other run" in done.stderr) == (1, True)
    with open_instance(root) as instance:
        run = instance.get_run_by_id(live.run_id)
    assert run is not None and run.status is dg.DagsterRunStatus.STARTED


def test_a_command_before_anything_is_pinned_says_what_to_run(tmp_path: Path) -> None:
    done = megacpp_here(tmp_path, "tokenizer", "show")
    assert done.returncode == 1
    assert "megacpp run" in done.stderr
