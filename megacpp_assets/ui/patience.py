"""HTTP from clients that may take their time on purpose: who has sent no whole head of a request in time is cut off.

uvicorn waits for heads for ever, and keeps as much of one as is sent.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS: Final = 10.0
HEAD_BYTES: Final = 64 << 10
"""Of request line and headers together; browsers send a few kB."""


class PatientProtocol(HttpToolsProtocol):
    """uvicorn's connection with an end to waiting: for the first request, and for each that was begun."""

    head_seconds = HEAD_SECONDS
    _limit: asyncio.TimerHandle | None = None
    _head_bytes = 0

    def connection_made(self, transport: Any) -> None:
        """Wait for the first head."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Read on. Between two requests any byte begins the next one, a blank line too."""
        if self._limit is None and (self.cycle is None or self.cycle.response_complete):
            self._wait()
        if self._limit is not None:
            self._head_bytes += len(data)
            if self._head_bytes - len(data) > HEAD_BYTES:
                self.transport.abort()
                return
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """The head is there; its body has limits of its own."""
        self._stop_waiting()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is left to wait for."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._head_bytes = 0
        self._limit = self.loop.call_later(self.head_seconds, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None
