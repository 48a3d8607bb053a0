"""Which processor cores a measurement may use: both sides of a comparison are held to the same by CPU affinity.

Threads and processes that start later inherit it. Without it a peer's idle threads spin on another core and are charged
to it as processor time, or its work spreads over cores that the figure's name does not mention.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

_THREADS = "/proc/self/task"
_COUNTS = ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""By these the libraries of either side size their pools of threads."""


def choose(count: int) -> tuple[int, ...]:
    """`count` of the cores that this process may use; `SystemExit` if it may use fewer."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < count:
        raise SystemExit(f"a figure on {count} cores needs as many, and this process may use {len(allowed)}")
    return tuple(allowed[-count:])


def hold(cores: Sequence[int]) -> None:
    """Hold all threads of this process, and what they start from now on, to `cores`; pools get a thread for each."""
    for thread in os.listdir(_THREADS):
        os.sched_setaffinity(int(thread), cores)
    os.environ.update(dict.fromkeys(_COUNTS, str(len(cores))))
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if len(cores) > 1 else "false"


def held() -> set[int]:
    """The cores on which some thread of this process may run."""
    return set().union(*(os.sched_getaffinity(int(thread)) for thread in os.listdir(_THREADS)))
