"""The server of the assets and the daemon as processes of their own, for containers: commands of Dagster."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.defs.home.instance import prepare_home
from megacpp_assets.defs.recording.recorded_run import CODE_LOCATION
from megacpp_assets.ui.services import DAEMON_MODULE

_MOST_PORT = 65535


def serve_code(root: Path, listen: str, port: int) -> None:
    """Become the server of the assets of `root`. Runs are its children."""
    prepare_home(root)
    place = ["--host", listen, "--port", str(port), "--location-name", CODE_LOCATION]
    _become("dagster", "code-server", "start", *place, "--module-name", CODE_LOCATION, "--log-level", "warning")


def run_daemon(root: Path, code: str) -> None:
    """Become Dagster's daemon for the assets that are served at `code`."""
    prepare_home(root)
    workspace = write_workspace(Path(tempfile.mkdtemp(prefix="megacpp-daemon-")), code)
    _become(DAEMON_MODULE, "run", "--workspace", str(workspace), "--log-level", "warning")


def write_workspace(folder: Path, code: str) -> Path:
    """Write the file that tells Dagster's processes where the assets are served. `SpecError` unless it is HOST:PORT."""
    host, separator, port = code.rpartition(":")
    if not separator or not host or not port.isdecimal() or not 0 < int(port) <= _MOST_PORT:
        raise SpecError("--code", expected="HOST:PORT", found=repr(code), do="write for example 127.0.0.1:4000")
    place = {"host": host.strip("[]"), "port": int(port), "location_name": CODE_LOCATION}
    file = folder / "workspace.yaml"
    # JSON is valid YAML.
    file.write_text(json.dumps({"load_from": [{"grpc_server": place}]}), encoding="utf-8")
    return file


def _become(module: str, *arguments: str) -> None:
    """Replace this process, so that signals reach Dagster's own."""
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", module, *arguments])  # noqa: S606 - a list, and our own modules
