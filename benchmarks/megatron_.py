"""Writing a `.bin` and `.idx` pair, beside megatron-core's `IndexedDatasetBuilder` and a bare write of the same bytes.

Documents are of log-normal length; ours takes those of a block of rows at once, as the stage gives them, and the peer
one document at a time, which is all that it can. Both give the same bytes. `limit` is the bare write.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _arguments import positive, run
from _cores import choose, hold
from _harness import RUNS, Figure, cpu_seconds, interleaved, report
from numpy.typing import NDArray
from packing import log_normal

from megacpp_assets.contract.tokens.specials import BOS_ID
from megacpp_assets.megatron.pair.writer import open_writer

BENCH = "megatron"
PEER = "megatron-core IndexedDatasetBuilder"
VOCABULARY = 65_536
TOKENS = 16_000_000
BLOCK_TOKENS = 1 << 22
MEDIANS = (100, 700, 4096)
"""Medians of the documents' lengths in tokens, which are at most 4,096; sigma of the logarithm is 1."""


def main(arguments: Sequence[str]) -> None:
    """Print a line for each length of documents."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=positive, default=RUNS, help="measured calls (default: %(default)s)")
    runs = parser.parse_args(arguments).runs
    hold(choose(1))
    for median in MEDIANS:
        lengths = log_normal(TOKENS // median, median, 1.0)
        with tempfile.TemporaryDirectory() as name:
            measure(Path(name), f"median {median}", lengths[: int(np.searchsorted(np.cumsum(lengths), TOKENS))], runs)


def measure(folder: Path, name: str, lengths: NDArray[np.int64], runs: int) -> None:
    """Print the line of documents of these lengths; `SystemExit` if the two sides write other bytes."""
    tokens = np.random.default_rng(0).integers(64, VOCABULARY, int(lengths.sum())).astype(np.int32)
    tokens[np.cumsum(lengths) - lengths] = BOS_ID
    builder = peer_builder()
    ours, peer, bare = (folder / side for side in ("ours", "peer", "bare"))

    def with_peer() -> None:
        write_peer(builder, peer, tokens, lengths)

    mine, theirs = interleaved(lambda: write_ours(ours, tokens, lengths), with_peer, runs=runs)
    require_same(ours, peer)
    index = ours.with_suffix(".idx").read_bytes()
    least = statistics.median(cpu_seconds(lambda: write_bare(bare, tokens, index)) for _ in range(runs))
    figure = Figure(BENCH, f"write {len(lengths)} documents, {name}", "tokens/CPU-s", len(tokens))
    report(figure, figure.of(mine), figure.of(theirs), peer_name=PEER, runs=runs, limit=figure.of(least))


def write_ours(prefix: Path, tokens: NDArray[np.int32], lengths: NDArray[np.int64]) -> None:
    """The pair by our writer, a block of documents at a time."""
    ends = np.cumsum(lengths)
    borders = np.searchsorted(ends, np.arange(BLOCK_TOKENS, int(ends[-1]), BLOCK_TOKENS))
    first = 0
    with open_writer(prefix.with_suffix(".bin"), prefix.with_suffix(".idx"), VOCABULARY) as writer:
        for last in [*borders.tolist(), len(lengths)]:
            begin, end = (int(ends[place - 1]) if place else 0 for place in (first, last))
            writer.append(tokens[begin:end], lengths[first:last].astype(np.int32))
            first = last


def write_peer(
    builder: Callable[..., Any], prefix: Path, tokens: NDArray[np.int32], lengths: NDArray[np.int64]
) -> None:
    """The pair by megatron-core, which asks for tensors."""
    import torch

    made = builder(str(prefix.with_suffix(".bin")), dtype=np.int32)
    for document in torch.split(torch.from_numpy(tokens), lengths.tolist()):
        made.add_document(document, [len(document)])
    made.finalize(str(prefix.with_suffix(".idx")))


def write_bare(prefix: Path, tokens: NDArray[np.int32], index: bytes) -> None:
    """The same bytes, in one call for each file."""
    with prefix.with_suffix(".bin").open("wb") as file:
        file.write(tokens.data)
    prefix.with_suffix(".idx").write_bytes(index)


def peer_builder() -> Callable[..., Any]:
    """megatron-core's builder; `SystemExit` where it is not installed."""
    try:
        from megatron.core.datasets.indexed_dataset import IndexedDatasetBuilder
    except ModuleNotFoundError as error:
        raise SystemExit(f"{error.name} is not installed: pip install --no-deps megatron-core==0.16.1") from None
    builder: Callable[..., Any] = IndexedDatasetBuilder
    return builder


def require_same(ours: Path, peer: Path) -> None:
    """`SystemExit` unless both wrote the same bytes."""
    for suffix in (".bin", ".idx"):
        if ours.with_suffix(suffix).read_bytes() != peer.with_suffix(suffix).read_bytes():
            raise SystemExit(f"ours and the peer's {suffix} differ: their speed means nothing")


if __name__ == "__main__":
    run(main)
