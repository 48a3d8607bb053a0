"""The real UI over a data root with a record worth protecting: who cannot touch it, who can, and what read-only means.
And how runs and the UI end: with everything that they started.

One UI for all: a start takes twelve CPU seconds.
"""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import quote

import psutil
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from megacpp_assets.contract.columns import COMPLETE_FILE
from megacpp_assets.launch.client import records
from tests.listening import Seen, listening_sockets
from tests.ui.attacks import ASSET, BODIES, CHANGES, FOREIGN, JSON, MADE, REPORT, WIPE, query
from tests.ui.running import (
    DATASET,
    LAUNCH,
    RUNS,
    TERMINATE,
    Ui,
    assert_every_run_ended,
    command_of,
    launch_of,
    launched_indexing,
    none_is_left_of,
    running_ui,
    sockets_of,
    status_of,
    wait_for,
)
from tests.ui.trainings import WORKER, add_training, at_work, launched_training, newest, steps_of

RELOAD = "mutation { reloadWorkspace { __typename } }"

_ONE_AFTER_ANOTHER = """
import json, sys
from megacpp_assets.cli import main
codes = []
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["megacpp", *arguments]
    try:
        main()
    except SystemExit as ended:
        codes.append(ended.code)
print(json.dumps(codes))
"""
"""Commands in one process, which imports the web server once, and their exit codes."""


@pytest.fixture(scope="module")
def seen() -> Iterator[Seen]:
    """All that listened from before the UI started; what its services listen on stays open."""
    with listening_sockets(pause=1.0) as sockets:
        yield sockets


@pytest.fixture(scope="module")
def ui(root: Path, seen: Seen) -> Iterator[Ui]:
    with running_ui(add_training(root)) as running:
        yield running


@pytest.fixture(scope="module")
def viewer(root: Path, ui: Ui) -> Iterator[Ui]:
    """A read-only UI beside the other, of the same root."""
    with running_ui(root, "--read-only") as running:
        assert running.port != ui.port
        yield running


def json_of(query: str, **variables: object) -> bytes:
    return json.dumps({"query": query, "variables": variables}).encode()


@pytest.fixture
def untouched(ui: Ui) -> Iterator[None]:
    """No run is started and no record deleted by the test."""
    before = ui.graphql(RUNS), ui.graphql(MADE)
    assert before[1]["assetOrError"]["assetMaterializations"]
    yield
    assert (ui.graphql(RUNS), ui.graphql(MADE)) == before


@pytest.mark.usefixtures("untouched")
def test_a_foreign_page_cannot_launch_by_get(ui: Ui) -> None:
    variables = quote(json.dumps({"execution": launch_of("pinned_repos")}))
    query = f"/graphql?query={quote(LAUNCH)}&variables={variables}"
    foreign = {"host": "evil.example", "origin": "http://evil.example"}
    assert ui.ask("GET", query, **foreign).status == 403
    assert ui.ask("GET", query, sec_fetch_site="cross-site").status == 403
    assert ui.ask("GET", query, sec_fetch_site="same-site", cookie=None).status == 403
    assert ui.ask("GET", query).status == 405, "nor can its own page"


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("query", [WIPE, RELOAD])
def test_a_foreign_page_cannot_change_anything_by_post(ui: Ui, query: str) -> None:
    body, plain, kind = json_of(query), "text/plain", "application/json"
    assert ui.ask("POST", "/graphql", body, content_type=plain, cookie=None).status == 415
    assert ui.ask("POST", "/graphql", body, content_type=plain).status == 415
    assert ui.ask("POST", f"/graphql?query={quote(query)}", b"", content_type=plain).status == 415
    assert ui.ask("POST", "/graphql", query.encode(), content_type="application/graphql").status == 415
    assert ui.ask("POST", "/graphql", body, content_type=kind, cookie=None).status == 401
    assert ui.ask("POST", "/graphql", body, content_type=kind, cookie=f"megacpp_ui_{ui.port}=guess").status == 401
    assert ui.ask("POST", "/graphql", body, content_type=kind, origin="http://evil.example").status == 403
    assert ui.ask("POST", "/graphql", body, content_type=kind, origin="null").status == 403
    assert ui.ask("POST", "/graphql", body, content_type=kind, sec_fetch_site="cross-site").status == 403
    assert ui.ask("POST", "/graphql", body, content_type=kind, host=f"evil.example:{ui.port}").status == 403


@pytest.mark.usefixtures("untouched")
def test_an_event_cannot_be_reported_from_outside(ui: Ui) -> None:
    path = f"/report_asset_materialization/{DATASET}/pinned_repos"
    assert ui.ask("POST", path, b"{}", content_type="application/json", cookie=None).status == 401
    assert ui.ask("POST", path, b"metadata=%7B%7D", content_type="application/x-www-form-urlencoded").status == 415


@pytest.mark.parametrize(
    ("origin", "cookie", "status"),
    [("http://evil.example", True, 403), ("null", True, 403), (None, False, 401), ("own", False, 401)],
)
def test_a_foreign_websocket_is_rejected_with_a_sentence(ui: Ui, origin: str | None, cookie: bool, status: int) -> None:
    with pytest.raises(InvalidStatus) as refused:
        subscribe(ui, f"http://127.0.0.1:{ui.port}" if origin == "own" else origin, ui.cookie if cookie else "")
    assert refused.value.response.status_code == status
    assert b"what to do: open the address" in refused.value.response.body


def subscribe(ui: Ui, origin: str | None, cookie: str) -> dict[str, object]:
    """Open Dagster's own protocol and return its first answer to a subscription."""
    query = "subscription { locationStateChangeEvents { event { message } } }"
    with connect(
        f"ws://127.0.0.1:{ui.port}/graphql",
        origin=None if origin is None else Origin(origin),
        additional_headers={"Cookie": cookie},
        subprotocols=[Subprotocol("graphql-ws")],
        proxy=None,
    ) as socket:
        socket.send(json.dumps({"type": "connection_init"}))
        first: dict[str, object] = json.loads(socket.recv())
        socket.send(json.dumps({"type": "start", "id": "1", "payload": {"query": query}}))
        socket.send(json.dumps({"type": "start", "id": "2", "payload": {"query": "subscription { nonsense }"}}))
        second = json.loads(socket.recv())
        assert (second["type"], second["id"]) == ("error", "2"), "the first one is under way, the second is judged"
        return first


def test_its_own_page_subscribes_over_a_websocket(ui: Ui) -> None:
    assert subscribe(ui, f"http://127.0.0.1:{ui.port}", ui.cookie) == {"type": "connection_ack"}


def test_the_address_opens_the_page_and_all_that_it_loads(ui: Ui) -> None:
    assert ui.ask("GET", "/", cookie=None).status == 401
    page = ui.ask("GET", "/", sec_fetch_site="none")
    assert page.status == 200 and "<title" in page.text
    script = next(part.partition('"')[0] for part in page.text.split('src="')[1:] if ".js" in part)
    assert ui.ask("GET", script, sec_fetch_site="same-origin").status == 200
    assert ui.ask("GET", script, cookie=None).status == 401
    assert ui.ask("GET", "/server_info").status == 200


ADD = """mutation Add($set: String!, $key: String!) {
  addDynamicPartition(repositorySelector: {repositoryName: "__repository__",
    repositoryLocationName: "megacpp_assets.definitions"}, partitionsDefName: $set, partitionKey: $key) {
    __typename ... on PythonError { message } } }"""
PARTITIONS = f"{{ assetNodeOrError(assetKey: {ASSET}) {{ ... on AssetNode {{ partitionKeys }} }} }}"


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("sample-kernel@v1,v2", "SpecError: partition key 'sample-kernel@v1,v2'; expected NAME@REF of letters"),
        ("../../etc/passwd", "SpecError: partition key '../../etc/passwd'; expected NAME@REF of letters"),
        ("sample-kernl@v1.0.0", "expected a pin of sample-kernl; found those of sample-kernel; what to do: "),
        ("sample-kernel@v9.9.9", "sample-kernel@v9.9.9; expected a tag, a branch, tip or a commit id; found tags v1."),
    ],
)
def test_the_dialog_that_adds_a_partition_says_why_a_key_is_rejected(ui: Ui, key: str, said: str) -> None:
    before = ui.graphql(PARTITIONS)
    body = json_of(ADD, set=f"repo_ref__{DATASET}", key=key)
    answer = json.loads(ui.ask("POST", "/graphql", body, content_type="application/json").text)
    added = answer["data"]["addDynamicPartition"]
    assert added["__typename"] == "PythonError" and said in added["message"]
    assert ui.graphql(PARTITIONS) == before


def test_the_dialog_adds_a_tag_of_upstream(ui: Ui) -> None:
    key = "sample-kernel@v1.1.0"
    assert key not in ui.graphql(PARTITIONS)["assetNodeOrError"]["partitionKeys"]
    body = json_of(ADD, set=f"repo_ref__{DATASET}", key=key)
    answer = json.loads(ui.ask("POST", "/graphql", body, content_type="application/json").text)
    assert answer["data"]["addDynamicPartition"]["__typename"] == "AddDynamicPartitionSuccess"
    assert key in ui.graphql(PARTITIONS)["assetNodeOrError"]["partitionKeys"]


@pytest.mark.usefixtures("untouched")
def test_its_own_page_launches_no_run_of_a_partition_that_does_not_exist(ui: Ui) -> None:
    body = json_of(LAUNCH, execution=launch_of("pinned_repos", "sample-kernel@v9"))
    assert '"PythonError"' in ui.ask("POST", "/graphql", body, content_type=JSON).text


def test_its_own_page_launches_a_run_that_succeeds_and_reloads(ui: Ui) -> None:
    launched = ui.graphql(LAUNCH, execution=launch_of("pinned_repos"))["launchRun"]
    assert launched["__typename"] == "LaunchRunSuccess"
    run_id = launched["run"]["runId"]
    assert wait_for(lambda: status_of(ui, run_id) in ("SUCCESS", "FAILURE") and status_of(ui, run_id)) == "SUCCESS"
    assert ui.graphql(RELOAD)["reloadWorkspace"]["__typename"] == "Workspace"


def test_the_door_is_the_only_socket_of_it_all_and_the_others_lie_in_a_private_folder(ui: Ui, seen: Seen) -> None:
    looks = seen.looks
    wait_for(lambda: seen.looks > looks + 2)
    assert seen.addresses == {"127.0.0.1"}
    own = psutil.Process(ui.process.pid)
    below = own.children(recursive=True)
    assert [c.laddr.port for p in (own, *below) for c in sockets_of(p, "tcp") if not c.raddr] == [ui.port]
    private = {Path(c.laddr).parent for p in below for c in sockets_of(p, "unix") if c.laddr.startswith("/")}
    assert len(private) == 1 and private.pop().stat().st_mode & 0o777 == 0o700


def own_post(ui: Ui, body: bytes, path: str = "/graphql") -> tuple[int, str]:
    """What the UI's own page would send, by its headers."""
    own = {"origin": f"http://127.0.0.1:{ui.port}", "sec_fetch_site": "same-origin", "content_type": JSON}
    answer = ui.ask("POST", path, body, **own)
    return answer.status, answer.text


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status"), [a[1:] for a in FOREIGN], ids=[a[0] for a in FOREIGN]
)
def test_rejected(
    ui: Ui, method: str, path: str, body: bytes | None, headers: dict[str, str | None], status: int
) -> None:
    answer = ui.ask(method, path, body, **headers)
    assert answer.status == status
    assert method == "HEAD" or "; expected " in answer.text
    assert "access-control-allow-origin" not in {name.lower() for name in answer.headers}


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize(("body", "status"), [body[1:] for body in BODIES], ids=[body[0] for body in BODIES])
def test_a_body_of_another_form_is_rejected_with_a_sentence(ui: Ui, body: bytes, status: int) -> None:
    said, text = own_post(ui, body)
    assert said == status and "; expected " in text and text.count("\n") == 1


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


_NO_DATASET = "megacpp run makes one; or correct --data-root"


def test_a_second_ui_of_one_root_and_a_port_in_use_are_rejected_with_a_remedy(
    ui: Ui, root: Path, tmp_path: Path
) -> None:
    rejected = ((root, 0, "use it or end it"), (tmp_path, ui.port, "choose another with --port"))
    asked = [["ui", "--port", str(port), "--data-root", str(folder)] for folder, port, _ in rejected]
    command = [sys.executable, "-c", _ONE_AFTER_ANOTHER, json.dumps(asked)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=800)
    assert json.loads(done.stdout.splitlines()[-1]) == [1, 1], done.stderr
    lines = done.stderr.splitlines()
    assert lines.pop(4) == f"warning: data root {tmp_path} has no dataset yet; what to do: {_NO_DATASET}"
    assert [line.split()[0] for line in lines] == ["error:", "expected", "found", "what"] * 2, done.stderr
    assert lines[3::4] == [f"  what to do: {remedy}" for _, _, remedy in rejected]


def test_a_service_that_dies_ends_the_ui_with_one_sentence(viewer: Ui) -> None:
    """The last test of the read-only UI, which ends."""
    children = psutil.Process(viewer.process.pid).children()
    server = next(child for child in children if "code-server" in command_of(child))
    server.kill()
    assert viewer.process.wait(600) == 1
    assert not [child for child in children if child.is_running()]


def run_at_work(ui: Ui) -> psutil.Process | None:
    """The process of the run, once its worker has started parsers of its own."""
    for process in psutil.Process(ui.process.pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if any(WORKER in child.cmdline() and len(child.children()) > 1 for child in process.children()):
                return process
    return None


def test_a_training_that_a_person_cancels_is_saved_and_leaves_no_process(ui: Ui, root: Path) -> None:
    run_id = launched_training(ui)
    processes = at_work(ui, root, run_id)
    before = steps_of(newest(root))
    assert ui.graphql(TERMINATE, id=run_id)["terminateRun"]["__typename"] == "TerminateRunSuccess"
    wait_for(lambda: status_of(ui, run_id) == "CANCELED")
    wait_for(lambda: none_is_left_of(processes))
    assert [record.ended for record in records.records(root)] == ["interrupted"]
    checkpoint = newest(root)
    assert checkpoint and checkpoint.verify() and steps_of(checkpoint) >= before


@pytest.mark.campaign
def test_a_training_whose_run_is_killed_leaves_no_process_and_what_it_saved(ui: Ui, root: Path) -> None:
    run_id = launched_training(ui)
    run, *below = at_work(ui, root, run_id)
    before = steps_of(newest(root))
    run.kill()
    wait_for(lambda: none_is_left_of([run, *below]))
    wait_for(lambda: status_of(ui, run_id) == "FAILURE")
    checkpoint = newest(root)
    assert checkpoint and checkpoint.verify() and steps_of(checkpoint) >= before


@pytest.mark.campaign
def test_what_a_run_started_ends_with_it_when_a_person_cancels_it(ui: Ui, root: Path) -> None:
    run_id = launched_indexing(ui)
    run = wait_for(lambda: run_at_work(ui))
    below = [run, *run.children(recursive=True)]
    assert ui.graphql(TERMINATE, id=run_id)["terminateRun"]["__typename"] == "TerminateRunSuccess"
    assert (
        wait_for(lambda: status_of(ui, run_id) not in ("STARTED", "CANCELING") and status_of(ui, run_id)) == "CANCELED"
    )
    wait_for(lambda: none_is_left_of(below))
    assert not list(root.glob(f"jsonl/*/*/{COMPLETE_FILE}"))


def test_what_a_killed_run_started_ends_with_it_and_the_run_is_started_again_until_an_interrupt_ends_everything(
    ui: Ui, root: Path
) -> None:
    """The last test of the file: the UI that all of them share ends. `running_ui` ends its UI by SIGTERM."""
    run_id = launched_indexing(ui)
    run = wait_for(lambda: run_at_work(ui))
    below = [run, *run.children(recursive=True)]
    run.kill()
    wait_for(lambda: none_is_left_of(below))
    assert wait_for(lambda: status_of(ui, run_id) != "STARTED" and status_of(ui, run_id)) == "FAILURE"
    wait_for(lambda: run_at_work(ui))
    assert ui.end(signal.SIGINT) == 0
    assert_every_run_ended(root)
