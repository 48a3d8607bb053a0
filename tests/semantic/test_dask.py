"""Parsing a repository gives the same files wherever its batches run: local pools of any size, or a dying cluster.

A campaign: `make test` has both halves apart, the stage on a cluster (test_stage.py) and workers that die in the middle
of a batch (tests/compute/executors/test_dask.py).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import megacpp_assets.sample
from megacpp_assets.compute.executors.dask import DaskPool
from megacpp_assets.compute.executors.executor import BatchExecutor, Outcome
from megacpp_assets.compute.executors.folders import SharedFolder
from megacpp_assets.compute.executors.local import LocalPool
from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.semantic.commands.toolchain import find_toolchain
from megacpp_assets.semantic.parsing.parse import DEFAULT_OPTIONS, parse_tree
from tests.compute.batches import AfterKillingOneWorker
from tests.compute.dask_cluster import cluster

pytestmark = pytest.mark.campaign
SAMPLE = Path(megacpp_assets.sample.__file__).parent / "repos" / "sample-format" / "v1.0.0"
SMALL_BATCHES = replace(DEFAULT_OPTIONS, batch_files=2)
KILLER = "src/killer.cpp"


@dataclass(frozen=True, slots=True)
class OneWorkerDies:
    """The cluster behind `pool`, one of whose workers is killed in the middle of the first batch."""

    pool: DaskPool
    scratch: Path

    def run(
        self, function: Callable[[Any], Any], batches: Sequence[Any], *, timeout_s: float
    ) -> Iterator[Outcome[Any]]:
        return self.pool.run(AfterKillingOneWorker(function, str(self.scratch)), batches, timeout_s=timeout_s)

    def provide(self, *folders: SharedFolder) -> None:
        self.pool.provide(*folders)

    @property
    def here(self) -> BatchExecutor:
        return self.pool.here

    def close(self) -> None:
        self.pool.close()


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """What one local worker makes of the repository, the file that kills the parser included."""
    folder = tmp_path_factory.mktemp("expected")
    found = parsed(LocalPool(1), folder)
    assert list(folder.glob(".megacpp/pch/*.pch"))
    states = {path: status for path, status, *_ in found}
    assert states.pop(KILLER) == "failed"
    assert len(states) > 7 and set(states.values()) == {"clean"}
    return found


def parsed(executor: BatchExecutor, folder: Path) -> list[Any]:
    """Every fact of every parsed file, in values that can be compared."""
    files = lay_out(folder)
    try:
        found = parse_tree(folder, files, find_toolchain(), executor, options=SMALL_BATCHES)
    finally:
        executor.close()
    return [tuple(comparable(value) for value in astuple(file)) for file in found]


def comparable(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(comparable(part) for part in value)
    return (value.dtype.str, value.tobytes()) if isinstance(value, np.ndarray) else value


def lay_out(folder: Path) -> list[SourceFile]:
    """The library of the sample repository, and one more file that no parser of this version survives."""
    for part in ("include", "src"):
        shutil.copytree(SAMPLE / part, folder / part)
    (folder / KILLER).write_text(f"int x = {'!' * 10_000}0;\n")
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return [source_file(path.relative_to(folder).as_posix(), path) for path in paths]


def source_file(path: str, found: Path) -> SourceFile:
    language = "c++" if found.suffix in {".cpp", ".h"} else ""
    skipped = "" if language else "not C or C++"
    return SourceFile(path, "0" * 40, found.stat().st_size, language, found.suffix == ".h", "MIT", skipped)


def test_two_local_workers_give_what_one_gives(expected: list[Any], tmp_path: Path) -> None:
    assert parsed(LocalPool(2), tmp_path) == expected


def test_a_cluster_one_of_whose_workers_dies_gives_what_one_local_worker_gives(
    expected: list[Any], tmp_path: Path
) -> None:
    for name in ("cluster", "tree", "scratch"):
        (tmp_path / name).mkdir()
    with cluster(tmp_path / "cluster", workers=2) as running:
        executor = OneWorkerDies(DaskPool(running.address), tmp_path / "scratch")
        assert parsed(executor, tmp_path / "tree") == expected
        assert not list((tmp_path / "tree").glob(".megacpp/pch/*.pch"))  # they are on the workers' hosts
        assert running.killed() == 1
