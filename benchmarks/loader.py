"""The enriched loader: batches of packed rows with tokens, all channels, chunks and segments, on one core.

Rows are made here, of documents of log-normal length with a chunk for every 64 tokens, and channels whose values last
about as long as in real rows, in mapped files as the stage writes them. `--json FILE` writes a report: B,
T, iters, tokens a CPU second, and what the batches held.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import _row_peers
import numpy as np
from _arguments import positive, run
from _cores import choose, hold
from _harness import RUNS, Figure, compare, cpu_seconds, report

from megacpp_assets.contract.columns import ROLES, STRUCTURE_CHANNELS
from megacpp_assets.contract.tokens.specials import BOS_ID
from megacpp_assets.loader.order import rows_of_step
from megacpp_assets.loader.rows import PackedRows, RowBatch
from megacpp_assets.loader.telemetry import Telemetry
from megacpp_assets.megatron.pair import reader
from megacpp_assets.megatron.sidecars.channels import Channel, ChannelValues, ChannelWriter, Runs, map_channel
from megacpp_assets.megatron.sidecars.chunks import ChunkFiles

BENCH = "loader"
ROW_TOKENS, ROWS, BATCH_ROWS, ITERS = 4096, 512, 4, 100
CHUNK_TOKENS = 64
NARROW: Final = {
    "ids": "i4", "targets": "i4", "loss_mask": "u1", "doc_ids": "u2", "segments": "u2", "chunk_starts": "u2",
    "chunk_ends": "u2", "chunk_kinds": "u1", "chunk_dep_levels": "u1", "chunk_documents": "i2",
}  # fmt: skip
"""Types of what is no channel, as a peer's files have it."""
ALL: Final = "all channels, chunks and segments"
LASTS: Final = {
    "structure_ids": (20, 9), "dep_levels": (80, 13), "ast_depth_ids": (2.6, 40), "sibling_index_ids": (3.5, 60),
    "node_type_ids": (2.5, 40), ROLES: (80, 3), "symbol_ids": (2.6, 1 << 31), "call_targets": (16, 1 << 31),
    "type_refs": (14, 1 << 31), "def_use": (2.7, 3),
}  # fmt: skip
"""Mean tokens that a value of a channel lasts, as in fmt and the sample, and below what its values are."""


def main(arguments: Sequence[str]) -> None:
    """Print a line for each set of columns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=positive, default=RUNS, help="measured calls (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="where to write the report")
    chosen = parser.parse_args(arguments)
    hold(choose(1))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = sets(folder)
        results = [measure(name, take, chosen.runs) for name, take in made.items()]
        against_peers(folder, made[ALL], chosen.runs)
    if chosen.json:
        chosen.json.write_text(json.dumps(results, indent=2) + "\n")


def sets(folder: Path) -> Mapping[str, Callable[[np.ndarray], RowBatch]]:
    """What to take of rows, by name."""
    everything = made_rows(folder)
    plain = {name: everything.channels[name] for name in (*STRUCTURE_CHANNELS, ROLES)}
    return {
        "tokens, structure, roles, segments": replace(everything, channels=plain, chunk_files=None).batch,
        ALL: everything.batch,
    }


def measure(name: str, take: Callable[[np.ndarray], RowBatch], runs: int) -> dict[str, Any]:
    """Print tokens a CPU second, and give the report of one set of columns."""

    def epoch() -> Telemetry:
        telemetry = Telemetry()
        for step in range(ITERS):
            telemetry.add(take(rows_of_step(ROWS, BATCH_ROWS, seed=0, step=step)))
        return telemetry

    held = epoch().report()
    seconds = float(np.median([cpu_seconds(epoch) for _ in range(runs)]))
    amount = ITERS * BATCH_ROWS * ROW_TOKENS
    figure = Figure(BENCH, f"{ITERS} batches of {BATCH_ROWS} rows of {ROW_TOKENS}: {name}", "tokens/CPU-s", amount)
    report(figure, figure.of(seconds), runs=runs)
    sizes = {"B": BATCH_ROWS, "T": ROW_TOKENS, "iters": ITERS, "cpu_seconds": seconds}
    return {"set": name, **sizes, "tokens_per_cpu_second": figure.of(seconds), **held}


def against_peers(folder: Path, ours: Callable[[np.ndarray], RowBatch], runs: int) -> None:
    """Print batches a CPU second of ours, and of each peer that has all arrays of them ready in its files, in turn."""
    for name in _row_peers.absent():
        sys.stderr.write(f"{name} is not installed: benchmarks/README.md says how\n")
    rows = made_rows(folder)
    for name, (_, opened) in _row_peers.PEERS.items():
        if name not in _row_peers.absent():
            peer = opened(folder / name, (row_of(rows, number) for number in range(ROWS)))
            require_same(arrays_of(rows, np.arange(BATCH_ROWS)), peer(np.arange(BATCH_ROWS)))
            figure = Figure(BENCH, f"batches of {BATCH_ROWS} rows of {ROW_TOKENS}, {ALL}", "batches/CPU-s", ITERS)
            compare(figure, partial(epoch_of, ours), partial(epoch_of, peer), peer_name=name, runs=runs)


def epoch_of(take: Callable[[np.ndarray], object]) -> None:
    """Take `ITERS` batches, in the order of a loader."""
    for step in range(ITERS):
        take(rows_of_step(ROWS, BATCH_ROWS, seed=0, step=step))


def arrays_of(rows: PackedRows, numbers: np.ndarray) -> dict[str, np.ndarray]:
    """What a batch of these rows has, but for edges of chunks and `cu_seqlens`: those are of another number in every
    row."""
    batch = rows.batch(numbers)
    derived = {"targets": batch.target_ids, "loss_mask": batch.loss_mask, "doc_ids": batch.doc_ids}
    parts = {name: getattr(batch.chunks, name) for name in ("starts", "ends", "kinds", "dep_levels", "documents")}
    return {
        "ids": batch.input_ids, **derived, "segments": batch.segment_ids, ROLES: batch.roles, **batch.structure,
        **batch.symbols, **{f"chunk_{name}": values for name, values in parts.items()},
    }  # fmt: skip


def _type_of(channel: Channel) -> np.dtype[Any]:
    """The type of a channel's values, stored one per token or as runs."""
    assert isinstance(channel, ChannelValues | Runs)
    return channel.values.dtype


def row_of(rows: PackedRows, number: int) -> dict[str, np.ndarray]:
    """The arrays of one row, each of a type as narrow as ours has in its files."""
    arrays = arrays_of(rows, np.array([number]))
    types = {**NARROW, **{name: _type_of(channel) for name, channel in rows.channels.items()}}
    return {name: values[0].astype(types[name]) for name, values in arrays.items()}


def require_same(mine: Mapping[str, np.ndarray], theirs: Mapping[str, np.ndarray]) -> None:
    """`SystemExit` unless the peer gives what ours does."""
    if mine.keys() != theirs.keys() or not all(np.array_equal(mine[name], theirs[name]) for name in mine):
        raise SystemExit("a peer gives other values: its speed means nothing")


def made_rows(folder: Path) -> PackedRows:
    """Rows with all channels and chunks, mapped from files in `folder`."""
    rng = np.random.default_rng(0)
    total = ROWS * ROW_TOKENS
    tokens = rng.integers(64, 60_000, total).astype("<i4")
    starts = np.arange(ROWS + 1) * ROW_TOKENS
    tokens[np.unique(np.cumsum(rng.lognormal(6, 1, total // 200).astype(np.int64) + 8) % total)] = BOS_ID
    tokens[starts[:-1]] = BOS_ID
    channels = {name: made(folder, name) for name in LASTS}
    each = ROW_TOKENS // CHUNK_TOKENS
    begins = np.tile(np.arange(each) * CHUNK_TOKENS, ROWS)
    counts, edges = np.arange(ROWS + 1) * each, np.arange(ROWS + 1) * (each // 2)
    pairs = rng.integers(0, each, (ROWS * (each // 2), 2)).astype("<u2")
    parts = {
        "rows": counts, "starts": begins.astype("<u4"), "ends": (begins + CHUNK_TOKENS).astype("<u4"),
        "kinds": rng.integers(0, 9, ROWS * each).astype("u1"),
        "dep_levels": rng.integers(0, 9, ROWS * each).astype("<u2"),
        "call_edges.rows": edges, "call_edges": pairs, "type_edges.rows": edges, "type_edges": pairs,
    }  # fmt: skip
    files = ChunkFiles({name: mapped(folder, f"chunks.{name}", values) for name, values in parts.items()})
    return PackedRows(ROW_TOKENS, starts, mapped(folder, "tokens", tokens), channels, files)


def made(folder: Path, name: str) -> Channel:
    """A channel of all rows, as the stage writes it and the loader opens it."""
    lasts, below = LASTS[name]
    rng, total = np.random.default_rng(len(name)), ROWS * ROW_TOKENS
    values = np.repeat(rng.integers(0, below, total), rng.geometric(1 / lasts, total))[:total]
    with ExitStack() as stack:
        writer, path = ChannelWriter(stack, folder, ROW_TOKENS), folder / name
        writer.append(values, np.full(ROWS, ROW_TOKENS))
        dtype, runs = writer.finish(stack.enter_context(path.open("wb")))
    return map_channel(path, dtype, runs, tokens=total, rows=ROWS, row_tokens=ROW_TOKENS)


def mapped(folder: Path, name: str, values: np.ndarray) -> np.ndarray:
    """`values` from a file."""
    values.tofile(folder / name)
    return reader.mapped(folder / name, values.dtype, values.size).reshape(values.shape)


if __name__ == "__main__":
    run(main)
