"""`megacpp verify`: ids are judged by the vocabulary that made them, and the exit code says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from megacpp_assets.contract.megatron_files import BIN, prefix_name
from megacpp_assets.contract.names import TRAIN_SPLIT
from megacpp_assets.megatron.stage import run
from megacpp_assets.megatron.vocabulary import vocabulary_size_of
from megacpp_assets.storage.artifact import Artifact
from tests.cli.commands import exit_code
from tests.megatron.pairs import megatron_spec, part, write_pair
from tests.packed.enriched_documents import DATASET


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    """Published bin/idx pairs; each test plants its own id in the first place."""
    return run(megatron_spec(tmp_path_factory.mktemp("root")))


def _plant(prefix: Path, token: int) -> Path:
    tokens = np.memmap(part(prefix, BIN), "<u4", "r+")
    tokens[0] = token
    tokens.flush()
    return prefix


@pytest.mark.parametrize(("beyond", "code"), [(-1, 0), (0, 1), (1, 1)])
def test_an_id_outside_the_vocabulary_of_its_manifest_is_exit_code_1(
    made: Artifact, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], beyond: int, code: int
) -> None:
    size = vocabulary_size_of(made)
    assert size < 131_072 - 2
    prefix = _plant(made.directory / prefix_name(DATASET, TRAIN_SPLIT), size + beyond)
    assert (exit_code(monkeypatch, "verify", str(prefix)) or 0) == code
    said = capsys.readouterr()
    assert f"from 0 to {size - 1}; found {size + beyond}" in said.err or code == 0
    assert exit_code(monkeypatch, "verify", str(prefix), "--vocabulary-size", "131072") in (0, None)


def test_a_pair_without_a_manifest_needs_its_vocabulary_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_pair(tmp_path / "x", [100, 3])
    assert exit_code(monkeypatch, "verify", str(tmp_path / "x")) == 1
    assert "--vocabulary-size" in capsys.readouterr().err
    assert exit_code(monkeypatch, "verify", str(tmp_path / "x"), "--vocabulary-size", "131072") in (0, None)
