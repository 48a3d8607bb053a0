"""What Dagster hears of a run: messages in the form that its own reader expects."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path

import pytest

from megacpp_assets.training.pipes import reporting
from megacpp_assets.training.record import StepMetrics

CONTEXT = {
    "data": {
        "asset_keys": ["trained_checkpoint"],
        "run_id": "1",
        "extras": {},
        "code_version_by_asset_key": {"trained_checkpoint": None},
        "provenance_by_asset_key": {"trained_checkpoint": None},
        "partition_key": None,
        "partition_key_range": None,
        "partition_time_window": None,
        "job_name": None,
        "retry_number": 0,
    }
}


@pytest.fixture
def messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The environment that a Pipes client gives a process; the file that the process sends its messages through."""

    def encoded(value: object) -> str:
        return base64.b64encode(zlib.compress(json.dumps(value).encode())).decode()

    file = tmp_path / "messages.jsonl"
    file.touch()
    monkeypatch.setenv("DAGSTER_PIPES_CONTEXT", encoded(CONTEXT))
    monkeypatch.setenv("DAGSTER_PIPES_MESSAGES", encoded({"path": str(file)}))
    return file


def send(steps: int, rank: int) -> None:
    with reporting(steps, rank) as report:
        for step in range(1, steps + 1):
            report(StepMetrics(step, 1.0 / step, 10))


def test_rank_0_sends_about_twenty_messages_and_the_last_step(messages: Path) -> None:
    send(110, rank=0)
    sent = [json.loads(line) for line in messages.read_text().splitlines()]
    told = [m["params"]["payload"] for m in sent if m["method"] == "report_custom_message"]
    assert [payload["step"] for payload in told] == list(range(5, 111, 5))
    assert told[-1] == {"step": 110, "steps": 110, "loss": 1.0 / 110}
    assert sent[0]["method"] == "opened" and sent[-1]["method"] == "closed"


def test_other_ranks_send_nothing(messages: Path) -> None:
    send(10, rank=1)
    assert messages.read_text() == ""


def test_without_dagster_nobody_is_told(tmp_path: Path) -> None:
    send(10, rank=0)
    assert not list(tmp_path.iterdir())
