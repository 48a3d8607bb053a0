"""`megacpp cache`: what a pair holds, and arguments with which Megatron itself trains on it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from megacpp_assets.contract.megatron_files import BIN, prefix_name
from megacpp_assets.contract.names import TRAIN_SPLIT
from megacpp_assets.megatron.launch import sequence_counts
from megacpp_assets.megatron.pair.reader import open_bin_idx
from megacpp_assets.megatron.samples.blend import open_blend
from megacpp_assets.megatron.samples.index_cache import IndexCache, tokenizer_identifiers
from megacpp_assets.megatron.stage import run
from megacpp_assets.megatron.vocabulary import vocabulary_size_of
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.root.layout import LOCK_FILE
from tests.cli.commands import exit_code
from tests.megatron.pairs import megatron_spec, part, write_pair
from tests.packed.enriched_documents import DATASET

NAME = prefix_name(DATASET, TRAIN_SPLIT)
FEW = ["--num-samples", "20", "--seq-length", "16", "--split", "100"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    """Published bin/idx pairs in a data root, never changed in place."""
    root = tmp_path_factory.mktemp("root")
    (root / LOCK_FILE).touch()
    return run(megatron_spec(root))


def test_it_prints_what_a_pair_holds_and_arguments_ready_to_paste(
    made: Artifact, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prefix = made.directory / NAME
    assert exit_code(monkeypatch, "cache", "0.25", str(prefix), "0.75", str(prefix), *FEW) in (0, None)
    said = capsys.readouterr().out
    pair = open_bin_idx(prefix)
    assert said.startswith(f"{NAME}  documents {pair.documents:,}  tokens {len(pair.tokens):,}  int32\n")
    assert "training samples 20 of 16 tokens\n" in said
    words = said[said.index("--data-path") :].replace("\\\n", " ").split()
    assert words[:5] == ["--data-path", "0.25", str(prefix), "0.75", str(prefix)]
    flags = {
        "--reset-position-ids",
        "--reset-attention-mask",
        "--eod-mask-loss",
        "--no-masked-softmax-fusion",
        "--recompute-activations",
    }
    assert flags <= set(words)
    words = [word for word in words if word not in flags]
    options = dict(zip(words[5::2], words[6::2], strict=True))
    assert list(options) == [
        "--tokenizer-type", "--tokenizer-model", "--vocab-size", "--make-vocab-size-divisible-by",
        "--split", "--seq-length", "--seed", "--transformer-impl", "--data-cache-path",
    ]  # fmt: skip
    assert options["--tokenizer-type"] == "HuggingFaceTokenizer"
    assert Path(options["--tokenizer-model"]) == Path(options["--data-cache-path"]) / "tokenizer"
    assert Path(options["--data-cache-path"]).is_relative_to(made.root / "cache")


def test_the_blend_and_the_arguments_are_written_ready_to_paste(
    made: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prefix = made.directory / NAME
    words = ["cache", "0.25", str(prefix), "0.75", str(prefix), *FEW, "--write", str(tmp_path / "out")]
    assert exit_code(monkeypatch, *words) in (0, None)
    said = capsys.readouterr().out
    assert (tmp_path / "out/blend.txt").read_text() == f"0.25 {prefix} 0.75 {prefix}\n"
    assert said.endswith((tmp_path / "out/arguments.sh").read_text())
    assert "--vocab-size 9000 " in said and "--split 100 " in said


def test_fast_start_stores_the_maps_and_names_the_flags(
    made: Artifact, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prefix = made.directory / NAME
    flags = ["--fast-cache-load", "--defer-npy-index-mmap"]
    assert exit_code(monkeypatch, "cache", str(prefix), *FEW[:4], *flags) in (0, None)
    said = capsys.readouterr().out
    assert f"--train-data-path 1.0 {prefix} \\\n" in said and "--split" not in said
    assert "--dataloader-fast-cache-load \\\n--dataloader-defer-npy-index-mmap" in said
    cache = Path(said.partition("--data-cache-path ")[2].split()[0])
    tokenizer = tokenizer_identifiers(cache / "tokenizer")
    arguments = {"row_tokens": 16, "samples": 20, "seed": 1234, "split": None}
    fast = open_blend([(1.0, prefix)], **arguments, cache=IndexCache(cache, tokenizer, fast_load=True))
    built = open_blend([(1.0, prefix)], **arguments)
    assert [fast[n].tolist() for n in range(20)] == [built[n].tolist() for n in range(20)]


def test_counts_are_rejected_where_megatron_would_take_another_type_than_the_files(
    made: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prefix, counts = made.directory / NAME, tmp_path / "counts.json"
    assert vocabulary_size_of(made) <= 65_536
    assert exit_code(monkeypatch, "cache", str(prefix), *FEW, "--sequences", str(counts)) == 1
    assert "expected tokens of type uint16" in capsys.readouterr().err
    assert not counts.exists()
    pair = open_bin_idx(prefix)
    parsed = json.loads(sequence_counts({prefix: pair}, 131_072))
    assert parsed == {str(prefix): [pair.documents, pair.documents + 1]}


@pytest.mark.parametrize("blend", [["1.0", "{p}", "2.0"], ["{p}", "1.0"], ["one", "{p}"], ["0", "{p}"]])
def test_a_malformed_blend_is_exit_code_1(
    made: Artifact, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], blend: list[str]
) -> None:
    words = [word.format(p=made.directory / NAME) for word in blend]
    assert exit_code(monkeypatch, "cache", *words, *FEW) == 1
    assert "blend" in capsys.readouterr().err


def test_a_pair_without_a_manifest_or_with_other_bytes_is_rejected(
    made: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_pair(tmp_path / "x", [5, 9])
    assert exit_code(monkeypatch, "cache", str(tmp_path / "x"), *FEW) == 1
    said = capsys.readouterr().err
    assert "a manifest in its folder" in said and "in place of a merged pair, name those it was made of" in said
    root = Path(shutil.copytree(made.root, tmp_path / "root"))
    prefix = root / made.path / NAME
    with part(prefix, BIN).open("r+b") as file:
        file.write(b"\x09")
    assert exit_code(monkeypatch, "cache", str(prefix), *FEW) == 1
    assert f"{NAME}{BIN}" in capsys.readouterr().err


def test_a_name_that_no_pair_of_the_folder_has_is_rejected_with_the_closest_one(
    made: Artifact, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for wrong in (f"{NAME}ing", f"{NAME}{BIN}"):
        assert exit_code(monkeypatch, "cache", str(made.directory / wrong), *FEW) == 1
        said = capsys.readouterr().err
        assert f"did you mean `{NAME}`?" in said and "what to do: name a pair by its path without .bin" in said
