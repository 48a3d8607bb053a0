from __future__ import annotations

import subprocess
import sys

_SCRIPT = """
from megacpp_assets.compute.freed_memory import return_freed_memory

def resident():
    return int(open("/proc/self/statm").read().split()[1])

blocks = [bytes(60_000) + bytes([number % 251]) for number in range(2_000)]
kept = blocks[::20]
full = resident()
del blocks
before = resident()
return_freed_memory()
print(full, before, resident())
"""


def test_freed_memory_between_what_stays_is_returned_to_the_system() -> None:
    ran = subprocess.run([sys.executable, "-c", _SCRIPT], check=True, stdout=subprocess.PIPE, text=True)
    full, before, after = map(int, ran.stdout.split())
    assert after < 0.5 * full
    assert after < before
