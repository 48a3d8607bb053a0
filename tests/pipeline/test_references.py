"""Two references of one repository side by side in a dataset, and the lock moved between them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from roots import data_hashes, megacpp

from megacpp_assets.pipeline.corpus import open_corpus

pytestmark = pytest.mark.line

OLD, NEW = "sample-kernel@v1.0.0", "sample-kernel@v1.1.0"
SMALL = ("run", "--repos", "sample-kernel", "--specialists", "base", "--until", "megatron_bin_idx")


def _run(root: Path, *words: str) -> str:
    done = megacpp(root, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _mixtures(hashes: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in hashes.items() if name.split("/")[0] in {"packed", "megatron", "tokenizer"}}


def test_a_reference_is_made_beside_the_pinned_one_and_mixtures_follow_when_the_pin_moves(tmp_path: Path) -> None:
    root = tmp_path / "data"
    _run(root, *SMALL)
    dataset, before = open_corpus(root).dataset, data_hashes(root)

    _run(root, "run", "--refs", NEW)
    beside = data_hashes(root)
    assert {name: beside[name] for name in before if name != "corpus.lock"} == {
        name: value for name, value in before.items() if name != "corpus.lock"
    }
    new = {tuple(name.split("/")[:-1]) for name in beside.keys() - before.keys() if name.endswith("manifest.json")}
    assert new == {("cpp_raw", NEW)} | {(folder, dataset, NEW) for folder in ("jsonl", "parquet", "enriched")}
    assert "Nothing to do" in _run(root, *SMALL)
    assert "Nothing to do: 6 steps" in _run(root, "run", "--refs", NEW)

    _run(root, "lock", "promote", NEW)
    said = _run(root, *SMALL)
    assert "packed_rows" in said and "semantic_jsonl       sample-kernel" not in said
    moved = data_hashes(root)
    packed = f"packed/{dataset}/base/4k/manifest.json"
    assert json.loads((root / packed).read_bytes())["config"]["repos"] == [NEW]
    assert moved[packed] != before[packed]

    _run(root, "lock", "promote", OLD)
    _run(root, *SMALL)
    assert _mixtures(data_hashes(root)) == _mixtures(before)
