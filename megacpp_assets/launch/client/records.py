"""Records of the attempts that were launched from a data root.

The record of an attempt is written before anything is started. After a launching process was killed, the next one finds
by name what was started, and can release it. A record that cannot be read hides no other one.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final

from megacpp_assets.contract.canonical import canonical_json
from megacpp_assets.contract.errors import LineageGap, SpecError, disk_failure, naming
from megacpp_assets.contract.recipe.launch import LaunchRecipe
from megacpp_assets.contract.recipe.training import TrainingRecipe
from megacpp_assets.launch.client.progress import StepRate
from megacpp_assets.launch.launcher import AttemptOrder
from megacpp_assets.storage.atomic import write_any
from megacpp_assets.storage.root.locks import exclusive_lock, in_turn

_LOG = logging.getLogger(__name__)

FOLDER: Final = ".launches"
_LOCK: Final = "launches"
_NAME: Final = re.compile(r"(megacpp-[0-9a-f]{22})-(\d+)\.json")


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """One attempt. `place` is the URI of its job's folder. `ended` says how it ended and is empty while it runs.

    A record holds no secret: launchers take secrets from the environment only.
    """

    name: str
    partition: str
    place: str
    launch: LaunchRecipe = field(default_factory=LaunchRecipe)
    training: TrainingRecipe = field(default_factory=TrainingRecipe)
    ended: str = ""
    cancelled: bool = False
    rate: StepRate | None = None

    @property
    def attempt(self) -> int:
        """The number of the attempt, from 1."""
        return int(self.name.rpartition("-")[2])


def next_attempt(root: Path, job: str) -> int:
    """Return the next number: one more than any attempt at the job that this root has a record of."""
    numbers = [int(number) for name, number in _names(root) if name == job]
    return max(numbers, default=0) + 1


def begin(root: Path, order: AttemptOrder, recipe: LaunchRecipe) -> None:
    """Write the record of an attempt, before it is started."""
    write(root, AttemptRecord(order.name, order.job.mixture.key, order.place, recipe, order.job.recipe))


def end(root: Path, name: str, how: str, rate: StepRate | None = None) -> None:
    """Record how the attempt ended, after it was released."""
    _change(root, name, lambda record: replace(record, ended=how, rate=rate))


def cancel(root: Path, name: str) -> None:
    """Ask the process that drives the attempt to cancel it. `SpecError` if no record has that name."""
    _change(root, name, lambda record: record if record.ended else replace(record, cancelled=True))


def records(root: Path) -> list[AttemptRecord]:
    """Return all records that can be read, sorted by name and attempt. The others are logged."""
    names = sorted(_names(root), key=lambda name: (name[0], int(name[1])))
    return list(_readable(root, (f"{job}-{number}" for job, number in names)))


def ended_since(root: Path, when: float) -> list[AttemptRecord]:
    """Return the records that ended after `when` (seconds of the file system's clock), sorted by name.

    Those that cannot be read are logged.
    """
    folder = root / FOLDER
    new = [
        f"{job}-{number}" for job, number in _names(root) if (folder / f"{job}-{number}.json").stat().st_mtime >= when
    ]
    return [record for record in _readable(root, sorted(new)) if record.ended]


def read(root: Path, name: str) -> AttemptRecord:
    """Return the record `name`; `SpecError` if it is missing, `LineageGap` if it is malformed."""
    file = root / FOLDER / f"{name}.json"
    if not _NAME.fullmatch(file.name) or not file.is_file():
        known = [f"{job}-{number}" for job, number in _names(root)]
        raise SpecError.unknown("run", name, known, "megacpp launch status lists the runs")
    try:
        with naming(file):
            raw = json.loads(file.read_bytes())
        launch, training = LaunchRecipe(**raw.pop("launch")), TrainingRecipe(**raw.pop("training"))
        rate = raw.pop("rate")
        return AttemptRecord(launch=launch, training=training, rate=StepRate(**rate) if rate else None, **raw)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        do = f"if the job {name} still runs, stop it where it runs; then remove this file"
        raise LineageGap(str(file), expected="the record of a launch", found=str(error), do=do) from error


def write(root: Path, record: AttemptRecord) -> None:
    """Write the record, and replace an existing one."""
    write_any(root / FOLDER / f"{record.name}.json", canonical_json(asdict(record)))


def _change(root: Path, name: str, change: Callable[[AttemptRecord], AttemptRecord]) -> None:
    """Read, change and write the record while no other process does."""
    read(root, name)  # a data root without this record gets no lock either
    with in_turn(root, _LOCK, writes=True):
        record = read(root, name)
        if (changed := change(record)) != record:
            write(root, changed)


@contextmanager
def driving(root: Path, name: str) -> Iterator[None]:
    """Hold the exclusive lock for driving or releasing the attempt; `SpecError` names the process that holds it."""
    do = "wait for it, or cancel it: megacpp launch cancel"
    with exclusive_lock(root, f"launch-{name}", f"run {name}", expected="no other process that drives it", do=do):
        yield


def is_driven(root: Path, name: str) -> bool:
    """Return whether a process drives the attempt now."""
    try:
        with driving(root, name):
            return False
    except SpecError:
        return True


def _readable(root: Path, names: Iterable[str]) -> Iterator[AttemptRecord]:
    """Yield the records `names` without those that cannot be read, as of a crash or of other code; log these."""
    for name in names:
        try:
            yield read(root, name)
        except SpecError:
            continue  # it was removed since it was listed
        except LineageGap as error:
            _LOG.warning("%s", error)
        except OSError as error:
            _LOG.warning("%s", disk_failure(error))


def _names(root: Path) -> list[tuple[str, str]]:
    folder = root / FOLDER
    found = (_NAME.fullmatch(file.name) for file in folder.iterdir()) if folder.is_dir() else ()
    return [(match[1], match[2]) for match in found if match]
