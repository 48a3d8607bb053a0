"""Locks between real processes: who waits says for whom, readers share, and the dead hold nothing."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.storage.root.locks import LOCKS_DIRECTORY, exclusive_lock, reading, writing
from tests.forks import forked
from tests.storage.test_publish import RESULT, SOURCE, make_result, make_source, tree

PATH = "packed/set/base/4k"
HOLD = """
import sys
from pathlib import Path
from megacpp_assets.storage.root import locks
root, kind, path = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
held = {
    "reading": lambda: locks.reading(root, [path]),
    "writing": lambda: locks.writing(root, path),
    "alone": lambda: locks.exclusive_lock(root, path, "data root", expected="no other", do="wait for it"),
}
with held[kind]():
    print("held", flush=True)
    sys.stdin.read()
"""


def start(root: Path, kind: str, path: str = PATH) -> subprocess.Popen[str]:
    """A process that takes a lock and keeps it until its standard input ends."""
    command = [sys.executable, "-c", HOLD, str(root), kind, path]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def line(process: subprocess.Popen[str], stream: str) -> str:
    return str(getattr(process, stream).readline()).strip()


def silent(process: subprocess.Popen[str]) -> bool:
    """Whether the process has not said that it holds the lock."""
    assert process.stdout is not None
    return not select.select([process.stdout], [], [], 0)[0]


@contextmanager
def ended(*processes: subprocess.Popen[str]) -> Iterator[None]:
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.communicate()


@pytest.mark.parametrize(("first", "second"), [("writing", "writing"), ("writing", "reading"), ("reading", "writing")])
def test_a_waiting_process_logs_the_holder_and_continues_when_it_is_free(
    tmp_path: Path, first: str, second: str
) -> None:
    holder = start(tmp_path, first)
    assert line(holder, "stdout") == "held"
    waiter = start(tmp_path, second)
    with ended(holder, waiter):
        said = line(waiter, "stderr")
        assert said == f"waiting for {PATH}, locked by process {holder.pid} on {socket.gethostname()}"
        assert silent(waiter)
        holder.communicate("")
        assert line(waiter, "stdout") == "held"


def test_readers_do_not_wait_for_each_other(tmp_path: Path) -> None:
    readers = [start(tmp_path, "reading") for _ in range(3)]
    with ended(*readers):
        assert [line(reader, "stdout") for reader in readers] == ["held"] * 3


@pytest.mark.parametrize("kind", ["writing", "reading", "alone"])
def test_a_killed_holder_blocks_nobody(tmp_path: Path, kind: str) -> None:
    holder = start(tmp_path, kind, "run" if kind == "alone" else PATH)
    assert line(holder, "stdout") == "held"
    os.kill(holder.pid, signal.SIGKILL)
    holder.communicate()
    with writing(tmp_path, PATH), exclusive_lock(tmp_path, "run", "data root", expected="no other", do="wait for it"):
        pass


def test_a_second_run_leaves_with_the_process_and_the_host_of_the_first(tmp_path: Path) -> None:
    holder = start(tmp_path, "alone", "run")
    with ended(holder):
        assert line(holder, "stdout") == "held"
        there = f"found process {holder.pid} on {socket.gethostname()}; what to do: wait for it"
        with (
            pytest.raises(SpecError, match=there),
            exclusive_lock(tmp_path, "run", "data root", expected="no other", do="wait for it"),
        ):
            pass
    with exclusive_lock(tmp_path, "run", "data root", expected="no other", do="wait for it"):
        pass


def test_artifacts_with_the_longest_allowed_names_have_a_lock_each(tmp_path: Path) -> None:
    long = f"packed/{'d' * 100}/{'s' * 100}/{'p' * 100}"
    with writing(tmp_path, long), reading(tmp_path, [f"{long[:-1]}q"]), writing(tmp_path, PATH):
        names = sorted(file.name for file in (tmp_path / LOCKS_DIRECTORY).iterdir())
    assert len(names) == 3 and names[-1] == "packed__set__base__4k.lock"


def test_an_input_is_not_replaced_while_it_is_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    make_source(tmp_path)
    reader = start(tmp_path, "reading", SOURCE)
    assert line(reader, "stdout") == "held"
    before = tree(tmp_path / SOURCE)
    pid = forked(lambda: make_source(tmp_path, "other words"))
    with ended(reader):
        while not _waits(pid):
            assert os.waitpid(pid, os.WNOHANG) == (0, 0)
        assert tree(tmp_path / SOURCE) == before
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert tree(tmp_path / SOURCE) != before
    with reading(tmp_path, [SOURCE]):
        make_result(tmp_path)
    assert (tmp_path / RESULT).is_dir()
    assert caplog.messages == []


def _waits(pid: int) -> bool:
    """Whether the process stands at a lock that another one holds."""
    waiting = [entry for entry in Path("/proc/locks").read_text().splitlines() if "->" in entry]
    return any(str(pid) in entry.split() for entry in waiting)
