"""`megacpp export` of mixtures: the layout of Megatron's launchers, a launcher, an OLMo mix."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import megacpp_assets
from megacpp_assets.contract.canonical import sha256_file
from megacpp_assets.contract.columns import TOKENIZER_CONFIG_FILE
from megacpp_assets.contract.tokens.specials import BOS_ID
from megacpp_assets.interop.mixture import MixtureData
from megacpp_assets.loader.grain.index import load_index
from megacpp_assets.megatron.pair.reader import open_bin_idx
from tests.cli.commands import exit_code

NAME = "clang_semantic_4k_v10"
PRETRAIN = "import json, os, sys; json.dump(sys.argv[1:], open(os.environ['SEEN'], 'w'))\n"
"""In place of Megatron-LM's, which needs a GPU: records its arguments."""


@pytest.fixture
def mixture(small_line: Path) -> MixtureData:
    return megacpp_assets.open(small_line, "base/4k")


def export(monkeypatch: pytest.MonkeyPatch, root: Path, *words: str) -> int | str | None:
    return exit_code(monkeypatch, "export", *words, "--data-root", str(root))


def test_flat_layout_has_the_names_of_launchers_and_the_bytes_of_the_artifact(
    small_line: Path, mixture: MixtureData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in ((), ("--copy",)):
        folder = tmp_path / f"out{len(words)}"
        assert not export(monkeypatch, small_line, "--megatron", str(folder), *words)
        for split in ("train", "valid"):
            source, made = mixture.megatron_prefix(split), folder / f"megatron/{NAME}_{split}"
            assert open_bin_idx(made).tokens.tolist() == open_bin_idx(source).tokens.tolist()
            assert made.with_suffix(".bin").samefile(source.with_suffix(".bin")) == (not words)
        tokenizer = folder / "tokenizer/tokenizer.json"
        assert tokenizer.read_bytes() == (mixture.tokenizer_folder / "tokenizer.json").read_bytes()
        checked = subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=folder, check=False)
        assert checked.returncode == 0
    assert json.loads((folder / f"{NAME}.json").read_bytes())["mixture"] == "base/4k"


def test_other_data_under_a_name_is_not_replaced(
    small_line: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"megatron/{NAME}_train.bin"
    path.parent.mkdir()
    path.write_bytes(b"mine")
    assert export(monkeypatch, small_line, "--megatron", str(tmp_path)) == 1
    assert "found another file" in capsys.readouterr().err
    assert path.read_bytes() == b"mine" and not (tmp_path / "tokenizer").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--launch", "h200"], "--megatron FOLDER with it"),
        (["--megatron", "{out}", "--launch", "abacus"], "h200"),
        (["base/4k"], "CHECKPOINT and FOLDER"),
        (["base/4k", "x", "--olmo", "{out}"], "a mixture alone"),
        (["base/9k", "--olmo", "{out}"], "mixture base/9k"),
    ],
)
def test_contradictory_options_are_rejected(
    small_line: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
) -> None:
    assert export(monkeypatch, small_line, *[word.format(out=tmp_path / "out") for word in words]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_launcher_runs_pretrain_gpt_on_the_exported_files(
    small_line: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, megatron = tmp_path / "a folder/data", tmp_path / "Megatron-LM"
    assert not export(monkeypatch, small_line, "--megatron", str(data), "--launch", "h200")
    megatron.mkdir()
    (megatron / "pretrain_gpt.py").write_text(PRETRAIN)
    seen = tmp_path / "seen.json"
    environment = {**os.environ, "MEGATRON_LM": str(megatron), "GPUS": "1", "PYTHON": sys.executable, "SEEN": str(seen)}
    script = data / "remote_smoke_h200.sh"
    moved = tmp_path / script.name
    moved.write_bytes(script.read_bytes())
    command = ["bash", str(moved), "--train-iters", "3"]
    missing = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert missing.returncode == 1 and "export the mixture again" in missing.stderr
    environment["REMOTE_ROOT"] = str(data.parent)
    subprocess.run(command, env=environment, check=True, capture_output=True)
    words = json.loads(seen.read_text())
    at = {word: place for place, word in enumerate(words)}
    assert words[at["--data-path"] + 1 : at["--data-path"] + 3] == ["1.0", str(data / f"megatron/{NAME}_train")]
    assert words[at["--split"] + 1] == "98,1,1" and words[at["--seq-length"] + 1] == "4096"
    assert words[at["--tokenizer-type"] + 1] == "HuggingFaceTokenizer"
    assert words[-2:] == ["--train-iters", "3"]
    dataset = open_bin_idx(Path(words[at["--data-path"] + 2]))
    tokenizer = Path(words[at["--tokenizer-model"] + 1])
    assert dataset.document(0)[0] == BOS_ID
    assert json.loads((tokenizer / TOKENIZER_CONFIG_FILE).read_bytes())["eos_token"] == "<BOS>"
    assert dataset.tokens.max() < int(words[at["--vocab-size"] + 1])


def test_olmo_mix_and_index_give_the_windows_of_the_pair(
    small_line: Path, mixture: MixtureData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from megacpp_assets.loader.grain.source import OlmoNpyDataSource

    folder = tmp_path / "mix"
    assert not export(monkeypatch, small_line, "base/4k", "--olmo", str(folder))
    for split in ("train", "valid"):
        label, _, path = (folder / f"{split}.txt").read_text().strip().partition(",")
        bin_path = mixture.megatron_prefix(split).with_suffix(".bin")
        assert label == "base_4k" and sha256_file(folder / path) == sha256_file(bin_path)
        tokens, index = np.fromfile(bin_path, "<u4"), load_index(folder / f"{split}_index.json")
        assert (index.sequence_length, index.total_tokens, index.dtype) == (4096, len(tokens), "uint32")
    index = load_index(folder / "train_index.json")
    last, tokens = index.total_instances - 1, np.fromfile(folder / "tokens" / f"{mixture.dataset}_train.npy", "<u4")
    window = OlmoNpyDataSource(index)[last]["tokens"]
    assert window.tolist() == tokens[last * 4096 : (last + 1) * 4096].tolist()
    assert export(monkeypatch, small_line, "--olmo", str(folder)) == 1
