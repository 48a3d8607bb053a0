"""Opting out: a repository or files of one leave a dataset for good, what contained them is made without them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.lock.removal import Removal
from megacpp_assets.contract.names import DOCUMENT_TOKENS
from megacpp_assets.lineage.history import read_history
from megacpp_assets.lineage.queries import that_saw
from megacpp_assets.pipeline.corpus import open_corpus
from megacpp_assets.pipeline.pins.pinning import add_pins
from megacpp_assets.pipeline.pins.removal import made_steps, remove
from megacpp_assets.pipeline.steps import Step
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.storage.jsonl import read_records
from megacpp_assets.storage.root.lock_file import lock_history, lock_notes
from megacpp_assets.tokenizer import stage as tokenizer
from tests.cli.commands import exit_code
from tests.pipeline.roots import data_hashes, succeed

pytestmark = pytest.mark.line

CHECKPOINT = "checkpoints/mine/base/8k/step_00000004"
FILE = "src/float.cpp"
"""Of sample-format, in all its tags."""


@pytest.fixture(scope="module")
def made(own_line: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a recipe and the data root that it filled: two repositories, two mixtures."""
    return shutil.copytree(own_line.parent, tmp_path_factory.mktemp("made") / "copy", symlinks=True)


@dataclass(frozen=True, slots=True)
class Without:
    """What `megacpp remove` said, and the hashes of before, where it took a repository out of a copy of that folder."""

    folder: Path
    said: str
    before: dict[str, str]

    @property
    def root(self) -> Path:
        """Its data root."""
        return self.folder / "data"


@pytest.fixture(scope="module")
def without(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Without:
    folder = shutil.copytree(made, tmp_path_factory.mktemp("without") / "copy", symlinks=True)
    before = data_hashes(folder / "data")
    return Without(folder, _run(folder, "remove", "--repo", "drivers", "--reason", "its owner asked"), before)


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy of that folder, nothing removed."""
    return shutil.copytree(made, tmp_path / "copy", symlinks=True)


def _run(folder: Path, *words: str) -> str:
    return succeed(folder / "data", *words)


def _texts(root: Path, path: str) -> Iterator[str]:
    for record in read_records(open_artifact(root, path), DOCUMENT_TOKENS):
        yield json.dumps(record, default=np.ndarray.tolist)


def test_a_removed_repository_is_in_no_mixture_and_what_did_not_contain_it_stays_as_it_was(without: Without) -> None:
    assert "2 checkpoints saw drivers" in without.said and f"{CHECKPOINT}  in its rows" in without.said
    packed = open_artifact(without.root, "packed/mine/base/8k").manifest
    assert [entry.path for entry in packed.inputs] == ["enriched/mine/text@v1.0.0"]
    now = data_hashes(without.root)
    changed = {name.split("/")[0] for name, sha256 in now.items() if without.before.get(name, sha256) != sha256}
    assert changed == {"corpus.lock", "packed", "megatron", "checkpoints"}
    assert "verified: true" in without.said and open_corpus(without.root).specialists == ("base",)


def test_after_a_removal_a_run_has_nothing_to_do_and_asking_for_it_again_is_rejected_with_the_reason(
    without: Without, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEGACPP_DATA_ROOT", str(without.root))
    recipe = ("--recipe", str(without.folder / "mine.toml"))
    assert "Nothing to do" in _run(without.folder, "run", *recipe)
    for words in (
        ("run", *recipe, "--repos", "drivers,text", "--set", "dataset=mine"),
        ("run", "--refs", "drivers@v1.1.0"),
        ("backfill", "--repo", "drivers", "--tags", "*"),
        ("lock", "promote", "drivers@v1.1.0"),
    ):
        assert exit_code(monkeypatch, *words) == 1
        assert "removed from it: its owner asked" in capsys.readouterr().err


def test_the_checkpoints_of_before_say_that_they_saw_it(without: Without) -> None:
    uses = that_saw(read_history(without.root), "drivers").uses
    assert sorted((use.path, use.how, use.lies) for use in uses) == [
        (CHECKPOINT, "in its rows", False),
        (CHECKPOINT, "in its tokenizer alone", True),
        (CHECKPOINT.replace("base", "low_level"), "in its rows", True),
    ]
    _run(without.folder, "audit", "low_level/8k")  # one of before that nothing replaced is verified as it was
    assert "low_level/8k" in without.said.partition("still in")[2]


def test_who_removed_what_and_why_is_in_the_lock_and_its_history(without: Without) -> None:
    ((number, note),) = [(number, note) for number, note in lock_notes(without.root).items() if "removed" in note]
    assert dict(lock_history(without.root))[number].datasets["mine"].pin("drivers")
    assert (note["removed"], note["why"]) == ("drivers", "its owner asked")
    assert "drivers removed by" in _run(without.folder, "lock", "history")
    assert "removed: its owner asked" in _run(without.folder, "lock", "show")


def test_a_dry_run_says_which_mixture_no_run_makes_any_more(made: Path) -> None:
    said = _run(made, "remove", "--repo", "drivers", "--reason", "its owner asked", "--dry-run")
    assert "to make again: packed_rows base/8k\n" in said and "to make again: packed_rows low_level/8k" not in said
    assert "no longer made, kept for audits: low_level/8k\n" in said


def test_a_tag_that_was_found_before_the_removal_does_not_bring_it_back(folder: Path) -> None:
    corpus = open_corpus(folder / "data")
    pin = corpus.lock.pin("drivers")
    remove(corpus, Removal("drivers", "", "its owner asked"), who="ada")
    assert add_pins(corpus, [pin]).lock.known == (open_corpus(folder / "data").lock.pin("text"),)


def test_a_removed_file_is_in_no_document_of_any_tag_and_the_rest_of_its_repository_stays(folder: Path) -> None:
    root = folder / "data"
    before = data_hashes(root)
    assert any(FILE in text for text in _texts(root, "jsonl/mine/text@v1.0.0"))
    said = _run(folder, "remove", "--path", f"text:{FILE}", "--reason", "a licence of another kind")
    assert "2 checkpoints saw text" in said and "verified: true" in said
    _run(folder, "run", "--refs", "text@v1.1.0", "--until", "semantic_jsonl")
    for ref in ("v1.0.0", "v1.1.0"):
        artifact = open_artifact(root, f"jsonl/mine/text@{ref}")
        texts = list(_texts(root, artifact.path))
        assert texts and not any(FILE in text for text in texts)
        assert artifact.manifest.stats["skipped"]["removed"] == 1
    changed = {name for name, sha256 in data_hashes(root).items() if before.get(name) not in (None, sha256)}
    assert {name.split("/")[0] for name in changed} == {
        "corpus.lock", "jsonl", "parquet", "enriched", "packed", "megatron", "checkpoints",
    }  # fmt: skip
    assert not [name for name in changed if "drivers@" in name]
    assert "Nothing to do" in _run(folder, "run", "--recipe", str(folder / "mine.toml"))


def test_a_tokenizer_that_is_trained_after_a_removal_reads_none_of_it(folder: Path) -> None:
    corpus = open_corpus(folder / "data")
    every = tokenizer.run(tokenizer.spec(corpus.unpinned(), "mine")).manifest
    without_file = remove(corpus, Removal("text", FILE, "a licence of another kind"), who="ada").unpinned()
    less = tokenizer.run(tokenizer.spec(without_file, "mine")).manifest
    assert less.stats["documents"] == every.stats["documents"] - 1
    without = remove(corpus, Removal("drivers", "", "its owner asked"), who="ada").unpinned()
    assert [entry.path for entry in tokenizer.run(tokenizer.spec(without, "mine")).manifest.inputs] == [
        "cpp_raw/text@v1.0.0"
    ]


def test_steps_that_would_run_again_are_reported_first_on_request_and_nothing_changes(folder: Path) -> None:
    before = (folder / "data" / "corpus.lock").read_bytes()
    said = _run(folder, "remove", "--path", f"text:{FILE}", "--reason", "a test", "--dry-run")
    to_make = [line.removeprefix("to make again: ") for line in said.splitlines() if line.startswith("to make again")]
    assert to_make == [
        "semantic_jsonl text@v1.0.0", "tokenized_parquet text@v1.0.0", "v6_enriched text@v1.0.0",
        *(f"{stage} {name}/8k" for stage in ("packed_rows", "megatron_bin_idx", "trained_checkpoint")
          for name in ("base", "low_level")),
    ]  # fmt: skip
    assert (folder / "data" / "corpus.lock").read_bytes() == before


def test_the_last_repository_of_a_dataset_may_go_too(folder: Path) -> None:
    for name in ("drivers", "text"):
        corpus = remove(open_corpus(folder / "data"), Removal(name, "", "its owner asked"), who="ada")
    assert not corpus.repo_refs and not list[Step](made_steps(corpus))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--repo", "absent"), "removal from mine: repository 'absent'\n  expected one of drivers, text"),
        (
            ("--path", "text:nowhere/*"),
            "removal of text:nowhere/\\* from mine\n  expected a pattern .* takes one of its",
        ),
        (("--path", "absent:src/*"), "repository 'absent'\n  expected one of drivers, text"),
        (("--path", "text"), "--path\n  expected NAME:PATTERN\n  found 'text'"),
        (("--repo", "../text"), "expected NAME@REF of letters"),
        (("--repo", "text", "--reason", "a\x1b[31m"), "reason of a removal\n  expected characters that print"),
        (("--repo", "text", "--reason", " "), "removal of text\n  expected a reason\n  found none"),
    ],
)
def test_what_cannot_be_removed_is_named(
    made: Path,
    words: tuple[str, ...],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MEGACPP_DATA_ROOT", str(made / "data"))
    before = data_hashes(made / "data")
    assert exit_code(monkeypatch, "remove", "--reason", "r", *words) == 1
    with pytest.raises(SpecError, match=message):
        raise SpecError(capsys.readouterr().err.removeprefix("error: ").strip())
    assert data_hashes(made / "data") == before
