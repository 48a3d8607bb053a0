"""The bodies of POST requests: read completely, within limits of size and time, and examined before Dagster sees
them.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final

from graphql import DocumentNode, GraphQLError, OperationDefinitionNode, OperationType, parse
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from megacpp_assets.ui.refusals import refusal

GRAPHQL: Final = "/graphql"
MOST_BYTES: Final = 8 << 20
"""A backfill over ten thousand partitions names each of them, in a tenth of this size."""
PATIENCE_SECONDS: Final = 10.0
_MOST_TOKENS = 20_000
"""The most tokens of a GraphQL document. The longest of the UI's own has fewer than three thousand."""


class Bodies:
    """An ASGI application that passes a POST request to `app` after its whole body was examined, and others at once.

    GraphQL comes as one JSON object with one document. With `read_only` no operation of the document may change
    anything, and nothing but GraphQL is accepted. Rejections: 400 for another form, 403 for a change, 408 for a body
    that takes more than `patience` seconds, 413 for one of more than `most` bytes.
    """

    def __init__(
        self, app: ASGIApp, *, read_only: bool, most: int = MOST_BYTES, patience: float = PATIENCE_SECONDS
    ) -> None:
        self._app = app
        self._read_only = read_only
        self._most = most
        self._patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        try:
            async with asyncio.timeout(self._patience):
                body = await _read(Request(scope, receive), self._most)
        except ClientDisconnect:
            return
        except TimeoutError:
            expected, found = f"all of it within {self._patience:g} seconds", "a part of it"
            answer = refusal(408, "body of a POST", expected=expected, found=found, do="send it at once")
            await answer(scope, receive, send)
            return
        rejection = self._judged(scope["path"], body)
        if rejection is not None:
            await rejection(scope, receive, send)
        else:
            await self._app(scope, _again(body, receive), send)

    def _judged(self, path: str, body: bytes) -> Response | None:
        if len(body) > self._most:
            expected = f"at most {self._most} bytes"
            return refusal(413, "body of a POST", expected=expected, found="more", do="ask for less at a time")
        if path == GRAPHQL:
            return _graphql_judged(body, read_only=self._read_only)
        return _no_change(f"POST {path}") if self._read_only else None


async def _read(request: Request, most: int) -> bytes:
    """Return the body, or its beginning if it is longer than `most` bytes."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > most:
            break
    return bytes(body)


def _again(body: bytes, receive: Receive) -> Receive:
    """Return what the server receives: the examined body, then the messages of `receive`."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Message:
        return first.pop() if first else await receive()

    return received


def _graphql_judged(body: bytes, *, read_only: bool) -> Response | None:
    expected = "a JSON object with one document as its query"
    try:
        said: Any = json.loads(body)
    except (ValueError, RecursionError):
        return refusal(400, "GraphQL request", expected=expected, found="no JSON that can be read", do="send one")
    if not isinstance(said, dict) or not isinstance(said.get("query"), str):
        found = f"{type(said).__name__} without a query"
        return refusal(400, "GraphQL request", expected=expected, found=found, do="send one operation at a time")
    return _read_only_judged(said["query"]) if read_only else None


def _read_only_judged(query: str) -> Response | None:
    """Reject what cannot be parsed too, so that nothing unknown is passed on."""
    try:
        document = parse(query, no_location=True, max_tokens=_MOST_TOKENS)
    except (GraphQLError, RecursionError):
        expected = f"one of at most {_MOST_TOKENS} tokens"
        return refusal(400, "GraphQL document", expected=expected, found="none that can be read", do="correct it")
    return _no_change("mutation") if _changes(document) else None


def _changes(document: DocumentNode) -> bool:
    """Return whether any operation is a mutation. The request names the one that runs outside of the document."""
    return any(
        isinstance(part, OperationDefinitionNode) and part.operation is OperationType.MUTATION
        for part in document.definitions
    )


def _no_change(found: str) -> Response:
    do = "start `megacpp ui` without --read-only to change something"
    return refusal(403, "read-only UI", expected="what changes nothing", found=found, do=do)
