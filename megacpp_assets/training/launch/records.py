"""What was launched from a data root: each attempt's record is written before it is asked for anywhere.

So whoever comes after a launcher that was killed finds what it had started, by name, and can release it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final

from megacpp_assets.contract.canonical import canonical_json
from megacpp_assets.contract.errors import LineageGap, SpecError
from megacpp_assets.contract.recipe.training import LaunchRecipe, TrainingRecipe
from megacpp_assets.storage.atomic import write_any
from megacpp_assets.storage.locks import alone
from megacpp_assets.training.launch.launcher import Order
from megacpp_assets.training.launch.pace import Rate

FOLDER: Final = ".launches"
_NAME: Final = re.compile(r"(megacpp-[0-9a-f]{22})-(\d+)\.json")


@dataclass(frozen=True, slots=True)
class Record:
    """An attempt: its name, partition and place, the launcher with its settings, what it trains, what became of it, ""
    while open, and the rate that was measured.

    No secret is here: launchers take those from the environment alone.
    """

    name: str
    partition: str
    place: str
    launch: LaunchRecipe = field(default_factory=LaunchRecipe)
    training: TrainingRecipe = field(default_factory=TrainingRecipe)
    ended: str = ""
    cancelled: bool = False
    rate: Rate | None = None

    @property
    def attempt(self) -> int:
        """From 1."""
        return int(self.name.rpartition("-")[2])


def next_attempt(root: Path, job: str) -> int:
    """One more than any attempt at the job of that name that was ever begun from this root."""
    numbers = [int(number) for name, number in _names(root) if name == job]
    return max(numbers, default=0) + 1


def begin(root: Path, order: Order, recipe: LaunchRecipe) -> None:
    """Write the record of an attempt that is about to be asked for."""
    write(root, Record(order.name, order.job.mixture.key, order.place, recipe, order.job.recipe))


def end(root: Path, name: str, how: str, rate: Rate | None = None) -> None:
    """The attempt holds nothing any more."""
    write(root, replace(read(root, name), ended=how, rate=rate))


def cancel(root: Path, name: str) -> None:
    """Whoever drives the attempt is to give it up. `SpecError` for a name that is not on record."""
    record = read(root, name)
    if not record.ended:
        write(root, replace(record, cancelled=True))


def records(root: Path) -> list[Record]:
    """All, by name."""
    return [
        read(root, f"{job}-{number}") for job, number in sorted(_names(root), key=lambda name: (name[0], int(name[1])))
    ]


def ended_since(root: Path, when: float) -> list[Record]:
    """Those that ended after that time of the file system's clock, by name."""
    folder = root / FOLDER
    new = [
        f"{job}-{number}" for job, number in _names(root) if (folder / f"{job}-{number}.json").stat().st_mtime >= when
    ]
    return [record for name in sorted(new) if (record := read(root, name)).ended]


def read(root: Path, name: str) -> Record:
    """The record of that name. `SpecError` if there is none, `LineageGap` if it is none."""
    file = root / FOLDER / f"{name}.json"
    if not _NAME.fullmatch(file.name) or not file.is_file():
        raise SpecError(f"run {name!r}", expected="a name that megacpp launch status shows", found="no such record")
    try:
        raw = json.loads(file.read_bytes())
        launch, training = LaunchRecipe(**raw.pop("launch")), TrainingRecipe(**raw.pop("training"))
        rate = raw.pop("rate")
        return Record(launch=launch, training=training, rate=Rate(**rate) if rate else None, **raw)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise LineageGap(str(file), expected="the record of a launch", found=str(error), do="remove it") from error


def write(root: Path, record: Record) -> None:
    """Over what is there."""
    write_any(root / FOLDER / f"{record.name}.json", canonical_json(asdict(record)))


@contextmanager
def driving(root: Path, name: str) -> Iterator[None]:
    """Be the one who drives, or cleans up after, the attempt; `SpecError` naming whoever does."""
    do = "wait for it, or cancel it: megacpp launch cancel"
    with alone(root, f"launch-{name}", f"run {name}", expected="nobody else at work on it", do=do):
        yield


def driven(root: Path, name: str) -> bool:
    """Whether somebody does so now."""
    try:
        with driving(root, name):
            return False
    except SpecError:
        return True


def _names(root: Path) -> list[tuple[str, str]]:
    folder = root / FOLDER
    found = (_NAME.fullmatch(file.name) for file in folder.iterdir()) if folder.is_dir() else ()
    return [(match[1], match[2]) for match in found if match]
