"""Data roots that many tests read: each is made once in a test run, for all its workers.

A plug-in of pytest. The roots are read only: a test that changed one would change what the others see, so it takes a
copy.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from megacpp_assets.repos.sample import make_sample_repositories
from tests.pipeline.roots import run_small, succeed

MADE, SAID = "made", "said"
LATER = "text@v1.1.0"
"""A tag of the own line's dataset that the line with reports has beside its pins."""
OWN_CATALOGUE = """
[repo.drivers]
url = "sample://sample-kernel"
ref = "v1.0.0"
license = "Apache-2.0"
category = "os_kernels"

[repo.text]
url = "sample://sample-format"
ref = "v1.0.0"
license = "Apache-2.0"
category = "cpp_libraries"
"""
OWN_RECIPE = """
dataset = "mine"
catalogue = "own.toml"
repos = ["drivers", "text"]
curriculum = ["8k"]

[phases.8k]
row_tokens = 8192
dataset_version = "mine_8k_v1"

[specialists.low_level]
drivers = 2.5

[mixture.categories]
cpp_libraries = 0.75
os_kernels = 0.5

[semantic]
parsed_documents = 0

[tokenizer]
vocabulary_size = 7680

[training]
layers = 1
hidden = 32
heads = 1
steps = 4
save_every = 4
validation_rows = 1
learning_rate = 3e-3
threads = 1
"""


@pytest.fixture(scope="session")
def small_line(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data root of the small line up to its Megatron files. Take a copy with symbolic links as links."""
    return _made_once(
        tmp_path_factory, "small-line", lambda folder: run_small(folder / "data", ("--until", "megatron_bin_idx"))
    )


@pytest.fixture(scope="session")
def own_line(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root up to checkpoints of two mixtures, of a user's own recipe and catalogue in its parent folder."""
    return _made_once(tmp_path_factory, "own-line", _run_own)


@pytest.fixture(scope="session")
def reported_line(own_line: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`own_line` with a later tag and all reports. The file `said` beside it has the output of the command.

    Its path means something to SQL and to globs.
    """
    return _made_once(tmp_path_factory, "gr'een [*]", lambda folder: _report(own_line, folder))


def _report(own_line: Path, folder: Path) -> None:
    root = Path(shutil.copytree(own_line, folder / "data", symlinks=True))
    succeed(root, "run", "--refs", LATER, "--until", "v6_enriched")
    (folder / SAID).write_text(succeed(root, "quality"))


def _run_own(folder: Path) -> None:
    (folder / "own.toml").write_text(OWN_CATALOGUE)
    (folder / "mine.toml").write_text(OWN_RECIPE)
    make_sample_repositories(folder / "data")  # stands for the servers that a catalogue's URLs name
    succeed(folder / "data", "run", "--recipe", str(folder / "mine.toml"))


def _made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The data root in the folder `name` of the test run, made by the first worker that asks for it."""
    base = factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    shared.mkdir(exist_ok=True)
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / MADE).exists():
            make(shared)
            (shared / MADE).touch()
    return shared / "data"
