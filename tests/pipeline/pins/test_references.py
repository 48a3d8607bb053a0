"""Two references of one repository side by side in a dataset, and the lock moved between them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from megacpp_assets.pipeline.corpus import open_corpus
from tests.pipeline.roots import SMALL, data_hashes, succeed

pytestmark = pytest.mark.line

OLD, NEW = "sample-kernel@v1.0.0", "sample-kernel@v1.1.0"
RUN = ("run", *SMALL, "--until", "megatron_bin_idx")


def _mixtures(hashes: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in hashes.items() if name.split("/")[0] in {"packed", "megatron", "tokenizer"}}


def test_a_reference_is_made_beside_the_pinned_one_and_mixtures_follow_when_the_pin_moves(
    small_line: Path, tmp_path: Path
) -> None:
    root = shutil.copytree(small_line, tmp_path / "data", symlinks=True)
    dataset, before = open_corpus(root).dataset, data_hashes(root)

    succeed(root, "run", "--refs", NEW)
    beside = data_hashes(root)
    assert {name: beside[name] for name in before if name != "corpus.lock"} == {
        name: value for name, value in before.items() if name != "corpus.lock"
    }
    new = {tuple(name.split("/")[:-1]) for name in beside.keys() - before.keys() if name.endswith("manifest.json")}
    assert new == {("cpp_raw", NEW)} | {
        (folder, dataset, NEW) for folder in ("curated", "jsonl", "parquet", "enriched")
    }
    assert "Nothing to do" in succeed(root, *RUN)
    assert "Nothing to do: 8 steps" in succeed(root, "run", "--refs", NEW)

    succeed(root, "lock", "promote", NEW)
    said = succeed(root, *RUN)
    assert "packed_rows" in said and "semantic_jsonl       sample-kernel" not in said
    moved = data_hashes(root)
    packed = f"packed/{dataset}/base/4k/manifest.json"
    assert NEW in json.loads((root / packed).read_bytes())["config"]["repos"]
    assert moved[packed] != before[packed]

    succeed(root, "lock", "promote", OLD)
    succeed(root, *RUN)
    assert _mixtures(data_hashes(root)) == _mixtures(before)
