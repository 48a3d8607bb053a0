"""Training on this machine: one process, or one for each of the recipe's `processes`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from megacpp_assets.contract.recipe.training import CPU, CUDA, TPU
from megacpp_assets.launch.launcher import AttemptOrder, AttemptState, Report
from megacpp_assets.training.processes.training_processes import TrainingProcesses, command
from megacpp_assets.training.tpu import require_tpus

NEEDS_EXCHANGE: Final = False
MANY_NODES: Final = False
DEVICES: Final = (CPU, CUDA, TPU)


@dataclass(frozen=True, slots=True)
class Settings:
    """This launcher has no settings."""


def open_launcher(settings: Settings) -> Local:
    """Return the launcher of this machine."""
    del settings
    return Local()


@dataclass
class Local:
    """Starts processes that die with this one. So no other process ever has to look at them or release them."""

    _running: dict[str, TrainingProcesses] = field(default_factory=dict)

    def plan(self, order: AttemptOrder) -> str:
        """Return the command."""
        return " ".join(command(order.job, order.folder)) + "\n"

    def submit(self, order: AttemptOrder) -> None:
        """Start the processes. `EnvironmentLacks` if the recipe trains on TPUs and this machine has none."""
        if order.job.recipe.device == TPU:
            require_tpus()
        self._running[order.name] = TrainingProcesses(order.job, order.folder)

    def look(self, name: str) -> Report:
        """Return the state from the exit code. The reason of a failure is the end of the log."""
        training_processes = self._running[name]
        code = training_processes.code()
        if code is None:
            return Report(AttemptState.RUNNING)
        if code == 0:
            return Report(AttemptState.SUCCEEDED)
        return Report(AttemptState.FAILED, f"{code}: …{training_processes.log_tail()}")

    def release(self, name: str) -> None:
        """Ask the processes to save and end."""
        training_processes = self._running.pop(name, None)
        if training_processes is not None:
            training_processes.stop()
