"""`megacpp ui` as a user starts it, and clients that may say anything in their headers."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import psutil

from megacpp_assets.defs.home.instance import open_instance

DATASET = "sample_semantic_4k_v1__sample_kernel"
PARTITION = "sample-kernel@v1.0.0"
LAUNCH = """mutation Launch($execution: ExecutionParams!) {
  launchRun(executionParams: $execution) { __typename ... on LaunchRunSuccess { run { runId } } } }"""
TERMINATE = "mutation End($id: String!) { terminateRun(runId: $id) { __typename } }"
RUNS = "{ runsOrError { ... on Runs { results { runId status } } } }"
_PATIENCE = 600
_PAUSE = 0.3
"""Seconds between two questions: each takes tens of milliseconds of the server's CPU time."""
_AT_WORK = (dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING)


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    text: str
    headers: Mapping[str, str]


@dataclass
class Ui:
    """The running command; `cookie` is what its token was exchanged for."""

    process: subprocess.Popen[str]
    port: int
    token: str
    cookie: str = ""

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str | None) -> Answer:
        """Send exactly these headers beside Host and cookie; a header that is None is left out."""
        said = {"host": f"127.0.0.1:{self.port}", "cookie": self.cookie, **headers}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_PATIENCE)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in said.items():
            if value is not None:
                connection.putheader(name.replace("_", "-"), value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        found = Answer(answer.status, answer.read().decode(), dict(answer.getheaders()))
        connection.close()
        return found

    def graphql(self, query: str, **variables: Any) -> Any:
        """What the UI's own pages send."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        own = {"origin": f"http://127.0.0.1:{self.port}", "sec_fetch_site": "same-origin"}
        answer = self.ask("POST", "/graphql", body, content_type="application/json", **own)
        assert answer.status == 200, answer.text
        return json.loads(answer.text)["data"]

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send the signal and return the exit code; what is below the process then must be gone."""
        below = psutil.Process(self.process.pid).children(recursive=True)
        assert below
        self.process.send_signal(number)
        code = self.process.wait(_PATIENCE)
        assert not [process for process in below if process.is_running()]
        return code


@contextmanager
def running_ui(root: Path, *options: str) -> Iterator[Ui]:
    """`megacpp ui` over `root` on a free port, its first page opened.

    If it is still there at the end, it is asked to end, and must leave nothing of what it started.
    """
    start = "from megacpp_assets.cli import main; main()"
    command = [sys.executable, "-c", start, "ui", "--port", "0", "--data-root", str(root), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = next(line for line in process.stdout if line.startswith("open ")).split()[1]
        port, token = int(address.split(":")[2].split("/")[0]), address.partition("token=")[2]
        ui = Ui(process, port, token)
        ui.cookie = ui.ask("GET", f"/?token={token}", cookie=None).headers["set-cookie"].partition(";")[0]
        yield ui
        assert process.poll() is not None or ui.end() == 0
    finally:
        process.terminate()
        process.wait(_PATIENCE)


def wait_for(condition: Callable[[], Any]) -> Any:
    """Poll until true; ten minutes is the end of patience."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(_PAUSE)
    raise AssertionError("it did not happen within ten minutes")


def sockets_of(process: psutil.Process, kind: str) -> list[Any]:
    """The sockets of a process; none of one that has ended meanwhile."""
    with suppress(psutil.NoSuchProcess):
        return list(process.net_connections(kind))
    return []


def command_of(process: psutil.Process) -> list[str]:
    """The command line of a process; empty for one that has ended meanwhile."""
    with suppress(psutil.NoSuchProcess):
        return list(process.cmdline())
    return []


def none_is_left_of(processes: list[psutil.Process]) -> bool:
    """Not even as zombies, which an operating system has room for a number of only."""
    return not any(process.is_running() for process in processes)


def launch_of(stage: str, partition: str = PARTITION) -> dict[str, object]:
    return {
        "selector": {
            "repositoryLocationName": "megacpp_assets.definitions",
            "repositoryName": "__repository__",
            "jobName": f"{DATASET}__pinned_repos__curated_files__semantic_jsonl__job",
            "assetSelection": [{"path": [DATASET, stage]}],
        },
        "runConfigData": {},
        "executionMetadata": {"tags": [{"key": "dagster/partition", "value": partition}]},
    }


def status_of(ui: Ui, run_id: str) -> str:
    return {run["runId"]: run["status"] for run in ui.graphql(RUNS)["runsOrError"]["results"]}[run_id]


def launched_indexing(ui: Ui) -> str:
    """Launch a run of semantic_jsonl and return its id."""
    return str(ui.graphql(LAUNCH, execution=launch_of("semantic_jsonl"))["launchRun"]["run"]["runId"])


def assert_every_run_ended(root: Path) -> None:
    """No run of the data root is under way, and the newest one has an end."""
    with open_instance(root) as instance:
        assert not instance.get_runs(dg.RunsFilter(statuses=[*_AT_WORK]))
        last, *_ = instance.get_runs(limit=1)
        assert last.is_finished, "it may also have come to its end just before"
