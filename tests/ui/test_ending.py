"""What the end of the UI leaves behind."""

from __future__ import annotations

import subprocess
import sys

_KILLS = """
import subprocess, psutil
from megacpp_assets.ui.ending import kill_all_below

found = psutil.Process.children

def first_one_ends(process, recursive=False):
    below = found(process, recursive)
    if first.poll() is None:
        first.kill()
        first.wait()
    return below

first, second = (subprocess.Popen(["sleep", "600"]) for _ in range(2))
psutil.Process.children = first_one_ends
kill_all_below()
print(psutil.pid_exists(second.pid))
"""


def test_a_process_that_ends_by_itself_does_not_keep_the_others_alive() -> None:
    done = subprocess.run([sys.executable, "-c", _KILLS], capture_output=True, text=True, check=False, timeout=120)
    assert (done.stdout.split(), done.stderr) == (["False"], "")
