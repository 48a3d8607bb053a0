"""What is measured runs on the cores that were chosen, with every thread and process that either side has or starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import _cores
import pytest

from tests.benchmarks.conftest import FOLDER

SCRIPT = """
import json, os, subprocess, sys, threading
sys.path.insert(0, sys.argv[1])
from _cores import choose, held, hold
done = threading.Event()
seen = []
def wait():
    done.wait()
    seen.append(sorted(os.sched_getaffinity(0)))
threads = [threading.Thread(target=wait)]
threads[0].start()
cores = choose(int(sys.argv[2]))
hold(cores)
threads.append(threading.Thread(target=wait))
threads[1].start()
assert held() == set(cores)
done.set()
for thread in threads:
    thread.join()
ask = "import json, os; print(json.dumps([sorted(os.sched_getaffinity(0)), os.environ['RAYON_NUM_THREADS']]))"
child = json.loads(subprocess.run([sys.executable, "-c", ask], capture_output=True, check=True).stdout)
print(json.dumps([list(cores), seen, child]))
"""
ALLOWED = len(os.sched_getaffinity(0))
two_cores = pytest.mark.skipif(ALLOWED < 2, reason="needs two processor cores")


@pytest.mark.parametrize("count", [1, pytest.param(2, marks=two_cores)])
def test_threads_from_before_and_after_and_children_are_held(count: int) -> None:
    command = [sys.executable, "-c", SCRIPT, str(FOLDER), str(count)]
    cores, threads, child = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert len(cores) == count
    assert threads == [cores, cores]
    assert child == [cores, str(count)]


def test_more_cores_than_this_process_may_use_are_rejected() -> None:
    with pytest.raises(SystemExit, match=rf"on {ALLOWED + 1} cores .* may use {ALLOWED}$"):
        _cores.choose(ALLOWED + 1)
