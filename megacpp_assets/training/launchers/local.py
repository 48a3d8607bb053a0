"""Training on this machine: one process, or one for each of the recipe's `processes`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from megacpp_assets.contract.recipe.training import CPU, CUDA, TPU
from megacpp_assets.training.launch.launcher import Order, Report, State
from megacpp_assets.training.processes.trainees import Trainees, command
from megacpp_assets.training.tpu import require_tpus

NEEDS_EXCHANGE: Final = False
MANY_NODES: Final = False
DEVICES: Final = (CPU, CUDA, TPU)


@dataclass(frozen=True, slots=True)
class Settings:
    """None."""


def open_launcher(settings: Settings) -> Local:
    """The launcher of this machine."""
    del settings
    return Local()


@dataclass
class Local:
    """Processes that die with this one, so that another process never finds any to look at or to release."""

    _running: dict[str, Trainees] = field(default_factory=dict)

    def plan(self, order: Order) -> str:
        """The command."""
        return " ".join(command(order.job, order.folder)) + "\n"

    def submit(self, order: Order) -> None:
        """Start it. `EnvironmentLacks` for a recipe on TPUs where this machine has none."""
        if order.job.recipe.device == TPU:
            require_tpus()
        self._running[order.name] = Trainees(order.job, order.folder)

    def look(self, name: str) -> Report:
        """By its exit code; the end of the log says why it failed."""
        trainees = self._running[name]
        code = trainees.code()
        if code is None:
            return Report(State.RUNNING)
        if code == 0:
            return Report(State.SUCCEEDED)
        return Report(State.FAILED, f"{code}: …{trainees.last_words()}")

    def release(self, name: str) -> None:
        """Ask it to save and end."""
        trainees = self._running.pop(name, None)
        if trainees is not None:
            trainees.stop()
