"""What a training can be reached by from outside: nothing, at no moment."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from megacpp_assets.trained.stage import run
from tests.listening import listening_sockets
from tests.training.world import tiny_root, tiny_spec


@pytest.mark.parametrize("processes", [1, 2])
def test_no_process_of_a_training_listens_beyond_loopback(tmp_path: Path, processes: int) -> None:
    spec = tiny_spec(tiny_root(tmp_path), processes=processes)
    with listening_sockets() as seen:
        run(spec)
    assert seen.looks > 20 and any("training.trainer" in command for command in seen.commands)
    assert not seen.beyond_loopback
    assert bool(seen.addresses) == (processes > 1), "one process needs no socket at all"
    assert not [command for command in seen.commands if "torch.distributed" in command or "torchrun" in command]


def test_the_test_detects_a_socket_on_all_interfaces() -> None:
    code = "import socket; s = socket.create_server(('0.0.0.0', 0)); print(flush=True); input()"
    with listening_sockets() as seen:
        child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
        looks = seen.looks
        while seen.looks < looks + 2:
            time.sleep(0.05)
        child.communicate(b"\n")
    assert seen.beyond_loopback == {"0.0.0.0"}
