"""A cluster of this machine: Debian's Slurm on loopback where it is installed, or commands that do as it does."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_COMMANDS = ("sbatch", "squeue", "sacct", "scancel", "srun")
_DAEMONS = ("slurmctld", "slurmd")


@contextmanager
def real_cluster(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """slurmctld and slurmd, as this user and without munge."""
    missing = [name for name in (*_DAEMONS, *_COMMANDS) if shutil.which(name) is None]
    if missing:
        pytest.skip(f"no {missing[0]} here")
    for name in ("state", "spool"):
        (folder / name).mkdir()
    host, plugins = socket.gethostname(), os.environ.get("SLURM_PLUGINS", "")
    controller, node = (free_port() for _ in range(2))
    settings = {
        "ClusterName": "here",
        "SlurmctldHost": f"{host}(127.0.0.1)",
        "SlurmctldPort": controller,
        "SlurmdPort": node,
        "AuthType": "auth/none",
        "CredType": "cred/none",
        "SlurmUser": "root",
        "SlurmdUser": "root",
        "StateSaveLocation": folder / "state",
        "SlurmdSpoolDir": folder / "spool",
        "SlurmctldPidFile": folder / "slurmctld.pid",
        "SlurmdPidFile": folder / "slurmd.pid",
        "ProctrackType": "proctrack/linuxproc",
        "SwitchType": "switch/none",
        "TaskPlugin": "task/none",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_CPU",
        "ReturnToService": 2,
        "KillWait": 30,
        "MpiDefault": "none",
        **({"PluginDir": plugins} if plugins else {}),
    }
    lines = [f"{name}={value}" for name, value in settings.items()]
    lines += [f"NodeName={host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()}", "PartitionName=all Nodes=ALL Default=YES"]
    (folder / "slurm.conf").write_text("\n".join(lines) + "\n")
    monkeypatch.setenv("SLURM_CONF", str(folder / "slurm.conf"))
    with (folder / "daemons.log").open("wb") as log:
        daemons = [
            subprocess.Popen([*command, "-D"], stdout=log, stderr=log)
            for command in (["slurmctld", "-i"], ["slurmd", "-N", host])
        ]
    try:
        end = time.monotonic() + 180
        while "idle" not in _answer("sinfo", "-h", "-o", "%t"):
            assert time.monotonic() < end, (folder / "daemons.log").read_text()
            time.sleep(0.2)
        yield
    finally:
        for daemon in daemons:
            daemon.terminate()
            daemon.wait()


@contextmanager
def fake_cluster(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Commands of Slurm's names that keep jobs as files and run their scripts as processes."""
    commands = folder / "commands"
    commands.mkdir()
    for name in _COMMANDS:
        file = commands / name
        file.write_text(f'#!/bin/sh\nexec {sys.executable} -m tests.launch.launchers.fake_slurm {folder} {name} "$@"\n')
        file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{commands}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    yield


def _answer(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def free_port() -> int:
    """Return a port of loopback that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port
