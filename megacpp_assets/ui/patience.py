"""HTTP with a time limit for slow clients: a connection that sends no complete head in time is closed.

uvicorn waits for heads without limit, and keeps what was sent.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS: Final = 10.0
HEAD_BYTES: Final = 64 << 10
"""Bytes of request line and headers together. Browsers send a few kB."""


class PatientProtocol(HttpToolsProtocol):
    """uvicorn's connection with a time limit for the first request and for each request that has begun."""

    head_seconds = HEAD_SECONDS
    _limit: asyncio.TimerHandle | None = None
    _head_bytes = 0

    def connection_made(self, transport: Any) -> None:
        """Start to wait for the first head."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Read on. Between two requests any byte begins the next one, even a blank line."""
        if self._limit is None and (self.cycle is None or self.cycle.response_complete):
            self._wait()
        if self._limit is not None:
            self._head_bytes += len(data)
            if self._head_bytes - len(data) > HEAD_BYTES:
                self.transport.abort()
                return
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """The head is complete. Its body has limits of its own."""
        self._stop_waiting()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop to wait."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._head_bytes = 0
        self._limit = self.loop.call_later(self.head_seconds, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None
