"""Fixtures of `pinned_repos`: a local repository, a catalogue entry for it, and an empty data root."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.repos.catalogue import CatalogueEntry
from tests.repos.git_tree import make_repository

FILES = {
    "src/main.cpp": b"// SPDX-License-Identifier: MIT\nint main() { return 0; }\n",
    "include/lib/lib.h": b"#pragma once\nint answer();\n",
    "src/lib.cc": b"int answer() { return 42; }\r\n",
    "README.md": b"# lib\n",
    "LICENSE": b"Apache License, Version 2.0\n",
}


@pytest.fixture
def upstream(tmp_path: Path) -> Path:
    """A repository with one tag `v1`."""
    directory = tmp_path / "upstream" / "lib"
    make_repository(directory, FILES)
    return directory


@pytest.fixture
def entry(upstream: Path) -> CatalogueEntry:
    """The catalogue entry of `upstream`."""
    return CatalogueEntry("lib", str(upstream), "v1")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty data root."""
    directory = tmp_path / "data"
    directory.mkdir()
    return directory
