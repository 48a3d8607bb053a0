"""Strange but committed sources go through every stage up to Megatron files: no later stage's check rejects them."""

from __future__ import annotations

from pathlib import Path

import pytest
from roots import succeed
from strange_sources import SOURCES, commit_strange_sources

from megacpp_assets.repos.sources import MIRROR_VARIABLE
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.storage.parquet import read_table

pytestmark = pytest.mark.line

_CATALOGUE = '[repo.strange]\nurl = "https://github.com/somebody/strange"\nref = "v1"\n'
_RECIPE = """
dataset = "strange"
catalogue = "./catalogue.toml"
repos = ["strange"]
curriculum = ["4k"]

[semantic]
parsed_documents = 0

[tokenizer]
vocabulary_size = 7680
"""


def test_strange_sources_go_through_every_stage_and_each_file_is_accounted_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_strange_sources(tmp_path / "somebody+strange")
    monkeypatch.setenv(MIRROR_VARIABLE, str(tmp_path / "{owner}+{name}"))
    (tmp_path / "catalogue.toml").write_text(_CATALOGUE)
    (tmp_path / "recipe.toml").write_text(_RECIPE)
    root = tmp_path / "data"
    succeed(root, "run", "--recipe", str(tmp_path / "recipe.toml"), "--until", "megatron_bin_idx")

    semantic = open_artifact(root, "jsonl/strange/strange@v1")
    files = {row["filepath"]: row for row in read_table(semantic.file("files.parquet")).to_pylist()}
    assert set(files) == set(SOURCES) - {"LICENSE"}
    assert all(row["reason"] for row in files.values() if row["status"] == "skipped")
    assert not [path for path, row in files.items() if row["status"] == "failed"]
    assert open_artifact(root, "megatron/strange/base/4k").verify()
