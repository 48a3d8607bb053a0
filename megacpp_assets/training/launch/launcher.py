"""What a launcher is, and finding one by its name."""

from __future__ import annotations

import pkgutil
from dataclasses import MISSING, dataclass, fields
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast, get_type_hints

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe import LaunchRecipe
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


class Launcher(Protocol):
    """Where training runs. It speaks to its API only; patience, retries and release are `launch/drive.py`'s.

    A handle names what was started so that another process can look at it and release it. `Unanswered` means that the
    API did not answer, now: it is asked again. Any other error ends the attempt.
    """

    def plan(self, job: Job) -> str:
        """Exactly what `submit` would ask for, as text that a person can read."""

    def submit(self, job: Job, attempt: int, directory: Path) -> str:
        """Start the job whose file stands in `directory`, where logs go too; a handle. Asked twice it starts once."""

    def look(self, handle: str) -> Report:
        """What has become of it."""

    def release(self, handle: str) -> None:
        """Stop it and free all that it holds; nothing to do for what is gone."""


class Unanswered(Exception):
    """The launcher's API gave no answer that says anything; it may give one later."""


def names() -> tuple[str, ...]:
    """The launchers that there are: the files of `training/launchers/`."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(launchers.__path__)))


def open_launcher(recipe: LaunchRecipe) -> Launcher:
    """The launcher that the recipe names, with its settings. `SpecError` for another name and for settings that are
    not those of this launcher."""
    if recipe.launcher not in names():
        raise SpecError("launch.launcher", expected=" or ".join(names()), found=repr(recipe.launcher))
    module = import_module(f"{launchers.__name__}.{recipe.launcher}")
    return cast(Launcher, module.open_launcher(_settings(module.Settings, recipe)))


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
