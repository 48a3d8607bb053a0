"""One list of attacks against the running server, as bytes on its port, and what a read-only UI lets nobody do."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
import pytest
import uvicorn
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from megacpp_assets.ui.bodies import Bodies
from megacpp_assets.ui.patience import HEAD_BYTES, PatientProtocol
from tests.ui.running import DATASET, RUNS, Ui, running_ui

ASSET = f'{{path: ["{DATASET}", "pinned_repos"]}}'
MADE = f"{{ assetOrError(assetKey: {ASSET}) {{ ... on Asset {{ assetMaterializations {{ runId }} }} }} }}"
WIPE = f"mutation {{ wipeAssets(assetPartitionRanges: [{{assetKey: {ASSET}}}]) {{ __typename }} }}"
REPORT = f"/report_asset_materialization/{DATASET}/pinned_repos"
JSON = "application/json"


@pytest.fixture(scope="module")
def ui(root: Path) -> Iterator[Ui]:
    with running_ui(root) as running:
        yield running


@pytest.fixture(scope="module")
def viewer(root: Path, ui: Ui) -> Iterator[Ui]:
    """A read-only UI beside the other, of the same root."""
    with running_ui(root, "--read-only") as running:
        assert running.port != ui.port
        yield running


@pytest.fixture
def untouched(ui: Ui) -> Iterator[None]:
    """No run is started and no record deleted by the test."""
    before = ui.graphql(RUNS), ui.graphql(MADE)
    assert before[1]["assetOrError"]["assetMaterializations"]
    yield
    assert (ui.graphql(RUNS), ui.graphql(MADE)) == before


def own_post(ui: Ui, body: bytes, path: str = "/graphql") -> tuple[int, str]:
    """What the UI's own page would send, by its headers."""
    own = {"origin": f"http://127.0.0.1:{ui.port}", "sec_fetch_site": "same-origin", "content_type": JSON}
    answer = ui.ask("POST", path, body, **own)
    return answer.status, answer.text


def query(document: str, **more: object) -> bytes:
    return json.dumps({"query": document, **more}).encode()


FOREIGN: list[tuple[str, str, str, bytes | None, dict[str, str | None], int]] = [
    ("another site's page reads", "GET", "/", None, {"origin": "http://evil.example"}, 403),
    ("another site's page reads, by what the browser says", "GET", "/", None, {"sec_fetch_site": "cross-site"}, 403),
    ("another port's page reads", "GET", "/", None, {"sec_fetch_site": "same-site"}, 403),
    ("a frame without an origin posts", "POST", "/graphql", query(WIPE), {"origin": "null", "content_type": JSON}, 403),
    ("a name that leads here", "GET", "/", None, {"host": "rebound.example"}, 403),
    ("a name that leads here, with our port", "GET", "/", None, {"host": "127.0.0.1.evil.example:80"}, 403),
    ("no name", "GET", "/", None, {"host": None}, 403),
    ("a mutation in the address", "GET", f"/graphql?query={quote(WIPE)}", None, {}, 405),
    ("a mutation in the address, asked for its head", "HEAD", f"/graphql?query={quote(WIPE)}", None, {}, 405),
    ("a mutation in the address of a form", "POST", f"/graphql?query={quote(WIPE)}", b"", {"content_type": ""}, 415),
    ("a form", "POST", REPORT, b"a=b", {"content_type": "application/x-www-form-urlencoded"}, 415),
    ("an upload", "POST", "/graphql", b"--x--", {"content_type": "multipart/form-data; boundary=x"}, 415),
    ("plain text", "POST", "/graphql", query(WIPE), {"content_type": "text/plain"}, 415),
    ("plain text that mentions JSON", "POST", "/graphql", query(WIPE), {"content_type": f"text/plain; {JSON}"}, 415),
    ("GraphQL's own type", "POST", "/graphql", WIPE.encode(), {"content_type": "application/graphql"}, 415),
    ("no type", "POST", "/graphql", query(WIPE), {}, 415),
    ("no cookie", "POST", "/graphql", query(WIPE), {"content_type": JSON, "cookie": None}, 401),
    ("a guessed cookie", "GET", "/", None, {"cookie": "megacpp_ui_3000=guess"}, 401),
    ("a cookie that is empty", "GET", "/", None, {"cookie": ""}, 401),
    ("a guessed token", "GET", "/?token=guess", None, {"cookie": None}, 401),
    ("other methods", "DELETE", "/graphql", None, {}, 405),
    ("a preflight", "OPTIONS", "/graphql", None, {"access_control_request_method": "POST"}, 405),
    ("files above", "GET", "/static/../../../../../etc/passwd", None, {}, 400),
    ("files above, encoded", "GET", "/static/%2e%2e/%2e%2e/webserver.py", None, {}, 400),
    ("files above, with encoded slashes", "GET", "/logs/..%2f..%2fdagster.yaml/out", None, {}, 400),
    ("files above, with backslashes", "GET", "/static/..%5c..%5cwebserver.py", None, {}, 400),
    ("a path with a NUL", "GET", "/static/js%00.js", None, {}, 400),
    ("a path with a line's end", "GET", "/static/a%0d%0aSet-Cookie:x", None, {}, 400),
]


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status"), [a[1:] for a in FOREIGN], ids=[a[0] for a in FOREIGN]
)
def test_refused(
    ui: Ui, method: str, path: str, body: bytes | None, headers: dict[str, str | None], status: int
) -> None:
    answer = ui.ask(method, path, body, **headers)
    assert answer.status == status
    assert method == "HEAD" or "; expected " in answer.text
    assert "access-control-allow-origin" not in {name.lower() for name in answer.headers}


BODIES: list[tuple[str, bytes, int]] = [
    ("a batch", json.dumps([{"query": WIPE}, {"query": WIPE}]).encode(), 400),
    ("a batch of one", json.dumps([{"query": WIPE}]).encode(), 400),
    ("a query that is a list", json.dumps({"query": [WIPE]}).encode(), 400),
    ("no query", b"{}", 400),
    ("no JSON", b"mutation { }", 400),
    ("nothing", b"", 400),
    ("bytes that are no text", b'{"query": "\xff\xfe"}', 400),
    ("brackets without end", b"[" * 200_000, 400),
    ("more than anybody has to say", b'{"query": "' + b"#" * (9 << 20) + b'"}', 413),
]


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize(("body", "status"), [body[1:] for body in BODIES], ids=[body[0] for body in BODIES])
def test_a_body_of_another_form_is_refused_with_a_sentence(ui: Ui, body: bytes, status: int) -> None:
    said, text = own_post(ui, body)
    assert said == status and "; expected " in text and text.count("\n") == 1


CHANGES: list[tuple[str, bytes]] = [
    ("plainly", query(WIPE)),
    ("under another name", query(WIPE.replace("wipeAssets", "__schema: wipeAssets"))),
    (
        "beside a query that is named",
        query(f"query Look {{ version }} {WIPE.replace('n', 'n Wipe', 1)}", operationName="Look"),
    ),
    (
        "named beside a query",
        query(f"query Look {{ version }} {WIPE.replace('mutation', 'mutation Wipe')}", operationName="Wipe"),
    ),
    ("by a fragment", query(f"mutation {{ ...F }} fragment F on Mutation {{ {WIPE[11:-2]} }}")),
    ("behind a comment and commas", query(f"# query\n,,,\ufeff{WIPE}")),
    ("with the key twice", b'{"query": "{ version }", "query": ' + json.dumps(WIPE).encode() + b"}"),
    ("with the key escaped", b'{"\\u0071uery": ' + json.dumps(WIPE).encode() + b"}"),
    ("in another encoding", json.dumps({"query": WIPE}).encode("utf-16")),
]


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("body", [change[1] for change in CHANGES], ids=[change[0] for change in CHANGES])
def test_a_read_only_ui_changes_nothing(viewer: Ui, body: bytes) -> None:
    assert own_post(viewer, body) == (
        403,
        "read-only UI; expected what changes nothing; found mutation; what to do: start `megacpp ui` without "
        "--read-only to change something\n",
    )


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize(
    "document", ["{" * 5_000, "{" + "version " * 30_000 + "}", "{ version", "mutatio\u0130n { a }"]
)
def test_a_read_only_ui_passes_on_nothing_that_it_cannot_read(viewer: Ui, document: str) -> None:
    status, text = own_post(viewer, query(document))
    assert status == 400 and text.startswith("GraphQL document; expected ")


@pytest.mark.usefixtures("untouched")
def test_a_read_only_ui_takes_no_reports_and_no_query_from_the_address(viewer: Ui) -> None:
    assert own_post(viewer, b"{}", REPORT)[0] == 403
    assert own_post(viewer, query("{ version }"), f"/graphql?query={quote(WIPE)}")[0] == 200, "the body counts"
    for path in ("/graphql/", "//graphql", "/GraphQL"):
        assert own_post(viewer, query(WIPE), path)[0] in (403, 404, 405), path


@pytest.mark.usefixtures("untouched")
def test_a_read_only_ui_shows_everything_and_says_that_nothing_may_be_launched(viewer: Ui) -> None:
    assert viewer.graphql(MADE)["assetOrError"]["assetMaterializations"]
    granted = viewer.graphql("{ permissions { permission value } }")["permissions"]
    changing = {"launch_pipeline_execution", "launch_partition_backfill", "wipe_assets", "edit_dynamic_partitions"}
    assert {each["permission"] for each in granted if not each["value"]} >= changing


@pytest.mark.usefixtures("untouched")
def test_a_websocket_runs_no_mutation(ui: Ui, viewer: Ui) -> None:
    for each in (ui, viewer):
        own = Origin(f"http://127.0.0.1:{each.port}")
        headers, protocols = {"Cookie": each.cookie}, [Subprotocol("graphql-ws")]
        address = f"ws://127.0.0.1:{each.port}/graphql"
        with connect(address, origin=own, additional_headers=headers, subprotocols=protocols, proxy=None) as opened:
            opened.send(json.dumps({"type": "start", "id": "1", "payload": {"query": WIPE}}))
            assert json.loads(opened.recv())["type"] == "error"


def test_hundreds_that_never_finish_their_request_keep_nobody_from_the_page(ui: Ui) -> None:
    with ExitStack() as held:
        for number in range(250):
            slow = held.enter_context(socket.create_connection(("127.0.0.1", ui.port)))
            slow.sendall(b"" if number % 2 else b"GET / HTTP/1.1\r\nHost: ")
        assert ui.ask("GET", "/").status == 200


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


def test_a_service_that_dies_ends_the_ui_with_one_sentence(ui: Ui) -> None:
    """The last test of the file: the UI that all of them share ends."""
    children = psutil.Process(ui.process.pid).children()
    server = next(child for child in children if "code-server" in child.cmdline())
    server.kill()
    assert ui.process.wait(180) == 1
    assert not [child for child in children if child.is_running()]
