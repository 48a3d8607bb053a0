"""The tokenizer behind an artifact is one, and the lock's; each fault names the artifact that has it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from megacpp_assets.contract.errors import LineageGap, TokenizerDrift
from megacpp_assets.contract.lock.corpus_lock import CorpusLock, TokenizerPin
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.storage.chain import tokenizers_of, wrong_tokenizer
from megacpp_assets.storage.root.lock_file import update_lock
from megacpp_assets.training.inputs import require_one_tokenizer
from tests.lineage.world import DATASET, World, corpus

ROWS, PAIR = (f"{folder}/{DATASET}/base/4k" for folder in ("packed", "megatron"))
CHECKPOINT = f"checkpoints/{DATASET}/base/4k/step_00000020"
TOKENIZER = f"tokenizer/{DATASET}"
ARTIFACTS = pytest.mark.parametrize("path", [ROWS, PAIR, CHECKPOINT])


@pytest.fixture
def world(tmp_path: Path) -> World:
    return corpus(tmp_path / "data")


def _pin(world: World, commit: str) -> None:
    sha256 = open_artifact(world.root, TOKENIZER).manifest.file("tokenizer.json").sha256
    lock = CorpusLock(DATASET, "", tokenizer=TokenizerPin(commit, sha256))
    update_lock(world.root, lambda file: file.with_corpus(lock))


def _mixed(world: World) -> None:
    """The rows of `base/4k` of two repositories, each of another tokenizer."""
    other = world.tokenizer("b" * 40, "cpp_raw/absl@1", dataset="other")
    enriched = world.repository("spdlog@1", tokenizer=other)
    world.checkpoint("base/4k", TOKENIZER, f"enriched/{DATASET}/fmt@11.0.0", enriched)


@ARTIFACTS
def test_one_tokenizer_that_the_lock_pins_is_right(world: World, path: str) -> None:
    _pin(world, "a" * 40)
    artifact = open_artifact(world.root, path)
    assert wrong_tokenizer(artifact) == ""
    assert {behind.commit for behind in tokenizers_of(artifact)} == {"a" * 40}


@ARTIFACTS
def test_a_chain_with_several_tokenizers_is_wrong_and_names_each(world: World, path: str) -> None:
    _mixed(world)
    found = wrong_tokenizer(open_artifact(world.root, path))
    assert re.match("several tokenizers: ", found)
    assert f"aaaaaaaaaaaa in parquet/{DATASET}/fmt@11.0.0" in found
    assert f"bbbbbbbbbbbb in parquet/{DATASET}/spdlog@1" in found


@ARTIFACTS
def test_a_chain_that_lags_the_lock_is_wrong(world: World, path: str) -> None:
    _pin(world, "c" * 40)
    found = wrong_tokenizer(open_artifact(world.root, path))
    assert re.fullmatch(r"tokenizer aaaaaaaaaaaa in \S+, where corpus.lock pins cccccccccccc", found)


def test_a_chain_without_a_tokenizer_is_wrong(world: World) -> None:
    assert wrong_tokenizer(open_artifact(world.root, "cpp_raw/fmt@11.0.0")) == "no tokenizer in its chain"


@ARTIFACTS
def test_a_tokenizer_that_was_replaced_below_the_chain_is_named(world: World, path: str) -> None:
    world.tokenizer("d" * 40, "cpp_raw/absl@1")
    with pytest.raises(LineageGap, match=rf"{TOKENIZER}; expected manifest .*; found manifest .*; what to do"):
        wrong_tokenizer(open_artifact(world.root, path))


def test_training_rejects_rows_of_another_tokenizer_before_its_first_step(world: World) -> None:
    pair, tokenizer = open_artifact(world.root, PAIR), open_artifact(world.root, TOKENIZER)
    require_one_tokenizer("base/4k", pair, tokenizer)
    other = open_artifact(world.root, world.tokenizer("b" * 40, "cpp_raw/absl@1", dataset="other"))
    with pytest.raises(
        TokenizerDrift, match=r"training of base/4k; expected rows of .*; found a{40} in its rows, b{40}"
    ):
        require_one_tokenizer("base/4k", pair, other)
    _pin(world, "c" * 40)
    with pytest.raises(TokenizerDrift, match=r"where corpus.lock pins cccccccccccc; what to do: run `megacpp run`"):
        require_one_tokenizer("base/4k", pair, tokenizer)
