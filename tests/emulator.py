"""The emulator of Google Cloud Storage, on loopback. It is a real HTTP server with one thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from gcp_storage_emulator.server import Server, create_server


@contextmanager
def emulator(bucket: str) -> Iterator[Server]:
    """Start an emulator that has `bucket`."""
    server = create_server("127.0.0.1", 0, in_memory=True, default_bucket=bucket)
    # Its listening socket waits for connections in a queue of five, which parallel requests fill.
    server.start()
    server._api._httpd.socket.listen(128)
    try:
        yield server
    finally:
        server.stop()
        threading.Thread.join(server._api, 5)


def url_of(server: Server) -> str:
    """Return the address of the emulator."""
    return f"http://127.0.0.1:{server._api._httpd.server_address[1]}"


def lead_clients_to(url: str, patch: pytest.MonkeyPatch) -> None:
    """Set the environment so that Google's client asks `url`, without credentials."""
    patch.setenv("STORAGE_EMULATOR_HOST", url)
    patch.setenv("GOOGLE_CLOUD_PROJECT", "none")
