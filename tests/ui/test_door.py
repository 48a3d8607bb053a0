"""Who is let through the door, asked without a network: what is refused never reaches the server behind it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.ui.door import Door

PORT = 3000
TOKEN = "right-token"
HOME = f"127.0.0.1:{PORT}"
COOKIE = {"cookie": f"megacpp_ui_{PORT}={TOKEN}"}
JSON = {"content-type": "application/json"}


class Behind:
    """The server behind the door; it counts what reaches it."""

    reached = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.reached += 1
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"served"})
        else:
            await send({"type": "websocket.accept"})


def ask(
    method: str = "GET", path: str = "/", query: str = "", *headers: tuple[str, str], **more: str
) -> tuple[int, str, dict[str, str]]:
    """Status, text and headers of the answer; a status of 200 means that the server behind was reached."""
    behind = Behind()
    sent: list[dict[str, Any]] = []
    kind = "websocket" if method == "WEBSOCKET" else "http"
    scope = {
        "type": kind,
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers]
        + [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in more.items()],
        "scheme": "http" if kind == "http" else "ws",
        "server": ("127.0.0.1", PORT),
        "extensions": {"websocket.http.response": {}},
    }

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": f"{kind}.connect" if kind == "websocket" else "http.request"}

    asyncio.run(Door(behind, PORT, TOKEN)(scope, receive, send))
    if kind == "websocket" and sent[0]["type"] == "websocket.accept":
        assert behind.reached == 1
        return 200, "", {}
    assert (sent[0]["status"] == 200) == (behind.reached == 1)
    text = b"".join(message.get("body", b"") for message in sent).decode()
    return sent[0]["status"], text, {name.decode(): value.decode() for name, value in sent[0]["headers"]}


@pytest.mark.parametrize("host", [HOME, f"localhost:{PORT}", f"LOCALHOST:{PORT}", f"[::1]:{PORT}"])
def test_who_has_the_cookie_is_served_under_every_name_of_loopback(host: str) -> None:
    assert ask(host=host, **COOKIE)[0] == 200
    more = {"origin": f"http://{host.lower()}", "content_type": "application/json"}
    assert ask("POST", "/graphql", host=host, **more, **COOKIE)[0] == 200
    assert ask("WEBSOCKET", "/graphql", host=host, **COOKIE)[0] == 200


@given(st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=40))
def test_every_other_host_is_rejected(host: str) -> None:
    if host.lower() not in (HOME, f"localhost:{PORT}", f"[::1]:{PORT}"):
        for method in ("GET", "POST", "WEBSOCKET"):
            status, text, _ = ask(method, host=host, **COOKIE, **{"content_type": "application/json"})
            assert status == 403 and text.startswith("Host header; expected ")


def test_no_host_and_two_hosts_are_rejected() -> None:
    assert ask(**COOKIE)[0] == 403
    assert ask("GET", "/", "", ("host", HOME), ("host", "evil.example"), **COOKIE)[0] == 403
    assert ask("GET", "/", "", ("host", HOME), ("host", HOME), **COOKIE)[0] == 403


@pytest.mark.parametrize("method", ["GET", "POST", "WEBSOCKET"])
@pytest.mark.parametrize("origin", ["http://evil.example", "null", f"https://{HOME}", "http://127.0.0.1:8000", ""])
def test_a_foreign_origin_is_rejected(method: str, origin: str) -> None:
    status, text, _ = ask(method, "/graphql", host=HOME, origin=origin, content_type="application/json", **COOKIE)
    assert status == 403 and text.startswith(f"Origin header; expected http://{HOME}; found ")


@pytest.mark.parametrize("method", ["GET", "POST", "WEBSOCKET"])
@pytest.mark.parametrize("site", ["cross-site", "same-site", "anything"])
def test_a_page_of_another_site_is_rejected_also_from_another_port(method: str, site: str) -> None:
    more = {"sec_fetch_site": site, "content_type": "application/json"}
    status, text, _ = ask(method, "/graphql", host=HOME, **more, **COOKIE)
    assert status == 403 and text.startswith("Sec-Fetch-Site header; expected ")


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_its_own_pages_and_the_address_bar_are_served(site: str) -> None:
    assert ask(host=HOME, sec_fetch_site=site, **COOKIE)[0] == 200


@pytest.mark.parametrize("path", ["/graphql", "/graphql/"])
def test_graphql_by_get_is_rejected_and_its_page_is_served(path: str) -> None:
    for method in ("GET", "HEAD"):
        status, _, _ = ask(method, path, "query=mutation%7BreloadWorkspace%7B__typename%7D%7D", host=HOME, **COOKIE)
        assert status == 405
    assert ask("GET", path, host=HOME, **COOKIE)[0] == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "get"])
def test_other_methods_are_rejected(method: str) -> None:
    assert ask(method, host=HOME, **COOKIE)[0] == 405


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/graphql", "multipart/form-data; boundary=x", "text/plain;application/json", ""]
)
@pytest.mark.parametrize("path", ["/graphql", "/report_asset_materialization/x", "/"])
def test_a_post_that_is_not_json_is_rejected(path: str, kind: str) -> None:
    status, text, _ = ask("POST", path, host=HOME, content_type=kind, **COOKIE)
    assert status == 415 and "expected application/json" in text


def test_a_post_without_a_type_or_with_two_is_rejected() -> None:
    assert ask("POST", "/graphql", host=HOME, **COOKIE)[0] == 415
    both = (("content-type", "application/json"), ("content-type", "text/plain"))
    assert ask("POST", "/graphql", "", *both, host=HOME, **COOKIE)[0] == 415
    assert ask("POST", "/graphql", host=HOME, content_type="Application/JSON; charset=utf-8", **COOKIE)[0] == 200


@given(st.text(st.characters(min_codepoint=33, max_codepoint=255, exclude_characters=";"), max_size=60))
def test_without_the_token_nobody_is_served(guess: str) -> None:
    if guess.strip('"') == TOKEN:
        return
    for method in ("GET", "POST", "WEBSOCKET"):
        cookies = {"cookie": f"megacpp_ui_{PORT}={guess}", "content_type": "application/json"}
        assert ask(method, "/graphql", host=HOME, **cookies)[0] == 401
    assert ask(host=HOME)[0] == ask("WEBSOCKET", "/graphql", host=HOME)[0] == 401
    assert ask(host=HOME, cookie=f"megacpp_ui_3001={TOKEN}")[0] == 401


def test_the_token_in_the_address_is_exchanged_for_a_cookie_that_no_other_page_can_use() -> None:
    status, _, headers = ask("GET", "/", f"token={TOKEN}", host=HOME, sec_fetch_site="none")
    assert (status, headers["location"], headers["referrer-policy"]) == (303, "/", "no-referrer")
    name, *attributes = headers["set-cookie"].split("; ")
    assert name == f"megacpp_ui_{PORT}={TOKEN}"
    assert sorted(attributes) == ["HttpOnly", "Path=/", "SameSite=strict"]


def test_a_wrong_token_in_the_address_is_rejected_and_reported_where_the_right_one_is() -> None:
    for query in ("token=wrong", "token=", "token=%C3%A9"):
        status, text, headers = ask("GET", "/", query, host=HOME)
        assert status == 401 and "set-cookie" not in headers
    assert text == (
        "visitor; expected the token of this server; found another one; "
        "what to do: open the address that `megacpp ui` printed in its terminal\n"
    )


def test_the_token_opens_nothing_from_a_foreign_page() -> None:
    assert ask("GET", "/", f"token={TOKEN}", host=HOME, sec_fetch_site="cross-site")[0] == 403
    assert ask("GET", "/", f"token={TOKEN}", host="evil.example")[0] == 403
