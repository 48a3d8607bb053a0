"""Faults of a bucket and of machines: nothing is visible that is not whole, and a repeated command completes.

The first test meets each kind of fault a few times. The campaigns have 1,000 requests of each kind and 200 kills.
"""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from megacpp_assets.contract.errors import MegacppError
from megacpp_assets.contract.lock.corpus_lock import CorpusLock
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.storage.bucket import objects
from megacpp_assets.storage.bucket.verification import examine_bucket
from megacpp_assets.storage.root.lock_file import read_lock, update_lock
from tests.forks import forked
from tests.storage.bucket.conftest import Shared, no_fault
from tests.storage.bucket.proxy import FAULTS, Plan, Request
from tests.storage.bucket.test_root import store_result
from tests.storage.test_publish import RESULT, SOURCE, tree

_TRIES = 12


def repeated(shared: Shared, plan: Plan, command: Callable[[], object]) -> None:
    """Run `command` under `plan` until it succeeds. What it leaves after each failure is whole."""
    for _ in range(_TRIES):
        shared.proxy.plan = plan
        try:
            command()
        except MegacppError:
            pass
        else:
            return
        finally:
            shared.proxy.plan = no_fault
        require_whole(shared)
    raise AssertionError(f"no success in {_TRIES} tries")


def suits(fault: str, request: Request) -> bool:
    """Return whether a bucket can answer `request` with `fault`."""
    return {"412": request.writes, "stale": request.is_listing}.get(fault, True)


def require_whole(shared: Shared) -> None:
    """Every artifact that a reference names is in the bucket with all of its bytes."""
    if "root" in shared.names():
        assert not [each.problems for each in examine_bucket(shared.uri) if each.problems]


def round_trip(shared: Shared, plan: Plan, version: str) -> None:
    """One machine changes the lock and stores two artifacts, another one reads them. Bytes equal those of a folder."""
    expected = store_result(shared.place / f"local{version}", version)

    def store() -> None:
        root = shared.machine("a")
        update_lock(root, lambda lock: lock.with_corpus(CorpusLock(f"set{version}", "0" * 64)))
        store_result(root, version)

    def read() -> None:
        root = shared.machine("b")
        assert f"set{version}" in read_lock(root).datasets
        found = open_artifact(root, RESULT)
        assert tree(found.verify().directory) == tree(expected.directory)
        open_artifact(root, SOURCE).verify()

    repeated(shared, plan, store)
    shared.proxy.listings.clear()  # what the other machine lists is not older than what this one has stored
    repeated(shared, plan, read)
    require_whole(shared)


def test_every_kind_of_fault_is_survived(shared: Shared) -> None:
    numbers, kinds = count(), deque(FAULTS)

    def plan(_number: int, request: Request) -> str:
        if next(numbers) % 3:
            return ""
        fault = next(kind for kind in kinds if suits(kind, request))
        kinds.remove(fault)
        kinds.append(fault)
        return fault

    round_trip(shared, plan, "1")
    assert set(shared.proxy.faults) == set(FAULTS)


@pytest.mark.campaign
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_thousand_requests_with_a_fault(shared: Shared, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = int(os.environ.get("MEGACPP_TEST_REQUESTS", "1000"))
    numbers, injected = count(), 0

    def plan(_number: int, request: Request) -> str:
        nonlocal injected
        hit = (
            suits(fault, request) and next(numbers) % 3 == 2
        )  # a read is two requests: every second would fail for ever
        injected += hit
        return fault if hit else ""

    for version in count(1):
        round_trip(shared, plan, str(version))
        if injected >= wanted:
            return


@pytest.mark.campaign
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_machine_killed_at_any_request_leaves_nothing_half_stored(shared: Shared, moment: str) -> None:
    points = int(os.environ.get("MEGACPP_TEST_KILLS", "100"))
    point = 0
    for version in count(1):
        root = shared.machine("a")
        requests = 0
        while (requests := requests + 1) and killed_at(shared, root, str(version), requests, moment):
            require_whole(shared)
            point += 1
            if point >= points:
                return
        round_trip(shared, no_fault, str(version))


def killed_at(shared: Shared, root: Path, version: str, number: int, moment: str) -> bool:
    """Store in a child process that is killed at its request of that number; return False if it ended before."""
    shared.plan(no_fault)

    def store() -> None:
        objects._open.cache_clear()
        store_result(root, version)

    child = forked(store)

    def plan(each: int, _request: Request) -> str:
        if each == number and moment == "before":
            os.kill(child, signal.SIGKILL)
            return "reset"
        return "lost" if each == number else ""

    shared.proxy.plan = plan
    ended = (0, 0)
    while ended == (0, 0):
        if moment == "after" and len(shared.proxy.requests) > number:
            os.kill(child, signal.SIGKILL)
            moment = "killed"
        ended = os.waitpid(child, os.WNOHANG)
        time.sleep(0.001)
    shared.plan(no_fault)
    return os.WIFSIGNALED(ended[1])
