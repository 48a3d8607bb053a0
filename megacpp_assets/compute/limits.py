"""Resource limits of a worker process that handles untrusted text. Exceeding a limit ends the worker and nothing else.

Only soft limits are set, because the next task of the worker sets its own. The limit on CPU seconds has the same effect
on any machine. The limit on wall seconds is wide, and only catches work that waits.
"""

from __future__ import annotations

import resource
import signal


def limit_memory(size: int) -> None:
    """Limit this process to `size` bytes of address space, and disable core files."""
    _set(resource.RLIMIT_AS, size)
    _set(resource.RLIMIT_CORE, 0)


def limit_files(size: int) -> None:
    """Limit files that this process writes to `size` bytes. More is EFBIG, or SIGXFSZ in a program that it starts."""
    _set(resource.RLIMIT_FSIZE, size)


def allow(cpu_s: int, wall_s: float) -> None:
    """Allow `cpu_s` more CPU seconds (then SIGXCPU) and `wall_s` more wall seconds (then SIGALRM)."""
    _set(resource.RLIMIT_CPU, int(used_cpu_s()) + 1 + cpu_s)
    signal.setitimer(signal.ITIMER_REAL, wall_s)


def allow_all() -> None:
    """Remove the limits of `allow`."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    _set(resource.RLIMIT_CPU, resource.getrlimit(resource.RLIMIT_CPU)[1])


def used_cpu_s() -> float:
    """Return the CPU seconds of this process so far, all threads together."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _set(what: int, value: int) -> None:
    _, hard = resource.getrlimit(what)
    soft = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(what, (soft, hard))
