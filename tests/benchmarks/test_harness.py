"""The harness counts processor time of process and children, calls in turn, and prints exactly the agreed keys."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import _harness as harness
import pytest

from tests.benchmarks.conftest import FOLDER
from tests.benchmarks.test_cores import two_cores

BURN_S = 0.1
BURN = f"import time\nend = time.process_time() + {BURN_S}\nwhile time.process_time() < end: pass"


def burn() -> None:
    """Use the processor for a while."""
    end = time.process_time() + BURN_S
    while time.process_time() < end:
        pass


def test_time_of_this_process_counts() -> None:
    assert 0.9 * BURN_S < harness.cpu_seconds(burn) < 3 * BURN_S


def test_time_of_a_child_counts_once_it_was_waited_for() -> None:
    assert harness.cpu_seconds(lambda: subprocess.run([sys.executable, "-c", BURN], check=True)) > 0.9 * BURN_S


def test_waiting_does_not_count() -> None:
    assert harness.cpu_seconds(lambda: threading.Event().wait(2 * BURN_S)) < BURN_S


@two_cores
def test_sides_that_may_run_on_several_cores_are_not_compared() -> None:
    def never(*_: object) -> None:
        raise AssertionError("called")

    for compared in (lambda: harness.interleaved(never, never), lambda: harness.woven(never)):
        with pytest.raises(SystemExit, match="must be held to the same core"):
            compared()


@pytest.mark.usefixtures("one_core")
@pytest.mark.parametrize("warm_up", [True, False])
def test_both_sides_are_called_in_turn(warm_up: bool) -> None:
    calls: list[str] = []
    harness.interleaved(lambda: calls.append("ours"), lambda: calls.append("peer"), runs=3, warm_up=warm_up)
    assert calls == ["ours", "peer"] * (4 if warm_up else 3)


@pytest.mark.usefixtures("one_core")
def test_a_peer_that_takes_turns_inside_a_call_is_distinguished_from_ours() -> None:
    def work(meter: Any) -> None:
        burn()
        with meter.peer():
            burn()
            burn()

    ours, peer = harness.woven(work, runs=1)
    assert 0.9 * BURN_S < ours < peer
    assert peer > 1.8 * BURN_S


@pytest.mark.usefixtures("one_core")
def test_the_median_is_what_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    used = iter([9.0, 2.0, 1.0, 8.0, 3.0, 4.0])
    monkeypatch.setattr(harness, "cpu_seconds", lambda _work: next(used))
    assert harness.interleaved(int, int, runs=3) == (3.0, 4.0)


@pytest.mark.usefixtures("one_core")
def test_of_woven_calls_both_sides_are_those_of_the_run_with_the_median_ratio(monkeypatch: pytest.MonkeyPatch) -> None:
    # The processor slows down from run to run: medians of each side (2.4, 2.0) would be of different runs.
    runs = iter([(1.1, 1.0), (2.4, 2.0), (3.3, 3.1), (2.2, 1.9), (4.6, 4.0)])

    def cpu_seconds(work: Callable[[], object]) -> float:
        ours, peer = next(runs)
        work()
        meters[-1].peer_s = peer
        return ours + peer

    meters: list[Any] = []
    monkeypatch.setattr(harness, "cpu_seconds", cpu_seconds)
    assert harness.woven(meters.append, runs=5) == pytest.approx((4.6, 4.0))


@pytest.fixture
def halves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours takes half a second, the peer two."""
    monkeypatch.setattr(harness, "interleaved", lambda *_, **__: (0.5, 2.0))


@pytest.mark.usefixtures("halves")
def test_a_rate_is_amount_by_seconds_and_prints_the_agreed_keys(capsys: pytest.CaptureFixture[str]) -> None:
    figure = harness.Figure("packing", "plan", "documents/CPU-s", 100)
    assert harness.compare(figure, int, int, peer_name="theirs", runs=3) == 4
    assert printed(capsys.readouterr) == {
        "bench": "packing", "figure": "plan", "unit": "documents/CPU-s", "ours": 200.0, "peer": 50.0,
        "peer_name": "theirs", "ratio": 4.0, "runs": 3,
    }  # fmt: skip


@pytest.mark.usefixtures("halves")
def test_without_an_amount_the_figure_is_a_cost(capsys: pytest.CaptureFixture[str]) -> None:
    assert harness.compare(harness.Figure("b", "f", "CPU-s"), int, int, peer_name="theirs") == 0.25
    assert printed(capsys.readouterr)["ours"] == 0.5


def test_a_figure_without_a_peer_has_no_ratio(capsys: pytest.CaptureFixture[str]) -> None:
    harness.report(harness.Figure("b", "f", "units"), 0)
    line = printed(capsys.readouterr)
    assert (line["ours"], line["peer"], line["peer_name"], line["ratio"]) == (0, None, None, None)


def test_the_packing_benchmark_runs() -> None:
    command = [sys.executable, str(FOLDER / "packing.py"), "2000"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert len(lines) == 6
    assert all(json.loads(line)["peer_name"] == "per-document BFD (numpy/python)" for line in lines)


def printed(readouterr: Callable[[], object]) -> dict[str, object]:
    (line,) = readouterr().out.splitlines()  # type: ignore[attr-defined]
    return json.loads(line)
