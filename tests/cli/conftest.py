"""A data root of one tiny repository with several releases."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.commands import exit_code
from tests.repos.git_tree import commit, make_repository

RECIPE = """
dataset = "mine"
catalogue = "./catalogue.toml"
repos = ["lib"]
curriculum = ["4k"]

[semantic]
parsed_documents = 0

[tokenizer]
vocabulary_size = 8192
"""
LONG = b"int answer(int a) {\n" + b"  a += 1;\n" * 40 + b"  return a;\n}\n"


def make_upstream(folder: Path) -> Path:
    """A repository with the releases v1.0, v1.1 and v2.0, and a candidate."""
    upstream = folder / "lib"
    make_repository(upstream, {"lib.cc": LONG, "LICENSE": b"MIT License\n"}, "v1.0")
    for number, tag in enumerate(("v1.1", "v2.0-rc1", "v2.0")):
        commit(upstream, {f"more{number}.cc": LONG.replace(b"answer", b"more%d" % number)}, tag)
    return upstream


def make_root(folder: Path, upstream: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data root in `folder`, beside its recipe, whose dataset `mine` reads lib@v1.0."""
    (folder / "catalogue.toml").write_text(f'[repo.lib]\nurl = "{upstream}"\nref = "v1.0"\nlicense = "MIT"\n')
    recipe = folder / "mine.toml"
    recipe.write_text(RECIPE)
    words = ("run", "--recipe", str(recipe), "--until", "pinned_repos", "--data-root", str(folder / "data"))
    assert not exit_code(monkeypatch, *words)
    return folder / "data"


@pytest.fixture
def upstream(tmp_path: Path) -> Path:
    """See `make_upstream`."""
    return make_upstream(tmp_path)


@pytest.fixture
def lib_root(tmp_path: Path, upstream: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """See `make_root`."""
    return make_root(tmp_path, upstream, monkeypatch)
