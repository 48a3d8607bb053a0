"""A real HTTP server on loopback that gets alerts, and may answer badly."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Hook:
    """The server: what it got, and how it answers."""

    url: str
    got: list[dict[str, Any]] = field(default_factory=list)
    status: int = 200
    dribble_seconds: float = 0.0
    """It sends a byte of its headers every 50 ms for this time."""


@contextmanager
def hook() -> Iterator[Hook]:
    """Run the server for the block."""
    hooked = Hook("")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.headers["Content-Type"] == "application/json"
            hooked.got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            end = time.monotonic() + hooked.dribble_seconds
            try:
                while time.monotonic() < end:
                    self.wfile.write(b"H")
                    self.wfile.flush()
                    time.sleep(0.05)
                self.send_response(hooked.status)
                self.send_header("Location", "http://127.0.0.1:9/")
                self.end_headers()
            except ConnectionError:
                pass

        def log_message(self, format: str, *args: object) -> None:
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hooked.url = f"http://127.0.0.1:{server.server_address[1]}/hook"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield hooked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
