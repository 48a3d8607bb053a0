"""The guard in front of Dagster's web server: who may ask, and in which form. It answers everything else itself.

Dagster itself authenticates nobody, runs mutations that come by GET, and accepts any Host and Origin. So any page in
the same browser could start runs and delete history.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Final

from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from megacpp_assets.ui.bodies import GRAPHQL
from megacpp_assets.ui.refusals import quoted, refusal

TOKEN_PARAMETER: Final = "token"
LOOPBACK_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
_HTTP_PORT = 80
_USE_THE_ADDRESS: Final = "open the address that `megacpp ui` printed in its terminal"

Rule = Callable[[HTTPConnection], "Response | None"]


class Door:
    """An ASGI application that passes requests of its own pages, with the `token`, to `app`.

    `port` is the port that clients name. The token comes once, in the address of the first page. Then a cookie replaces
    it, which scripts cannot read and no other site can send. Rejections are plain text: 401 without the token, 403 for
    a foreign Host or page, 400 for a path that leads elsewhere, 405 for a method and 415 for a content type.
    """

    def __init__(self, app: ASGIApp, port: int, token: str) -> None:
        self._app = app
        self._token = token.encode()
        # Cookies belong to the host, not to the port, so each guard of this machine has its own cookie.
        self._cookie = f"megacpp_ui_{port}"
        self._hosts = {f"{name}:{port}" for name in LOOPBACK_NAMES}
        if port == _HTTP_PORT:
            self._hosts |= set(LOOPBACK_NAMES)
        who: tuple[Rule, ...] = (self._host, self._site, self._origin)
        self._rules: tuple[Rule, ...] = (*who, _method, _content_type, _path, self._visitor)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request or the opening of a WebSocket, or pass it on."""
        if scope["type"] in ("http", "websocket"):
            connection = HTTPConnection(scope)
            answer = next((answer for rule in self._rules if (answer := rule(connection)) is not None), None)
            if answer is not None:
                await _send(answer, scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _host(self, connection: HTTPConnection) -> Response | None:
        """Reject a foreign Host: by DNS another site can give this server a name of its own."""
        hosts = connection.headers.getlist("host")
        if len(hosts) == 1 and hosts[0].lower() in self._hosts:
            return None
        return _refuse(403, "Host header", expected=" or ".join(sorted(self._hosts)), found=quoted(hosts))

    def _site(self, connection: HTTPConnection) -> Response | None:
        """Reject requests of foreign pages, by what the browser says. `none` means the address bar."""
        sites = connection.headers.getlist("sec-fetch-site")
        if set(sites) <= {"same-origin", "none"}:
            return None
        return _refuse(403, "Sec-Fetch-Site header", expected="a page of this server's own", found=quoted(sites))

    def _origin(self, connection: HTTPConnection) -> Response | None:
        """Reject a foreign Origin. Browsers send it with all requests that may change something and with each
        WebSocket.
        """
        origins = connection.headers.getlist("origin")
        own = f"http://{connection.headers['host'].lower()}"
        if all(origin == own for origin in origins):
            return None
        return _refuse(403, "Origin header", expected=own, found=quoted(origins))

    def _visitor(self, connection: HTTPConnection) -> Response | None:
        """Exchange the token in the first page's address for the cookie; require the cookie for everything else."""
        sent = connection.query_params.get(TOKEN_PARAMETER)
        if sent is not None and connection.scope["type"] == "http" and connection.scope["path"] == "/":
            return self._exchange(sent)
        if self._is_token(connection.cookies.get(self._cookie, "")):
            return None
        return _refuse(401, "visitor", expected="the token of this server", found="none that is right")

    def _exchange(self, sent: str) -> Response:
        if not self._is_token(sent):
            return _refuse(401, "visitor", expected="the token of this server", found="another one")
        answer = RedirectResponse("/", 303, headers={"Referrer-Policy": "no-referrer", "Cache-Control": "no-store"})
        answer.set_cookie(self._cookie, self._token.decode(), httponly=True, samesite="strict")
        return answer

    def _is_token(self, sent: str) -> bool:
        return secrets.compare_digest(sent.encode(), self._token)


def _method(connection: HTTPConnection) -> Response | None:
    """Reject other methods. GET reads and POST may change. GraphQL by GET could do both, so only its page is served."""
    if connection.scope["type"] == "websocket":
        return None
    method, path = connection.scope["method"], connection.scope["path"].rstrip("/")
    if method not in ("GET", "HEAD", "POST"):
        return _refuse(405, "method", expected="GET, HEAD or POST", found=method, do="use one of them")
    if method != "POST" and path == GRAPHQL and connection.scope["query_string"]:
        return _refuse(
            405, f"{method} {GRAPHQL}", expected="POST", found="a query in the address", do="send it by POST"
        )
    return None


def _content_type(connection: HTTPConnection) -> Response | None:
    """Require JSON: a page of another site may send a form or plain text without asking, but not JSON."""
    if connection.scope["type"] == "websocket" or connection.scope["method"] != "POST":
        return None
    types = connection.headers.getlist("content-type")
    if [kind.partition(";")[0].strip().lower() for kind in types] == ["application/json"]:
        return None
    do = "send JSON and say so in its header"
    return _refuse(415, "Content-Type of a POST", expected="application/json", found=quoted(types), do=do)


def _path(connection: HTTPConnection) -> Response | None:
    """Reject paths that lead upwards: no address of ours does."""
    path = connection.scope["path"]
    if path.isprintable() and not set(path.replace("\\", "/").split("/")) & {"..", "."}:
        return None
    return _refuse(400, "path", expected="one without .. and control characters", found=quoted([path]))


def _refuse(status: int, what: str, *, expected: str, found: str, do: str = _USE_THE_ADDRESS) -> Response:
    return refusal(status, what, expected=expected, found=found, do=do)


async def _send(answer: Response, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await WebSocket(scope, receive, send).send_denial_response(answer)
    else:
        await answer(scope, receive, send)
