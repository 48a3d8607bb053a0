"""A data root with one repository fetched and curated: what semantic_jsonl reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pipeline.roots import succeed


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root with one repository fetched and curated: what semantic_jsonl reads."""
    folder = tmp_path_factory.mktemp("ui")
    succeed(folder, "run", "--repos", "sample-kernel", "--specialists", "base", "--until", "curated_files")
    return folder
