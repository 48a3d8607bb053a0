"""A launcher whose machines are processes here, each of which runs the very command that a real one would."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from megacpp_assets.launch.launcher import AttemptOrder, AttemptState, Report, Unanswered


@dataclass
class Processes:
    """`fault` is called at each look with the process and the number of the attempt and may do to it what it likes."""

    scratch: Path
    fault: Callable[[subprocess.Popen[bytes], int], None] = lambda process, attempt: None
    preemptible: bool = True
    unanswered: int = 0
    grace_seconds: float = 60
    python: str = sys.executable
    machines: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    attempts: int = 0

    def plan(self, order: AttemptOrder) -> str:
        return " ".join(order.command("/scratch"))

    def submit(self, order: AttemptOrder) -> None:
        self.attempts += 1
        self.machines[order.name] = subprocess.Popen(order.command(str(self.scratch / order.name), self.python))

    def look(self, name: str) -> Report:
        if self.unanswered:
            self.unanswered -= 1
            raise Unanswered("503 Service Unavailable")
        machine = self.machines[name]
        self.fault(machine, self.attempts)
        code = machine.poll()
        if code is None:
            return Report(AttemptState.RUNNING)
        if code == 0:
            return Report(AttemptState.SUCCEEDED)
        taken = code < 0 and self.preemptible
        return Report(AttemptState.PREEMPTED if taken else AttemptState.FAILED, f"exit code {code}")

    def release(self, name: str) -> None:
        machine = self.machines.get(name)
        if machine is not None:
            machine.terminate()
            try:
                machine.wait(self.grace_seconds)
            except subprocess.TimeoutExpired:
                machine.kill()
                machine.wait()

    @property
    def left(self) -> list[str]:
        """Machines that still run."""
        return [name for name, machine in self.machines.items() if machine.poll() is None]
