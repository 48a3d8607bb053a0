"""Finds the launcher that a recipe names, and checks its settings."""

from __future__ import annotations

import pkgutil
from dataclasses import MISSING, fields
from importlib import import_module
from typing import Any, cast, get_type_hints

from megacpp_assets.contract.errors import EnvironmentLacks, SpecError
from megacpp_assets.contract.recipe.launch import LaunchRecipe
from megacpp_assets.contract.recipe.training import TrainingRecipe
from megacpp_assets.launch import launchers
from megacpp_assets.launch.launcher import Launcher
from megacpp_assets.launch.protocol.open_exchange import EXCHANGES, require_exchange


def launcher_names() -> tuple[str, ...]:
    """Return the names of all launchers: the files of `launch/launchers/`."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(launchers.__path__)))


def launcher_for(recipe: LaunchRecipe, training: TrainingRecipe) -> Launcher:
    """Return the launcher that `recipe` names, for a training.

    `SpecError` if the launcher's machines do not have the device of the training; otherwise as `open_launcher`.
    """
    devices = _module(recipe.launcher).DEVICES
    if training.device not in devices:
        do = "set training.device, or choose another launcher (launch.launcher)"
        where = f"training.device on the launcher {recipe.launcher}"
        raise SpecError(where, expected=" or ".join(devices), found=training.device, do=do)
    return open_launcher(recipe)


def open_launcher(recipe: LaunchRecipe) -> Launcher:
    """Return the launcher that `recipe` names, with its settings.

    `SpecError` for an unknown launcher, wrong or missing settings, too many nodes, and an exchange that is missing,
    unused or no URI. `EnvironmentLacks` if a package of this launcher is not installed.
    """
    module = _module(recipe.launcher)
    if module.NEEDS_EXCHANGE != bool(recipe.exchange):
        expected = EXCHANGES if module.NEEDS_EXCHANGE else "none, because it trains in the data root"
        found = recipe.exchange or "none"
        do = "correct launch.exchange"
        raise SpecError(f"launch.exchange of the launcher {recipe.launcher}", expected=expected, found=found, do=do)
    if recipe.exchange:
        require_exchange(recipe.exchange)
    if recipe.nodes > 1 and not module.MANY_NODES:
        do = "choose the launcher slurm or kubernetes"
        where = f"launch.nodes of the launcher {recipe.launcher}"
        raise SpecError(where, expected="1", found=recipe.nodes, do=do)
    return cast(Launcher, module.open_launcher(_settings(module.Settings, recipe)))


def _module(name: str) -> Any:
    if name not in launcher_names():
        raise SpecError.unknown("launch.launcher", name, launcher_names())
    try:
        return import_module(f"{launchers.__name__}.{name}")
    except ModuleNotFoundError as error:
        do = f"pip install 'megacpp-assets[{name}]'"
        raise EnvironmentLacks(f"launcher {name}", expected=f"the package {error.name}", found="none", do=do) from error


def _settings(kind: Any, recipe: LaunchRecipe) -> Any:
    """Build the dataclass `kind` from the recipe's settings."""
    known = {entry.name: entry for entry in fields(kind)}
    hints = get_type_hints(kind)
    for name, value in recipe.settings.items():
        where = f"launch.settings.{name}"
        if name not in known:
            raise SpecError.unknown(f"launch.settings of {recipe.launcher}: key", name, known)
        if type(value) is not hints[name]:
            raise SpecError(where, expected=hints[name].__name__, found=repr(value), do="correct the value")
        if isinstance(value, int) and value < 0:
            raise SpecError(where, expected="at least 0", found=value, do="correct the value")
    for name, entry in known.items():
        if entry.default is MISSING and name not in recipe.settings:
            expected = f"a value of type {hints[name].__name__}, which the launcher {recipe.launcher} needs"
            do = f"add {name} to [launch.settings]"
            raise SpecError(f"launch.settings.{name}", expected=expected, found="none", do=do)
    return kind(**recipe.settings)
