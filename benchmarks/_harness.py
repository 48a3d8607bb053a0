"""CPU seconds of our code beside a peer's, in one interleaved run: two callables in, one JSON line out.

Processor time and not the clock: a machine that does other things at the same time changes it little.
"""

from __future__ import annotations

import gc
import json
import math
import resource
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from _cores import held

RUNS = 5
_DIGITS = 6

Work = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Figure:
    """What is compared: `name` of benchmark `bench`, in `unit`.

    One call does `amount` units of work and the figure is units per CPU second, or CPU seconds if `amount` is None.
    """

    bench: str
    name: str
    unit: str
    amount: float | None = None

    def of(self, seconds: float) -> float:
        """The figure of a call that took `seconds` CPU seconds."""
        return seconds if self.amount is None else self.amount / seconds


class Meter:
    """Tells a peer's CPU seconds from ours where both take turns inside one call."""

    def __init__(self) -> None:
        self.peer_s = 0.0

    @contextmanager
    def peer(self) -> Iterator[None]:
        """What is used in this context is the peer's."""
        before = _used()
        try:
            yield
        finally:
            self.peer_s += _used() - before


def cpu_seconds(work: Work) -> float:
    """User and system seconds of one call of `work`: this process, all its threads, and the children it waited for.

    A process pool must therefore be closed inside `work`; what its workers used counts when they have ended.
    """
    gc.collect()
    before = _used()
    work()
    return _used() - before


def interleaved(ours: Work, peer: Work, *, runs: int = RUNS, warm_up: bool = True) -> tuple[float, float]:
    """Median CPU seconds of both, called in turn (ours, peer, ours, peer, …), after one unmeasured call of each.

    `SystemExit` unless this process is held to one core.
    """
    _require_one_core()
    if warm_up:
        ours()
        peer()
    pairs = [(cpu_seconds(ours), cpu_seconds(peer)) for _ in range(runs)]
    return statistics.median(mine for mine, _ in pairs), statistics.median(theirs for _, theirs in pairs)


def woven(work: Callable[[Meter], object], *, runs: int = RUNS) -> tuple[float, float]:
    """CPU seconds of ours and of the peer, which `work` calls itself, piece by piece, inside `Meter.peer`.

    Pieces of a second alternate, where `interleaved` alternates whole calls: a processor whose speed drifts within a
    minute is the same to both. From run to run it is not, so both are of one run: the one whose ratio is the median.
    `SystemExit` unless this process is held to one core.
    """
    _require_one_core()
    pairs = []
    for _ in range(runs):
        meter = Meter()
        together = cpu_seconds(partial(work, meter))
        pairs.append((together - meter.peer_s, meter.peer_s))
    return sorted(pairs, key=lambda pair: pair[0] / pair[1])[runs // 2]


def compare(figure: Figure, ours: Work, peer: Work, *, peer_name: str, runs: int = RUNS, warm_up: bool = True) -> float:
    """Measure both and print the line; the ratio, ours / peer."""
    mine, theirs = interleaved(ours, peer, runs=runs, warm_up=warm_up)
    return report(figure, figure.of(mine), figure.of(theirs), peer_name=peer_name, runs=runs)


def compare_woven(figure: Figure, work: Callable[[Meter], object], *, peer_name: str, runs: int = RUNS) -> float:
    """`compare` for a peer that takes its turns inside `work`."""
    mine, theirs = woven(work, runs=runs)
    return report(figure, figure.of(mine), figure.of(theirs), peer_name=peer_name, runs=runs)


def report(
    figure: Figure,
    ours: float,
    peer: float | None = None,
    *,
    peer_name: str = "",
    runs: int = 1,
    spread: float | None = None,
    limit: float | None = None,
    less: tuple[float, float] | None = None,
) -> float:
    """Print the line of a figure measured in some other way, with or without a peer; the ratio, ours / peer.

    `spread` is the standard deviation of `ours`, a mean, where that is what was measured. `limit` is what nobody can
    pass, where that was measured too. `less` are the ends of the 95 % interval of `ours` less the peer, in pairs.
    """
    ratio = ours / peer if peer else float("nan")
    line = {
        "bench": figure.bench,
        "figure": figure.name,
        "unit": figure.unit,
        "ours": _rounded(ours),
        "peer": None if peer is None else _rounded(peer),
        "peer_name": peer_name or None,
        "ratio": _rounded(ratio) if peer else None,
        "runs": runs,
        **({} if spread is None or math.isnan(spread) else {"spread": _rounded(spread)}),
        **({} if limit is None else {"limit": _rounded(limit)}),
        **({} if less is None else {"less_95": [_rounded(end) for end in less]}),
    }
    print(json.dumps(line, ensure_ascii=False), flush=True)
    return ratio


def _require_one_core() -> None:
    if len(cores := held()) != 1:
        raise SystemExit(f"both sides must be held to the same core, and may run on {sorted(cores)}: call hold() first")


def _used() -> float:
    # Not os.times(), which counts in hundredths of a second.
    parts = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(part.ru_utime + part.ru_stime for part in parts)


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
