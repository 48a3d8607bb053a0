"""`megacpp merge`: pairs of which tokenizer become one pair."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from megacpp_assets.contract.megatron_files import IDX
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.publish import Publication, Target, publish
from megacpp_assets.storage.root.layout import LOCK_FILE, megatron_path, tokenizer_path
from tests.cli.commands import exit_code
from tests.loader.rows_artifact import DATASET, MIXTURE, PREFIX, publish_rows, random_rows

VOCABULARY = 100


def _pair(root: Path, tokenizer: bytes, seed: int) -> Path:
    """The training pair of a data root whose tokenizer.json has these bytes."""

    def produce(publication: Publication, inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
        publication.write("tokenizer.json", tokenizer)
        return {"vocabulary_size": VOCABULARY}

    root.mkdir()
    (root / LOCK_FILE).touch()
    made = publish(Target(root, tokenizer_path(DATASET), "tokenizer", DATASET, "1", {"seed": seed}), produce)
    publish_rows(root, random_rows(rows=3, row_tokens=32, seed=seed), 32, inputs=(made.path,))
    return root / megatron_path(DATASET, MIXTURE) / PREFIX


def _merge(monkeypatch: pytest.MonkeyPatch, destination: Path, *prefixes: Path) -> object:
    words = ["merge", str(destination), *map(str, prefixes), "--vocabulary-size", str(VOCABULARY)]
    return exit_code(monkeypatch, *words)


def test_pairs_of_two_tokenizers_are_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both have the same number of ids, so the ids alone do not tell them apart."""
    pairs = [_pair(tmp_path / name, name.encode(), seed) for seed, name in enumerate(("one", "two"))]
    assert _merge(monkeypatch, tmp_path / "both", *pairs) == 1
    said = capsys.readouterr().err
    assert "expected one tokenizer" in said and all(str(pair) in said for pair in pairs)
    assert not (tmp_path / f"both{IDX}").exists()


def test_pairs_of_one_tokenizer_in_two_data_roots_are_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [_pair(tmp_path / name, b"the same", seed) for seed, name in enumerate(("one", "two"))]
    assert _merge(monkeypatch, tmp_path / "both", *pairs) in (0, None)
    assert (tmp_path / f"both{IDX}").is_file()


def test_a_pair_that_names_no_tokenizer_is_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = _pair(tmp_path / "one", b"one", 0)
    copied = tmp_path / "elsewhere"
    copied.mkdir()
    for file in pair.parent.glob(f"{PREFIX}*"):
        (copied / file.name).write_bytes(file.read_bytes())
    assert _merge(monkeypatch, tmp_path / "both", pair, copied / PREFIX) in (0, None)
