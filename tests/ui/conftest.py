"""A data root with one repository fetched."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pipeline.roots import succeed


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root with one repository fetched."""
    folder = tmp_path_factory.mktemp("ui")
    succeed(folder, "run", "--repos", "sample-kernel", "--specialists", "base", "--until", "pinned_repos")
    return folder
