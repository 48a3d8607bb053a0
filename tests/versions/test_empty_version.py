"""A repository without a document of a dataset version does not stop the mixture: a warning names both."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.contract.document_sets import versioned
from megacpp_assets.storage.artifact import open_artifact
from tests.cli.commands import exit_code
from tests.commits.repository import make_history

RECIPE = """
dataset = "mine"
catalogue = "./catalogue.toml"
repos = ["lib"]
curriculum = ["4k"]
[phases.4k]
blend = { v3_simple = 1.0, v4 = 1.0 }
[semantic]
parsed_documents = 0
[tokenizer]
vocabulary_size = 7200
[holdout]
share = 0.0
"""
SCALE = b"int scale(int value) {\n" + b"  value += 2;\n" * 20 + b"  return value;\n}\n"


def test_a_mixture_skips_a_version_of_which_a_repository_has_no_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    types = [b"struct A;\n", b"struct A { int b; };\n"]
    make_history(tmp_path / "lib", [("Start", {"a.h": types[0], "a.cc": SCALE}), ("Only types", {"a.h": types[1]})])
    (tmp_path / "catalogue.toml").write_text(f'[repo.lib]\nurl = "{tmp_path / "lib"}"\nref = "v1"\nlicense = "MIT"\n')
    (tmp_path / "mine.toml").write_text(RECIPE)
    root = tmp_path / "data"
    words = ("--specialists", "base", "--until", "packed_rows", "--data-root", str(root))
    assert not exit_code(monkeypatch, "run", "--recipe", str(tmp_path / "mine.toml"), *words)
    said = " ".join(capsys.readouterr().out.split())
    assert "warning: commit_windows lib@v1: check has_documents: expected at least one window of each set;" in said
    assert "found none of v4_4096, left out: no caller or callee found 1, no function modified 2;" in said
    tokens = open_artifact(root, "parquet/mine/lib@v1").manifest.stats["budgets"]
    assert tokens[versioned("v4", 4096)]["documents"] == 0 < tokens[versioned("v3_simple", 4096)]["documents"]
    packed = open_artifact(root, "packed/mine/base/4k").manifest.stats
    assert packed["documents"] == sum(each["documents"] for each in tokens.values())
