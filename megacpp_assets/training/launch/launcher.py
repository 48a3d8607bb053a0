"""What a launcher is, and finding one by its name."""

from __future__ import annotations

import pkgutil
from dataclasses import MISSING, dataclass, fields
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast, get_type_hints
from urllib.parse import unquote, urlsplit

from megacpp_assets.contract.errors import EnvironmentLacks, SpecError
from megacpp_assets.contract.recipe.training import LaunchRecipe, TrainingRecipe
from megacpp_assets.training import launchers
from megacpp_assets.training.job import Job


class State(Enum):
    """What has become of a job that was handed over."""

    RUNNING = "running"
    """It runs, or waits for its turn."""
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    PREEMPTED = "preempted"
    """Its machine was taken away: started again, it goes on from its newest checkpoint."""


@dataclass(frozen=True, slots=True)
class Report:
    """A state, and in words why."""

    state: State
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Order:
    """One attempt at a job on `nodes` machines: `place` is the URI of the folder with the job file, of this machine or
    of an exchange."""

    job: Job
    attempt: int
    place: str
    nodes: int = 1

    @property
    def name(self) -> str:
        """Of what the launcher starts: at most 40 lower-case letters, digits and '-', no other attempt's."""
        return f"{self.job.name}-{self.attempt}"

    @property
    def folder(self) -> Path:
        """`place` as a folder of this machine."""
        return Path(unquote(urlsplit(self.place).path))

    @property
    def processes(self) -> int:
        """On each node."""
        return self.job.recipe.processes // self.nodes

    def command(self, folder: str, python: str = "python", number: str = "") -> list[str]:
        """What carries it out where the wheel is installed, with `folder` to write in; on each of several nodes, of
        which the scheduler leaves the number in the environment variable `number`."""
        module = "megacpp_assets.training.launch.remote"
        several = ["--nodes", str(self.nodes), "--number-from", number] if self.nodes > 1 else []
        return [python, "-m", module, self.place, "--attempt", str(self.attempt), "--folder", folder, *several]


class Launcher(Protocol):
    """Where training runs. It speaks to its API only; patience, retries and release are `launch/drive.py`'s.

    What it starts bears the order's name, by which any process can look at it and release it. `Unanswered` means that
    the API did not answer, now: it is asked again. Any other error ends the attempt. `NEEDS_EXCHANGE` of its module
    says whether the data root must travel, `MANY_NODES` whether it can give a job more than one machine, `DEVICES`
    what its machines compute on.
    """

    def plan(self, order: Order) -> str:
        """Exactly what `submit` would ask for, as text that a person can read."""

    def submit(self, order: Order) -> None:
        """Start it. Asked twice it starts once."""

    def look(self, name: str) -> Report:
        """What has become of it."""

    def release(self, name: str) -> None:
        """Stop it and free all that it holds; nothing to do for what is gone."""


class Unanswered(Exception):
    """The launcher's API gave no answer that says anything; it may give one later."""


def names() -> tuple[str, ...]:
    """The launchers that there are: the files of `training/launchers/`."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(launchers.__path__)))


def launcher_for(recipe: LaunchRecipe, training: TrainingRecipe) -> Launcher:
    """The launcher that the recipe names for `training`. `SpecError` where none of its machines has the device that the
    training computes on; otherwise as `open_launcher`."""
    devices = _module(recipe.launcher).DEVICES
    if training.device not in devices:
        do = "set it, or take another launcher (launch.launcher)"
        where = f"training.device on the launcher {recipe.launcher}"
        raise SpecError(where, expected=" or ".join(devices), found=training.device, do=do)
    return open_launcher(recipe)


def open_launcher(recipe: LaunchRecipe) -> Launcher:
    """The launcher that the recipe names, with its settings. `SpecError` for another name, for settings that are not
    those of this launcher, for more nodes than it can give, and for an exchange that it lacks or has no use for;
    `EnvironmentLacks` where a package that only this launcher needs is not installed.
    """
    module = _module(recipe.launcher)
    if module.NEEDS_EXCHANGE != bool(recipe.exchange):
        expected = "file:///FOLDER or gs://BUCKET/FOLDER" if module.NEEDS_EXCHANGE else "none: it trains in the root"
        found = recipe.exchange or "none"
        raise SpecError(f"launch.exchange of the launcher {recipe.launcher}", expected=expected, found=found)
    if recipe.nodes > 1 and not module.MANY_NODES:
        do = "take slurm or kubernetes"
        where = f"launch.nodes of the launcher {recipe.launcher}"
        raise SpecError(where, expected="1", found=recipe.nodes, do=do)
    return cast(Launcher, module.open_launcher(_settings(module.Settings, recipe)))


def require_digest(image: str) -> None:
    """`SpecError` for an image that is named by a tag, which may be another's tomorrow."""
    if "@sha256:" not in image:
        do = "name it by its digest, so that what runs is what was built"
        raise SpecError("launch.settings.image", expected="NAME@sha256:DIGEST", found=repr(image), do=do)


def _module(name: str) -> Any:
    if name not in names():
        raise SpecError("launch.launcher", expected=" or ".join(names()), found=repr(name))
    try:
        return import_module(f"{launchers.__name__}.{name}")
    except ModuleNotFoundError as error:
        do = f"pip install 'megacpp-assets[{name}]'"
        raise EnvironmentLacks(f"launcher {name}", expected=f"the package {error.name}", found="none", do=do) from error


def _settings(kind: Any, recipe: LaunchRecipe) -> Any:
    """The dataclass `kind` with the recipe's settings."""
    known = {entry.name: entry for entry in fields(kind)}
    hints = get_type_hints(kind)
    for name, value in recipe.settings.items():
        where = f"launch.settings.{name}"
        if name not in known:
            raise SpecError(where, expected=f"one of {', '.join(known) or 'none'}", found="an unknown key")
        if type(value) is not hints[name]:
            raise SpecError(where, expected=hints[name].__name__, found=repr(value))
    for name, entry in known.items():
        if entry.default is MISSING and name not in recipe.settings:
            expected = f"a value of type {hints[name].__name__}, which the launcher {recipe.launcher} needs"
            raise SpecError(f"launch.settings.{name}", expected=expected, found="none")
    return kind(**recipe.settings)
