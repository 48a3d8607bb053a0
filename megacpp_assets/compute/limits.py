"""What a worker process may use while it handles a stranger's text: it dies of more, and nothing else does.

Only soft limits are set: the worker's next piece of work sets its own. What the CPU seconds of a piece decide holds on
any machine; the wall seconds are a backstop for work that waits, and wide.
"""

from __future__ import annotations

import resource
import signal


def limit_memory(size: int) -> None:
    """Let this process have `size` bytes of address space, and leave no core file."""
    _set(resource.RLIMIT_AS, size)
    _set(resource.RLIMIT_CORE, 0)


def limit_files(size: int) -> None:
    """Let this process write files of `size` bytes: more is EFBIG, and SIGXFSZ to a program that it starts."""
    _set(resource.RLIMIT_FSIZE, size)


def allow(cpu_s: int, wall_s: float) -> None:
    """From now on `cpu_s` more CPU seconds, then SIGXCPU ends this process; `wall_s` seconds, then SIGALRM does."""
    _set(resource.RLIMIT_CPU, int(used_cpu_s()) + 1 + cpu_s)
    signal.setitimer(signal.ITIMER_REAL, wall_s)


def allow_all() -> None:
    """Take the limits of `allow` back."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    _set(resource.RLIMIT_CPU, resource.getrlimit(resource.RLIMIT_CPU)[1])


def used_cpu_s() -> float:
    """CPU seconds of this process so far, all threads together."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _set(what: int, value: int) -> None:
    _, hard = resource.getrlimit(what)
    soft = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(what, (soft, hard))
