"""Training as a batch job of Slurm, through its commands here or on a login node over ssh.

What the job runs in, credentials included, is the environment of the cluster's own prologue and modules: nothing of
this machine's environment is exported.
"""

from __future__ import annotations

import shlex
import subprocess
from dataclasses import dataclass
from typing import Final

from megacpp_assets.contract.errors import EnvironmentLacks, SpecError, TrainingFailed
from megacpp_assets.contract.recipe.training import CPU, CUDA
from megacpp_assets.training.launch.launcher import Order, Report, State, Unanswered
from megacpp_assets.training.processes.process import GRACE_SECONDS

NEEDS_EXCHANGE: Final = True
MANY_NODES: Final = True
DEVICES: Final = (CPU, CUDA)
_ANSWER_SECONDS: Final = 60
_ACCOUNTING: Final = ("sacct", "--noheader", "--parsable2", "--allocations", "--format=State")
_SSH_FAILED: Final = 255
_NOT_NOW: Final = ("unable to contact", "connection", "timed out", "temporarily", "try again", "socket")
_LIVING: Final = {"PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED", "RESIZING", "SIGNALING", "STAGE_OUT"}
_TAKEN_AWAY: Final = {"PREEMPTED", "NODE_FAIL", "REQUEUED", "REVOKED", "BOOT_FAIL"}


@dataclass(frozen=True, slots=True)
class Settings:
    """`ssh` is the login node, "" for this machine. `python` is that of an environment with megacpp_assets, `scratch` a
    folder of the nodes. `options` go to sbatch as they are; what accelerator it takes follows from the recipe.
    """

    ssh: str = ""
    python: str = "python"
    scratch: str = "/tmp"  # noqa: S108  each attempt makes a folder of its own there
    partition: str = ""
    account: str = ""
    time_minutes: int = 0
    memory_gib: int = 0
    options: str = ""


def open_launcher(settings: Settings) -> Slurm:
    """Return the launcher of a cluster. `SpecError` for a partition or an account that is more than one word, because
    sbatch would read the second word as another option."""
    for name in ("partition", "account"):
        value = getattr(settings, name)
        if len(value.split()) > 1:
            raise SpecError(f"launch.settings.{name}", expected="one word", found=repr(value))
    return Slurm(settings)


@dataclass(frozen=True, slots=True)
class Slurm:
    """A job of the order's name. Slurm's own requeueing is off: an attempt is one job, and `drive` begins the next."""

    settings: Settings

    def plan(self, order: Order) -> str:
        """The batch script."""
        settings, training = self.settings, order.job.recipe
        cuda = training.device == CUDA
        wanted = {
            "job-name": order.name,
            "nodes": str(order.nodes),
            "ntasks": str(order.nodes),
            "cpus-per-task": str(order.processes * training.threads),
            "gpus-per-node": str(order.processes) if cuda else "",
            "partition": settings.partition,
            "account": settings.account,
            "time": str(settings.time_minutes or ""),
            "mem": f"{settings.memory_gib}G" if settings.memory_gib else "",
            "signal": f"B:TERM@{2 * GRACE_SECONDS}",
            "export": "NIL",
            "output": "/dev/null",
        }
        lines = [f"#SBATCH --{name}={value}" for name, value in wanted.items() if value]
        lines += [f"#SBATCH {shlex.quote(option)}" for option in shlex.split(settings.options)]
        folder = f"{settings.scratch}/{order.name}"
        # One task a node, which Slurm ends with the others as soon as one fails.
        each = ["srun", "--ntasks-per-node=1", "--kill-on-bad-exit=1"] if order.nodes > 1 else []
        command = shlex.join([*each, *order.command(folder, settings.python, "SLURM_NODEID")])
        # The shell waits in the background so that a signal to it alone reaches the job, and the job's code comes out.
        clear = shlex.quote(f"trap '' TERM INT; {shlex.join([*each, 'rm', '-rf', folder])}")
        script = ["umask 077", f"trap {clear} EXIT", f"{command} &", "child=$!"]
        script += ["trap 'kill -TERM $child' TERM INT", "wait $child; code=$?"]
        script += ["while kill -0 $child 2>/dev/null; do wait $child; code=$?; done", "exit $code"]
        return "\n".join(["#!/bin/bash -l", *lines, "#SBATCH --no-requeue", *script, ""])

    def submit(self, order: Order) -> None:
        """Through sbatch's standard input."""
        if self._ids(order.name):
            return
        self._ask(["sbatch", "--parsable"], self.plan(order))

    def look(self, name: str) -> Report:
        """squeue for as long as the controller remembers it, then the accounting."""
        states = self._ask(["squeue", "--noheader", "--states=all", "--format=%T", f"--name={name}"]).split()
        if not states:
            states = self._ask([*_ACCOUNTING, f"--name={name}"]).split()
        word = states[-1] if states else ""
        if word in _LIVING:
            return Report(State.RUNNING)
        if word == "COMPLETED":
            return Report(State.SUCCEEDED)
        return Report(State.PREEMPTED if word in _TAKEN_AWAY else State.FAILED, word or "Slurm does not know it")

    def release(self, name: str) -> None:
        """scancel, by name; it is gone when it has left the queue, as its processes have by then."""
        if not self._ids(name):
            return
        self._ask(["scancel", f"--name={name}"])
        if self._ids(name):
            raise Unanswered(f"job {name}: its processes are still ending")

    def _ids(self, name: str) -> list[str]:
        """Of the jobs of that name that wait or run."""
        return self._ask(["squeue", "--noheader", "--format=%i", f"--name={name}"]).split()

    def _ask(self, command: list[str], text: str = "") -> str:
        """The answer of a command of Slurm."""
        ssh = self.settings.ssh
        full = ["ssh", "-o", "BatchMode=yes", "--", ssh, shlex.join(command)] if ssh else command
        try:
            done = subprocess.run(
                full, input=text, capture_output=True, text=True, timeout=_ANSWER_SECONDS, check=False
            )
        except FileNotFoundError as error:
            do = "install Slurm's client, or set launch.settings.ssh to a login node"
            raise EnvironmentLacks(
                f"the command {full[0]}", expected="an installed one", found="none", do=do
            ) from error
        except subprocess.TimeoutExpired as error:
            raise Unanswered(f"{command[0]} within {_ANSWER_SECONDS} s") from error
        if done.returncode == 0:
            return done.stdout
        words = " ".join(done.stderr.split())[-500:]
        if done.returncode == _SSH_FAILED or any(sign in words.lower() for sign in _NOT_NOW):
            raise Unanswered(f"{command[0]}: {words}")
        raise TrainingFailed(
            command[0], expected="exit code 0", found=f"{done.returncode}: {words}", do="see its options"
        )
