"""Peak memory of the stages of history over all commits of a repository: the resident bytes of a process and of all
processes that it starts, summed, looked at every twentieth of a second.

A page that two processes share counts twice, so the sum is an upper bound.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from _harness import Figure, report

from megacpp_assets.commits.stage import CommitsSpec
from megacpp_assets.commits.stage import run as list_commits
from megacpp_assets.contract.recipe.history import HistoryRecipe
from megacpp_assets.repos.catalogue import CatalogueEntry
from megacpp_assets.repos.pins import pin
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.versions import build as versions
from megacpp_assets.windows import build as windows
from megacpp_assets.windows.functions import ParsedBlobs
from megacpp_assets.windows.graph import TreeGraph

if TYPE_CHECKING:
    from history import History

_PAUSE_S = 0.05
_PAGE = os.sysconf("SC_PAGE_SIZE")
_MEBI = 1 << 20


@dataclass(frozen=True, slots=True)
class Place:
    """A repository, where its artifact of stage `commits` is, and how many commits are looked at (0 for all)."""

    entry: CatalogueEntry
    root: Path
    path: str
    most: int

    def artifact(self) -> Artifact:
        """The artifact that stage `commits` published."""
        return open_artifact(self.root, self.path)


def make_commits(place: Place) -> None:
    """Run stage `commits`; leave the path of its artifact in a file."""
    chosen = pin(place.entry, place.entry.ref, place.root)
    artifact = list_commits(CommitsSpec(place.root, "bench", chosen, HistoryRecipe(most_commits=place.most)))
    (place.root / "path").write_text(artifact.path)


def make_versions(place: Place) -> None:
    """Make v2 and v3 in one header style; the documents are counted and dropped."""
    from history import of_artifact

    with of_artifact(place.entry.name, place.artifact()) as history:
        builder = versions.VersionBuilder(("v2_simple", "v3_simple"), history.origin, history.judge)
        made = Counter[str]()
        builder.build(history.commits, lambda name, _: made.update([name]), lambda _: None)
        print(f"# {place.entry.name}: {len(history.commits)} commits, {dict(made)}", flush=True)


def make_windows(place: Place) -> None:
    """Make v4; the windows are counted and dropped."""
    from history import LIMITS, encoder_of, of_artifact

    with of_artifact(place.entry.name, place.artifact()) as history:
        builder = windows.WindowBuilder(
            history.git_dir,
            windows.Sets(LIMITS, encoder_of(history)),
            history.origin,
            history.judge,
            TreeGraph(ParsedBlobs(history.files)),
        )
        made = Counter[str]()
        builder.build(history.commits, lambda name, _: made.update([name]), _reported(place, history))
        print(f"# {place.entry.name}: {len(history.commits)} commits, {dict(made)}", flush=True)


def _reported(place: Place, history: History) -> Callable[[int], None]:
    """Print the resident bytes at each quarter of the history, by which growth is seen."""
    quarter = max(len(history.commits) // 4, 1)

    def progress(done: int) -> None:
        if done % quarter == 0:
            print(f"# {place.entry.name}: {_resident(os.getpid()) / _MEBI:.0f} MiB after {done} commits", flush=True)

    return progress


STAGES = {"commits": make_commits, "v2 and v3": make_versions, "v4": make_windows}


def measure_memory(entry: CatalogueEntry, most: int) -> None:
    """Run each stage in a process of its own and print the line of its peak. `SystemExit` if a stage fails."""
    with tempfile.TemporaryDirectory(prefix="megacpp-bench-") as folder:
        root = Path(folder)
        for stage, work in STAGES.items():
            path = (root / "path").read_text() if (root / "path").exists() else ""
            peak = _peak_of(work, Place(entry, root, path, most))
            extent = f"the last {most} commits" if most else "the whole history"
            report(Figure("history", f"peak memory of {stage} over {extent} of {entry.name}", "MiB"), peak / _MEBI)


def _peak_of(work: Callable[[Place], None], place: Place) -> int:
    process = multiprocessing.get_context("spawn").Process(target=work, args=(place,))
    process.start()
    assert process.pid is not None
    peak = 0
    while process.is_alive():
        peak = max(peak, sum(map(_resident, _tree(process.pid))))
        time.sleep(_PAUSE_S)
    if process.exitcode:
        raise SystemExit(f"{work.__name__} of {place.entry.name} ended with exit code {process.exitcode}")
    return peak


def _tree(pid: int) -> Iterator[int]:
    """Yield a process and all processes below it."""
    yield pid
    try:
        children = [Path("/proc", str(pid), "task", task, "children") for task in os.listdir(f"/proc/{pid}/task")]
        below = [int(child) for file in children for child in file.read_text().split()]
    except OSError:  # it has ended
        return
    for child in below:
        yield from _tree(child)


def _resident(pid: int) -> int:
    try:
        return int(Path("/proc", str(pid), "statm").read_text().split()[1]) * _PAGE
    except OSError:
        return 0
