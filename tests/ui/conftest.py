"""A data root with one repository fetched."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root with one repository fetched."""
    folder = tmp_path_factory.mktemp("ui")
    run = ["run", "--repos", "sample-kernel", "--specialists", "base", "--until", "pinned_repos"]
    start = "from megacpp_assets.cli import main; main()"
    subprocess.run([sys.executable, "-c", start, *run, "--data-root", str(folder)], check=True, capture_output=True)
    return folder
