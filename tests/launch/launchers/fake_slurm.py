"""`python -m tests.launch.launchers.fake_slurm FOLDER COMMAND …`: the five commands over a folder of jobs.

A job is a folder: its script, its process group, and its state once it has ended. With a file `away` in FOLDER every
command fails as Slurm's do while the controller is away.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil

KILL_WAIT = "kill_wait"
_GROUP, _STATE = "group", "state"
_OF_SRUN = ("--ntasks-per-node=1", "--kill-on-bad-exit=1")
_RUNNER = """
trap : TERM  # the script's own business; a handler, unlike an ignored signal, is not inherited
bash script && word=COMPLETED || word=FAILED
[ -e state ] || { echo $word > state.new; mv state.new state; }
"""


def main(folder: Path, command: str, arguments: list[str]) -> int:
    if (folder / "away").exists():
        print("slurm_load_jobs error: Unable to contact slurm controller (connect failure)", file=sys.stderr)
        return 1
    if command == "srun":
        return _run_on_each_node([argument for argument in arguments if argument not in _OF_SRUN])
    options = dict(argument[2:].split("=", 1) for argument in arguments if "=" in argument)
    if command == "sbatch":
        return _submit(folder, sys.stdin.read())
    jobs = sorted((folder / "jobs").glob(f"*.{options['name']}"), key=lambda job: int(job.name.split(".")[0]))
    if command == "scancel":
        for job in jobs:
            _end(job, "CANCELLED")
        return 0
    for job in jobs:
        state = _state(job)
        if command == "squeue" and state != "RUNNING":
            state = "COMPLETING" if _lives(job) else ""
        if state:
            print(state if options["format"] in ("%T", "State") else job.name.split(".")[0])
    return 0


def _run_on_each_node(command: list[str]) -> int:
    """A task a node, each a process here; the first that fails ends the others."""
    number = int(os.environ["SLURM_NNODES"])
    tasks = [subprocess.Popen(command, env={**os.environ, "SLURM_NODEID": str(node)}) for node in range(number)]
    with Path("tasks").open("a") as file:  # in the folder of the job
        file.writelines(f"{node} {' '.join(command)}\n" for node in range(number))
    signal.signal(signal.SIGTERM, lambda number, frame: [task.terminate() for task in tasks])
    codes = []
    for task in tasks:
        codes.append(task.wait())
        if codes[-1]:
            [other.terminate() for other in tasks]
    return max(map(abs, codes))


def _submit(folder: Path, script: str) -> int:
    name = re.findall(r"#SBATCH --job-name=(\S+)", script)[0]
    number = len(list((folder / "jobs").glob("*"))) + 1
    job = folder / "jobs" / f"{number}.{name}"
    job.mkdir(parents=True)
    (job / "script").write_text(script)
    null = subprocess.DEVNULL
    clean = {"PATH": f"{folder / 'commands'}:/usr/bin:/bin", "PYTHONPATH": os.environ["PYTHONPATH"]}
    if "#SBATCH --export=NIL\n" not in script:
        clean = {**os.environ, **clean}
    clean["SLURM_NNODES"] = re.findall(r"#SBATCH --nodes=(\d+)", script)[0]
    process = subprocess.Popen(
        ["bash", "-c", _RUNNER], cwd=job, env=clean, stdin=null, stdout=null, stderr=null, start_new_session=True
    )
    (job / _GROUP).write_text(str(process.pid))
    print(number)
    return 0


def _state(job: Path) -> str:
    file = job / _STATE
    return file.read_text().strip() if file.is_file() else "RUNNING"


def _lives(job: Path) -> bool:
    """Whether a process of it is left, if only to end."""
    group = int((job / _GROUP).read_text())
    for process in psutil.process_iter(["status"]):
        with suppress(ProcessLookupError):
            if os.getpgid(process.pid) == group and process.info["status"] != psutil.STATUS_ZOMBIE:
                return True
    return False


def _end(job: Path, state: str) -> None:
    """As Slurm does: ask, with the state noted, and kill what is left after `KillWait`, seconds in a file of the
    cluster's folder."""
    if _state(job) != "RUNNING":
        return
    (job / _STATE).write_text(state)
    group = int((job / _GROUP).read_text())
    wait = job.parent.parent / KILL_WAIT
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGTERM)
        if wait.exists():
            subprocess.Popen(["sh", "-c", f"sleep {wait.read_text()}; kill -KILL -{group}"], start_new_session=True)


def preempt(folder: Path, name: str) -> None:
    """Take the machine away, without notice."""
    for job in (folder / "jobs").glob(f"*.{name}"):
        (job / _STATE).write_text("PREEMPTED")
        with suppress(ProcessLookupError):
            os.killpg(int((job / _GROUP).read_text()), signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))
