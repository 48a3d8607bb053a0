"""Who never ends a request is cut off by the server that `megacpp ui` puts before Dagster's."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest
import uvicorn

from megacpp_assets.ui.bodies import Bodies
from megacpp_assets.ui.patience import HEAD_BYTES, PatientProtocol


async def answer_to(parts: list[bytes]) -> bytes:
    """What a server of ours that waits for a tenth of a second says to the last of `parts` until it cuts them off.

    Each of the others is answered before the next is sent.
    """

    class Impatient(PatientProtocol):
        head_seconds = 0.1

    async def behind(scope: Any, receive: Any, answer: Any) -> None:
        del scope, receive
        await answer({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await answer({"type": "http.response.body", "body": b""})

    app = Bodies(behind, read_only=False, patience=0.1)
    config = uvicorn.Config(app, http=Impatient, log_level="critical", lifespan="off", timeout_keep_alive=60)
    server = uvicorn.Server(config)
    listener = socket.create_server(("127.0.0.1", 0))
    task = asyncio.create_task(server.serve([listener]))
    reader, writer = await asyncio.open_connection(*listener.getsockname())
    try:
        for part in parts[:-1]:
            writer.write(part)
            await reader.readuntil(b"\r\n\r\n")
        writer.write(parts[-1])
        await writer.drain()
        return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()
        server.should_exit = True
        await task


HEAD = b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: "


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ([b""], b""),
        ([b"GET / HT"], b""),
        ([b"GET / HTTP/1.1\r\nA: " + b"a" * (HEAD_BYTES * 20)], b""),
        ([HEAD + b"9\r\n\r\n123"], b"HTTP/1.1 408 Request Timeout"),
        ([HEAD + b"0\r\n\r\n", b"\r\n"], b""),
        ([HEAD + b"0\r\n\r\n", b"GE"], b""),
    ],
    ids=["nothing", "half a line", "headers without end", "half a body", "then a blank line", "then half a line"],
)
def test_who_never_ends_is_cut_off(parts: list[bytes], said: bytes) -> None:
    assert asyncio.run(answer_to(parts)).partition(b"\r\n")[0] == said
