"""A login node of this machine: a real sshd on loopback, and an `ssh` that knows it as `login`."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from getpass import getuser
from pathlib import Path

import pytest

from tests.launch.launchers.cluster import free_port

NAME = "login"


@contextmanager
def login_node(folder: Path, monkeypatch: pytest.MonkeyPatch, commands: str) -> Iterator[subprocess.Popen[bytes]]:
    """Serve logins whose PATH is `commands`, with keys and configuration in `folder`; gives the daemon.

    Skips the test where sshd is missing. The client's own keys and known hosts are neither read nor changed.
    """
    sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    if sshd is None:
        pytest.skip("no sshd here")
    folder.mkdir()
    port = free_port()
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    served = {
        "ListenAddress": f"127.0.0.1:{port}",
        "HostKey": folder / "host",
        "AuthorizedKeysFile": folder / "user.pub",
        "StrictModes": "no",  # the folder of a test lies below one that everybody may write to
        "UsePAM": "no",
        "PidFile": "none",
        "SetEnv": f'PATH="{commands}" PYTHONPATH="{Path(__file__).parents[3]}"',
    }
    (folder / "sshd_config").write_text("".join(f"{key} {value}\n" for key, value in served.items()))
    (folder / "known").write_text(f"[127.0.0.1]:{port} {(folder / 'host.pub').read_text()}")
    known = {
        "HostName": "127.0.0.1",
        "Port": port,
        "User": getuser(),
        "IdentityFile": folder / "user",
        "IdentitiesOnly": "yes",
        "UserKnownHostsFile": folder / "known",
    }
    lines = "".join(f"  {key} {value}\n" for key, value in known.items())
    (folder / "config").write_text(f"Host {NAME}\n{lines}")
    _put_first(folder, monkeypatch)
    with (folder / "sshd.log").open("wb") as log:
        daemon = subprocess.Popen([sshd, "-D", "-e", "-f", folder / "sshd_config"], stdout=log, stderr=log)
    try:
        while "Server listening" not in (folder / "sshd.log").read_text():
            assert daemon.poll() is None, (folder / "sshd.log").read_text()
            time.sleep(0.05)
        yield daemon
    finally:
        daemon.terminate()
        daemon.wait()


def _put_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make `ssh` read the configuration in `folder`: it takes no other place from the environment."""
    real = shutil.which("ssh")
    (folder / "bin").mkdir()
    (folder / "bin" / "ssh").write_text(f'#!/bin/sh\nexec {real} -F {folder}/config "$@"\n')
    (folder / "bin" / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")
