"""Training as a batch job of Slurm, through Slurm's commands on this machine or, over ssh, on a login node.

The job runs in the environment of the cluster's prologue and modules, and takes its credentials from there. Nothing of
this machine's environment is exported.
"""

from __future__ import annotations

import shlex
import subprocess
from dataclasses import dataclass
from typing import Final

from megacpp_assets.contract.errors import EnvironmentLacks, SpecError, TrainingFailed
from megacpp_assets.contract.recipe.training import CPU, CUDA
from megacpp_assets.launch.launcher import AttemptOrder, AttemptState, Report, Unanswered
from megacpp_assets.training.processes.process import GRACE_SECONDS

NEEDS_EXCHANGE: Final = True
MANY_NODES: Final = True
DEVICES: Final = (CPU, CUDA)
_ANSWER_SECONDS: Final = 60
_ACCOUNTING: Final = ("sacct", "--noheader", "--parsable2", "--allocations", "--format=State")
_SSH_FAILED: Final = 255
_TEMPORARY: Final = ("unable to contact", "connection", "timed out", "temporarily", "try again", "socket")
_ALIVE: Final = {"PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED", "RESIZING", "SIGNALING", "STAGE_OUT"}
_TAKEN_AWAY: Final = {"PREEMPTED", "NODE_FAIL", "REQUEUED", "REVOKED", "BOOT_FAIL"}


@dataclass(frozen=True, slots=True)
class Settings:
    """`ssh` is the login node; "" is this machine. `python` belongs to an environment with megacpp_assets. `scratch` is
    a folder of the nodes. `options` are passed to sbatch; the accelerators follow from the recipe.
    """

    ssh: str = ""
    python: str = "python"
    scratch: str = "/tmp"  # noqa: S108  each attempt creates its own folder in it
    partition: str = ""
    account: str = ""
    time_minutes: int = 0
    memory_gib: int = 0
    options: str = ""


def open_launcher(settings: Settings) -> Slurm:
    """Return the launcher of a cluster.

    `SpecError` for a partition or an account of several words, because sbatch would read the second as an option.
    """
    for name in ("partition", "account"):
        value = getattr(settings, name)
        if len(value.split()) > 1:
            raise SpecError(f"launch.settings.{name}", expected="one word", found=repr(value), do="correct the setting")
    return Slurm(settings)


@dataclass(frozen=True, slots=True)
class Slurm:
    """Submits one job per attempt. Slurm's requeueing is off, because `drive` starts the next attempt."""

    settings: Settings

    def plan(self, order: AttemptOrder) -> str:
        """Return the batch script."""
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
        # One task per node. Slurm ends all of them as soon as one fails.
        each = ["srun", "--ntasks-per-node=1", "--kill-on-bad-exit=1"] if order.nodes > 1 else []
        command = shlex.join([*each, *order.command(folder, settings.python, "SLURM_NODEID")])
        # The job runs in the background, so that the shell can pass a signal on and still return the exit code.
        clear = shlex.quote(f"trap '' TERM INT; {shlex.join([*each, 'rm', '-rf', folder])}")
        script = ["umask 077", f"trap {clear} EXIT", f"{command} &", "child=$!"]
        script += ["trap 'kill -TERM $child' TERM INT", "wait $child; code=$?"]
        script += ["while kill -0 $child 2>/dev/null; do wait $child; code=$?; done", "exit $code"]
        return "\n".join(["#!/bin/bash -l", *lines, "#SBATCH --no-requeue", *script, ""])

    def submit(self, order: AttemptOrder) -> None:
        """Pass the script to sbatch on standard input, unless a job of that name exists."""
        if self._ids(order.name):
            return
        self._ask(["sbatch", "--parsable"], self.plan(order))

    def look(self, name: str) -> Report:
        """Return the state that squeue knows, and after the controller has forgotten the job, the accounting's."""
        states = self._ask(["squeue", "--noheader", "--states=all", "--format=%T", f"--name={name}"]).split()
        if not states:
            states = self._ask([*_ACCOUNTING, f"--name={name}"]).split()
        word = states[-1] if states else ""
        if word in _ALIVE:
            return Report(AttemptState.RUNNING)
        if word == "COMPLETED":
            return Report(AttemptState.SUCCEEDED)
        return Report(
            AttemptState.PREEMPTED if word in _TAKEN_AWAY else AttemptState.FAILED,
            word or "Slurm does not know the job",
        )

    def release(self, name: str) -> None:
        """Cancel the job. `Unanswered` until it has left the queue, because its processes may still be ending."""
        if not self._ids(name):
            return
        self._ask(["scancel", f"--name={name}"])
        if self._ids(name):
            raise Unanswered(f"job {name}: its processes are still ending")

    def _ids(self, name: str) -> list[str]:
        """Return the ids of waiting and running jobs of that name."""
        return self._ask(["squeue", "--noheader", "--format=%i", f"--name={name}"]).split()

    def _ask(self, command: list[str], text: str = "") -> str:
        """Return the output of a Slurm command."""
        ssh = self.settings.ssh
        full = ["ssh", "-o", "BatchMode=yes", "--", ssh, shlex.join(command)] if ssh else command
        try:
            done = subprocess.run(
                full, input=text, capture_output=True, text=True, timeout=_ANSWER_SECONDS, check=False
            )
        except FileNotFoundError as error:
            do = "install Slurm's client commands, or set launch.settings.ssh to a login node"
            raise EnvironmentLacks(
                f"the command {full[0]}", expected="an installed one", found="none", do=do
            ) from error
        except subprocess.TimeoutExpired as error:
            raise Unanswered(f"{command[0]} within {_ANSWER_SECONDS} s") from error
        if done.returncode == 0:
            return done.stdout
        words = " ".join(done.stderr.split())[-500:]
        if done.returncode == _SSH_FAILED or any(sign in words.lower() for sign in _TEMPORARY):
            raise Unanswered(f"{command[0]}: {words}")
        raise TrainingFailed(
            command[0], expected="exit code 0", found=f"{done.returncode}: {words}", do="see its options"
        )
