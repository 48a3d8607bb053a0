"""An API server for tests, on loopback: JSON over HTTP, with the ways in which real ones fail to answer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import repeat
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

CLEAN = {"PATH": "/usr/bin:/bin"}
"""What a machine of a provider has of this one's environment."""


class Machine:
    """A command that runs as a process group of its own, in a clean environment, with its output in a file."""

    def __init__(self, command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "machine.log"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env={**CLEAN, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def code(self) -> int | None:
        """None while it runs."""
        return self._process.poll()

    def signal(self, number: int) -> None:
        """To all of its processes."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def end(self, grace_seconds: float = 5.0) -> None:
        """As providers do: ask, and switch off after a while."""
        self.signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(grace_seconds)
        self.signal(signal.SIGKILL)
        self._process.wait()


class Refusal(Exception):
    """The status and the message of an answer that is none."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def _parsed(data: bytes) -> Any:
    """A body as JSON; None for none, and for a form."""
    try:
        return json.loads(data)
    except ValueError:
        return None


class FakeApi:
    """`failing` are the statuses that the next requests get, 0 for no answer at all; at their end it works again."""

    def __init__(self) -> None:
        self.created = 200
        self.failing: Iterator[int] = iter(())
        self.bodies: list[bytes] = []
        self.lock = threading.RLock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def fail(self, *statuses: int) -> None:
        """The next requests get these statuses, one each, 0: their connection is closed without a word; one alone is
        that of every request."""
        self.failing = iter(statuses) if len(statuses) > 1 else repeat(*statuses)

    def work(self) -> None:
        """Again."""
        self.failing = iter(())

    def answer(self, method: str, path: str, query: Mapping[str, str], body: Any) -> Any:
        """The answer to one request; `Refusal` for another status than 200."""
        raise NotImplementedError

    def faulted(self) -> int | None:
        with self.lock:
            return next(self.failing, None)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        api = self

        class Handler(BaseHTTPRequestHandler):
            def do(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                data = self.rfile.read(length)
                api.bodies.append(data)
                failing = api.faulted()
                if failing == 0:
                    self.close_connection = True
                    return
                parts = urlsplit(self.path)
                try:
                    if failing:
                        raise Refusal(failing, f"status {failing}, as the test has it")
                    with api.lock:
                        query = dict(parse_qsl(parts.query))
                        found = api.answer(self.command, parts.path, query, _parsed(data))
                    self._send(api.created if self.command == "POST" else 200, found)
                except Refusal as refusal:
                    said = {"message": str(refusal), "code": refusal.status}
                    self._send(refusal.status, {**said, "error": said, "kind": "Status", "apiVersion": "v1"})

            do_GET = do_POST = do_DELETE = do  # noqa: N815  the names that the base class calls

            def _send(self, status: int, answer: Any) -> None:
                data = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *words: Any) -> None:
                del words

        return Handler
