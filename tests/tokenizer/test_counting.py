"""Counting goes on where it was killed, and what is kept of it never changes the result."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.root.layout import tokenizer_path, words_cache_path
from megacpp_assets.storage.work import read_work
from megacpp_assets.tokenizer import counting
from megacpp_assets.tokenizer.counting import add_bytes, to_bytes
from megacpp_assets.tokenizer.stage import TokenizerSpec, run
from megacpp_assets.tokenizer.train import new_counter
from tests.tokenizer.conftest import RECIPE, REPO, add_words, native_sources, publish_raw, words_in

SPECS_FILES = len(native_sources())


class Killed(BaseException):
    """What a progress bar raises in the middle."""


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TokenizerSpec:
    """A corpus whose files are each a portion of its own."""
    monkeypatch.setattr(counting, "PORTION_BYTES", 1)
    publish_raw(tmp_path, {**native_sources(), "README.md": b"not selected"})
    return TokenizerSpec(tmp_path, "demo_v1", (REPO,), RECIPE)


def killed_after(files: int, spec: TokenizerSpec) -> None:
    def progress(done: int, total: int) -> None:
        if done > files:
            raise Killed

    with pytest.raises(Killed):
        run(spec, progress)


def test_counted_portions_are_not_counted_again_after_a_kill(published: Artifact, spec: TokenizerSpec) -> None:
    killed_after(3, spec)
    artifact = run(spec)
    assert read_work(artifact) == {"portions_counted": SPECS_FILES - 3, "portions_reused": 3}
    assert artifact.manifest.files == published.manifest.files


def test_kept_counts_are_not_read_from_the_repository(spec: TokenizerSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    killed_after(SPECS_FILES, spec)
    monkeypatch.setattr(counting, "blob_reader", None)
    assert read_work(run(spec)) == {"portions_counted": 0, "portions_reused": SPECS_FILES}


def test_a_damaged_entry_is_counted_again(published: Artifact, spec: TokenizerSpec) -> None:
    killed_after(SPECS_FILES, spec)
    entry = next(file for file in sorted((spec.root / words_cache_path()).rglob("*")) if file.is_file())
    entry.write_bytes(entry.read_bytes()[:-1] + b"?")
    artifact = run(spec)
    assert read_work(artifact) == {"portions_counted": 1, "portions_reused": SPECS_FILES - 1}
    assert artifact.manifest.files == published.manifest.files


def test_another_vocabulary_size_counts_nothing_and_other_whitespace_everything(spec: TokenizerSpec) -> None:
    run(spec)
    smaller, other = replace(RECIPE, vocabulary_size=7400), replace(RECIPE, whitespace="strict_runs")
    assert read_work(run(replace(spec, recipe=smaller)))["portions_counted"] == 0
    assert read_work(run(replace(spec, recipe=other)))["portions_reused"] == 0


def test_a_new_tag_counts_only_the_files_that_changed(spec: TokenizerSpec) -> None:
    run(spec)
    tag = RepoRef(REPO.name, "v1.0.1")
    changed = native_sources() | {"trainer.cpp": b"int changed = 1;\n"}
    publish_raw(spec.root, changed, tag)
    assert read_work(run(replace(spec, repos=(tag,))))["portions_counted"] == 1


def test_a_finished_tokenizer_needs_no_counts(spec: TokenizerSpec) -> None:
    before = run(spec)
    shutil.rmtree(spec.root / words_cache_path())
    assert run(spec).manifest == before.manifest
    assert not (spec.root / words_cache_path()).exists()
    shutil.rmtree(spec.root / tokenizer_path("demo_v1"))
    assert run(spec).manifest == before.manifest


@given(st.dictionaries(st.binary(min_size=1, max_size=40), st.integers(1, 2**40), max_size=20), st.integers(0, 3))
def test_counts_survive_being_kept(words: dict[bytes, int], times: int) -> None:
    kept, total = new_counter(RECIPE), new_counter(RECIPE)
    add_words(kept, words)
    for _ in range(times):
        add_bytes(total, to_bytes(kept))
    assert words_in(total) == {word: times * count for word, count in words.items() if times}


@pytest.mark.parametrize(
    ("data", "lengths", "counts"), [(b"ab", [1], [1]), (b"ab", [2], [1, 1]), (b"ab", [2], [0]), (b"ab", [2, 0], [1, 1])]
)
def test_words_that_do_not_fit_are_rejected(data: bytes, lengths: list[int], counts: list[int]) -> None:
    with pytest.raises(ValueError, match="word"):
        new_counter(RECIPE).add_words(data, np.array(lengths, np.uint32), np.array(counts, np.int64))
