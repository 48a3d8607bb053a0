"""Kill the whole process group of a run at random moments; every data file must end as in an undisturbed run.

On demand: `python tests/pipeline/kill_anywhere.py --kills 20 --work DIR [-- RUN-ARGUMENTS]`. The tests use a
kill at one moment.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from roots import SMALL, command, data_hashes, environment


@dataclass(frozen=True, slots=True)
class Campaign:
    """How many kills were wanted, how many hit a living run, and one line per file that differs after one."""

    kills: int
    hits: int
    faults: list[str]

    @property
    def passed(self) -> bool:
        """Whether nothing differs after all the kills that were wanted: a run that ended before proves nothing."""
        return not self.faults and self.hits == self.kills > 0


def undisturbed(root: Path, arguments: Sequence[str]) -> tuple[dict[str, str], float]:
    """Hashes and wall seconds of a run that nobody kills."""
    started = time.monotonic()
    subprocess.run(command("run", *arguments), env=environment(root), check=True, stdout=subprocess.DEVNULL)
    return data_hashes(root), time.monotonic() - started


def killed_when(root: Path, arguments: Sequence[str], come: Callable[[], bool], workers: int = 2) -> bool:
    """Start a run, kill its process group when the moment has `come`; False if it ended before."""
    process = subprocess.Popen(
        command("run", *arguments),
        env=environment(root, workers),
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not come():
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.02)
            return False
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return True


def after(seconds: float) -> Callable[[], bool]:
    """Whether `seconds` from now have passed."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end


def campaign(work: Path, kills: int, arguments: Sequence[str], seed: int = 20) -> Campaign:
    """`kills` kills, each from an empty root and followed by a rerun, whose data are compared.

    A run may be faster than the undisturbed one was and end before its kill; the next moment is then drawn anew.
    """
    expected, seconds = undisturbed(work / "undisturbed", arguments)
    moments = random.Random(seed)
    faults: list[str] = []
    hits = missed = 0
    while hits < kills and missed < kills:
        root = work / f"killed_{hits + missed:02d}"
        moment, started = moments.uniform(0.02, 0.98) * seconds, time.monotonic()
        if killed_when(root, arguments, after(moment)):
            hits += 1
            found, _ = undisturbed(root, arguments)
            differing = sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
            print(f"kill {hits:2d}/{kills} at {moment:6.1f} s: {len(differing)} files differ", flush=True)
            faults += [f"kill at {moment:.1f} s: {name}" for name in differing]
        else:
            missed += 1
            seconds = min(seconds, time.monotonic() - started)
        shutil.rmtree(root)
    print(f"{len(expected)} data files, {hits} of {kills} kills, {missed} came too late, {len(faults)} differences")
    return Campaign(kills, hits, faults)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("arguments", nargs="*", help="arguments of `megacpp run`; default: the small sample")
    given = parser.parse_args()
    sys.exit(0 if campaign(given.work, given.kills, given.arguments or SMALL).passed else 1)
