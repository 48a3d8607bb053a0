"""A run on a Dask cluster of which a worker, or the scheduler, is killed at moments that a seed draws.

The run indexes, makes documents of commits, enriches and packs: all that workers do.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from kill_anywhere import undisturbed
from roots import command, data_hashes, environment
from test_history_killed import HISTORY, write_recipe

from megacpp_assets.compute.executors.select import COMPUTE_VARIABLE
from tests.compute.dask_cluster import Cluster, cluster

pytestmark = pytest.mark.campaign
KILLS = int(os.environ.get("MEGACPP_TEST_KILLS", "3"))
SEED = int(os.environ.get("MEGACPP_TEST_SEED", "20"))
DONE_ON_WORKERS = ("jsonl", *HISTORY[1:], "enriched", "packed")


@dataclass(frozen=True, slots=True)
class Campaign:
    """A data root and its hashes, made without a cluster; the arguments of the run, and a folder for its copies."""

    made: Path
    expected: dict[str, str]
    arguments: tuple[str, ...]
    folder: Path

    def root(self, name: str) -> Path:
        """A copy of the root without what workers make."""
        root = self.folder / name
        shutil.copytree(self.made, root, symlinks=True)
        for done in (*DONE_ON_WORKERS, "cache"):
            shutil.rmtree(root / done)
        return root

    def start(self, root: Path, running: Cluster) -> subprocess.Popen[str]:
        """Start a run of two steps at a time."""
        variables = {**environment(root, 2), COMPUTE_VARIABLE: running.address}
        run = command("run", *self.arguments)
        return subprocess.Popen(run, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def require_same(self, root: Path) -> None:
        """Compare, and remove the root."""
        assert data_hashes(root) == self.expected
        shutil.rmtree(root)


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    folder = tmp_path_factory.mktemp("killed")
    arguments = ("--recipe", str(write_recipe(folder)), "--until", "packed_rows")
    expected, _ = undisturbed(folder / "made", arguments)
    assert {name.split("/")[0] for name in expected} >= set(DONE_ON_WORKERS)
    return Campaign(folder / "made", expected, arguments, folder)


@pytest.fixture(scope="module")
def seconds(campaign: Campaign, tmp_path_factory: pytest.TempPathFactory) -> float:
    """How long a run takes on a cluster of which nothing is killed."""
    with cluster(tmp_path_factory.mktemp("cluster"), workers=2) as running:
        root, started = campaign.root("undisturbed"), time.monotonic()
        with campaign.start(root, running) as run:
            _, said = run.communicate()
        assert run.returncode == 0, said
        taken = time.monotonic() - started
    campaign.require_same(root)
    return taken


@dataclass(slots=True)
class _Moments:
    """Draws moments within the first `seconds` of a run, until `KILLS` have hit one that was at work.

    Runs are faster and slower than the first one, so `seconds` shrinks to what was too late.
    """

    seconds: float
    hits: int = 0
    missed: int = 0

    def __iter__(self) -> Iterator[tuple[int, float]]:
        draw = random.Random(SEED)
        while self.hits < KILLS and self.missed < KILLS:
            yield self.hits + self.missed, draw.uniform(0.05, 0.95) * self.seconds

    def note(self, hit: bool, seconds: float) -> None:
        """Count a kill; `seconds` is when it came, or when the run ended before it."""
        self.hits, self.missed = self.hits + hit, self.missed + (not hit)
        if not hit:
            self.seconds = min(self.seconds, seconds)
        print(f"{'kill' if hit else 'too late'} at {seconds:.1f} s: the same bytes", flush=True)


def _alive_after(run: subprocess.Popen[str], moment: float) -> bool:
    try:
        run.wait(moment)
    except subprocess.TimeoutExpired:
        return True
    return False


def test_a_worker_that_is_killed_changes_no_byte(campaign: Campaign, seconds: float, tmp_path: Path) -> None:
    moments = _Moments(seconds)
    with cluster(tmp_path, workers=2, allowed_failures=3) as running:
        for number, moment in moments:
            running.grow(2)
            root, started = campaign.root(f"worker_{number}"), time.monotonic()
            with campaign.start(root, running) as run:
                alive = _alive_after(run, moment)
                taken = time.monotonic() - started
                if alive:
                    running.workers[number % 2].kill()
                _, said = run.communicate()
            assert run.returncode == 0, said
            campaign.require_same(root)
            moments.note(alive, taken)
    assert moments.hits


def test_a_scheduler_that_is_killed_ends_the_run_with_its_name_and_the_next_run_has_the_same_bytes(
    campaign: Campaign, seconds: float, tmp_path: Path
) -> None:
    moments = _Moments(seconds)
    for number, moment in moments:
        root, stopped, taken = campaign.root(f"scheduler_{number}"), False, 0.0
        for kill in (True, False):
            (folder := tmp_path / f"{number}_{kill}").mkdir()
            with cluster(folder, workers=2) as running:
                started = time.monotonic()
                with campaign.start(root, running) as run:
                    if kill and _alive_after(run, moment):
                        running.scheduler.kill()
                    taken = time.monotonic() - started if kill else taken
                    _, said = run.communicate()
            if run.returncode == 0:
                break
            assert kill and "Dask scheduler" in said, said
            stopped = True
        campaign.require_same(root)
        moments.note(stopped, taken)
    assert moments.hits
