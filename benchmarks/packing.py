"""Best-fit packing: documents planned per CPU second and row utilisation, beside best-fit decreasing per document.

Lengths are log-normal, rounded, clipped to [8, 4096]; rows hold 4096 tokens. Both sides are held to one core.
"""

from __future__ import annotations

import argparse
import sys
from bisect import bisect_left, insort
from collections.abc import Sequence

import numpy as np
from _arguments import positive, run
from _cores import choose, hold
from _harness import Figure, compare, report
from numpy.typing import NDArray

from megacpp_assets.packed.plan import RowLimits, RowPlan
from megacpp_assets.packed.strategies.choose import plan_rows

BENCH = "packing"
PEER = "per-document BFD (numpy/python)"
DOCUMENTS = 1_000_000
ROW_TOKENS = 4096
CHUNK_TOKENS = 128
DISTRIBUTIONS = ((400, 1.0), (700, 1.2), (1500, 1.0))
"""(median, sigma of the logarithm) of document lengths."""

Lengths = NDArray[np.int64]


def main(arguments: Sequence[str]) -> None:
    """Print two lines per distribution of lengths."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("documents", nargs="?", type=positive, default=DOCUMENTS, help="default: %(default)s")
    documents = parser.parse_args(arguments).documents
    hold(choose(1))
    for median, sigma in DISTRIBUTIONS:
        measure(f"median {median}, sigma {sigma}", log_normal(documents, median, sigma))


def measure(name: str, lengths: Lengths) -> None:
    """Print speed and utilisation of the plans of documents of `lengths` tokens."""
    chunks = 1 + lengths // CHUNK_TOKENS
    limits = RowLimits.of(ROW_TOKENS)

    def ours() -> RowPlan:
        return plan_rows("best_fit", lengths, chunks, limits=limits, seed=0)

    def peer() -> tuple[Lengths, int]:
        return best_fit_decreasing(lengths, ROW_TOKENS)

    speed = Figure(BENCH, f"plan {len(lengths)} documents, {name}", "documents/CPU-s", len(lengths))
    compare(speed, ours, peer, peer_name=PEER)
    plan, (row_of, rows) = ours(), peer()
    require_packed(lengths, row_of, rows)
    require_packed(lengths, rows_of(plan, len(lengths)), plan.rows)
    full = 100 * int(lengths.sum()) / ROW_TOKENS
    report(Figure(BENCH, f"utilisation, {name}", "% of row tokens"), full / plan.rows, full / rows, peer_name=PEER)


def log_normal(documents: int, median: float, sigma: float) -> Lengths:
    """Lengths in tokens of that many documents, the same at every call."""
    drawn = np.random.Generator(np.random.PCG64(0)).lognormal(np.log(median), sigma, documents)
    return np.clip(np.rint(drawn), 8, ROW_TOKENS).astype(np.int64)


def best_fit_decreasing(lengths: Lengths, capacity: int) -> tuple[Lengths, int]:
    """(row of each document, number of rows): documents one by one, longest first, each to the tightest row.

    The algorithm of Ding et al., Fewer Truncations Improve Language Modeling (ICML 2024, arXiv 2404.10830), section 3.
    The residuals that occur are kept as a sorted list: bisection in C finds the tightest one faster than a segment
    tree walked in Python. Tokens are the only limit here.
    """
    order = np.argsort(-lengths, kind="stable")
    rows_with: list[list[int]] = [[] for _ in range(capacity + 1)]
    residuals: list[int] = []
    row_of: list[int] = []
    rows = 0
    for length in lengths[order].tolist():
        place = bisect_left(residuals, length)
        if place < len(residuals):
            residual = residuals[place]
            row = rows_with[residual].pop()
            if not rows_with[residual]:
                del residuals[place]
        else:
            residual, row = capacity, rows
            rows += 1
        room = residual - length
        if room:
            if not rows_with[room]:
                insort(residuals, room)
            rows_with[room].append(row)
        row_of.append(row)
    result = np.empty(len(lengths), dtype=np.int64)
    result[order] = row_of
    return result, rows


def rows_of(plan: RowPlan, documents: int) -> Lengths:
    """The row of each document of `plan`."""
    result = np.full(documents, -1, dtype=np.int64)
    result[plan.documents] = np.repeat(np.arange(plan.rows), np.diff(plan.offsets))
    return result


def require_packed(lengths: Lengths, row_of: Lengths, rows: int) -> None:
    """`SystemExit` unless every document is in one of `rows` rows, none of which is empty or too long."""
    filled = np.bincount(row_of, weights=lengths, minlength=rows)
    if row_of.min() < 0 or len(filled) != rows or filled.max() > ROW_TOKENS or filled.min() <= 0:
        sys.exit("a plan is wrong: its speed means nothing")


if __name__ == "__main__":
    run(main)
