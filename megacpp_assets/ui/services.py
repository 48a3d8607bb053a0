"""Dagster's processes beside the web server: one loads the assets and starts runs, one queues runs.

They listen on unix sockets in a private folder, and write to one log.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from dagster._core.errors import DagsterUserCodeUnreachableError
from dagster._grpc.client import DagsterGrpcClient

from megacpp_assets.contract.errors import ServiceEnded
from megacpp_assets.defs.recording.recorded_run import CODE_LOCATION
from megacpp_assets.ui.ending import Deadline

DAEMON_MODULE: Final = "megacpp_assets.ui.daemon"
_SOCKET: Final = "assets.sock"
_POLL_SECONDS = 0.2
_STEADY_SECONDS = 10
"""Seconds after which a daemon that still runs counts as sound."""


@dataclass(frozen=True, slots=True)
class Service:
    """A running process of Dagster. Its output goes to `log`."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    began: float = field(default_factory=time.monotonic)

    def require_running(self) -> None:
        """Raise `ServiceEnded` if the process ended by itself."""
        code = self.process.poll()
        if code is not None:
            found = f"it ended with code {code}"
            raise ServiceEnded(f"Dagster's {self.name}", expected="to run", found=found, do=f"read {self.log}")

    def end(self, deadline: Deadline) -> None:
        """Ask the process to end, and kill it if it takes longer than is left."""
        self.process.terminate()
        try:
            self.process.wait(deadline.left())
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class ServiceStarter:
    """Starts services with their sockets in the private `folder` and their output in `log`."""

    def __init__(self, folder: Path, log: Path) -> None:
        self._folder = folder
        self._log = log

    @property
    def workspace(self) -> Path:
        """Return the file that tells Dagster's other processes where the assets are served."""
        return self._folder / "workspace.yaml"

    def serve_assets(self) -> Service:
        """Start the process that loads the assets. It is the parent of their runs."""
        socket = str(self._folder / _SOCKET)
        place = {"socket": socket, "location_name": CODE_LOCATION}
        # JSON is valid YAML.
        self.workspace.write_text(json.dumps({"load_from": [{"grpc_server": place}]}), encoding="utf-8")
        server = ["code-server", "start", "--socket", socket, "--location-name", CODE_LOCATION]
        source = ["--module-name", CODE_LOCATION]
        return self._start("server of the assets", "dagster", *server, *source, "--log-level", "warning")

    def run_daemon(self) -> Service:
        """Start the process that takes runs from the queue and splits backfills into runs."""
        arguments = ["run", "--workspace", str(self.workspace), "--log-level", "warning"]
        return self._start("daemon", DAEMON_MODULE, *arguments)

    def kept_running(self, daemon: Service) -> Service:
        """Return the daemon, or a new one if it ended after running for a while: its state is on disk.

        A daemon that ended at once is returned, because a new one would end too.
        """
        if daemon.process.poll() is None or time.monotonic() - daemon.began < _STEADY_SECONDS:
            return daemon
        return self.run_daemon()

    def wait_for_assets(self, service: Service) -> None:
        """Wait until the assets are served. Raises `ServiceEnded`."""
        client = DagsterGrpcClient(socket=str(self._folder / _SOCKET))
        while not answers(client):
            service.require_running()
            time.sleep(_POLL_SECONDS)

    def _start(self, name: str, module: str, *arguments: str) -> Service:
        ours = [sys.executable, "-m", "megacpp_assets.ui.service", str(os.getpid()), str(self._folder)]
        with self._log.open("ab") as output:
            return Service(name, self._in_a_session_of_its_own([*ours, module, *arguments], output), self._log)

    def _in_a_session_of_its_own(self, command: list[str], output: IO[bytes]) -> subprocess.Popen[bytes]:
        """Return arguments that put the process out of reach of the terminal's Ctrl-C: the order of ending is
        decided here.

        Python imports from its working directory first, so that is the private folder.
        """
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd=self._folder,
        )


def answers(client: DagsterGrpcClient) -> bool:
    """Return whether the server at the other end of `client` answers."""
    try:
        client.ping("")
    except DagsterUserCodeUnreachableError:
        return False
    return True
