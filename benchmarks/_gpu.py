"""The tokenizer on the machine's GPU adapter beside our CPU path on all cores, in seconds of the clock.

Beside each speed stands its share of the roofline: the time that the adapter needs at least for the bytes that must
cross to it and back, and for the dispatches of the merge loop, at the rates that are measured first.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from _harness import Figure, report

from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.contract.tokens.specials import FIXED_IDS
from megacpp_assets.tokenizer._bpe import Counter
from megacpp_assets.tokenizer.artifact import dump_model
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.train import Trained, count_words, train_model
from megacpp_assets.tokenizer.trie import ComparisonPurpose, TrieTokenizer
from megacpp_assets.tokenizer.webgpu.adapter import describe, open_adapter
from megacpp_assets.tokenizer.webgpu.counting import count_on_gpu
from megacpp_assets.tokenizer.webgpu.encoding import GpuEncoder
from megacpp_assets.tokenizer.webgpu.gpu import Gpu, shared_gpu
from megacpp_assets.tokenizer.webgpu.training.train import train_on_gpu
from megacpp_assets.tokenizer.webgpu.trie import GpuTrieTokenizer

RUNS = 3
_WARM_BYTES = 1 << 20
_COPIED_WORDS = 1 << 22
_DISPATCHES = 2000
_MERGE_DISPATCHES = 10
"""Kernels of one merge: two find the best pair, then setup, mark, move and the five of the compaction."""
_SPAN_BYTES = 12
_TOKEN_BYTES = 4
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Rates:
    """What the adapter reaches: bytes a second to it and from it, and seconds of an empty dispatch."""

    upload: float
    download: float
    dispatch: float

    def transfer(self, up: float, down: float = 0.0) -> float:
        """Seconds that `up` bytes to the adapter and `down` bytes from it take at least."""
        return up / self.upload + down / self.download


def measure_gpu(bench: str, texts: Sequence[bytes], merges: int, runs: int = RUNS) -> None:
    """Print two lines each for counting, merging, both together, exact encoding and longest match."""
    gpu, cores = shared_gpu(), len(os.sched_getaffinity(0))
    recipe = TokenizerRecipe(vocabulary_size=FIXED_IDS + merges)
    size = sum(map(len, texts))
    rates = measured_rates(gpu)
    tell = _Lines(bench, f"{size / 1e6:.1f} MB, {describe(open_adapter())}", f"our CPU path, {cores} threads", runs)
    tell.rates(rates)
    warm_up(gpu, texts, recipe)

    (counted, counter), counting = _timed(
        lambda: count_on_gpu(texts, recipe, gpu), lambda: count_words(recipe, texts, threads=cores), runs
    )
    _require(_words(counted) == _words(counter), "words")
    tell.line("count words", "MB/s", size / 1e6, counting, rates.transfer(size))
    (on_gpu, trained), merging = _timed(
        lambda: train_on_gpu(counter, recipe, gpu), lambda: train_model(counter, recipe), runs
    )
    _require(dump_model(on_gpu.model) == dump_model(trained.model), "merges")
    made = len(trained.model.merges)
    least = made * _MERGE_DISPATCHES * rates.dispatch
    tell.line(f"{made:,} merges", "merges/s", made, merging, least)
    together = [sum(pair) for pair in zip(counting, merging, strict=True)]
    tell.line(f"train, counting and {made:,} merges", "MB/s", size / 1e6, together, rates.transfer(size) + least)
    _measure_encoding(tell, gpu, texts, trained, rates)


def _measure_encoding(tell: _Lines, gpu: Gpu, texts: Sequence[bytes], trained: Trained, rates: Rates) -> None:
    """Exact encoding and longest match."""
    model, size = trained.model, sum(map(len, texts))
    strings = [text.decode("utf-8", "replace") for text in texts]
    ours, theirs = GpuEncoder(model, gpu), Encoder(model, threads=len(os.sched_getaffinity(0)))
    encoded, seconds = _timed(lambda: ours.encode_batch(strings), lambda: theirs.encode_batch(strings), tell.runs)
    _require(all(np.array_equal(*pair) for pair in zip(*map(_columns, encoded), strict=True)), "ids and spans")
    least = rates.transfer(size, _SPAN_BYTES * len(encoded[0].ids))
    tell.line("encode with spans", "MB/s", size / 1e6, seconds, least)
    joined = b"".join(texts)
    trie, native = GpuTrieTokenizer(model, ComparisonPurpose(), gpu), TrieTokenizer(model, ComparisonPurpose())
    tokens, seconds = _timed(lambda: trie.encode(joined), lambda: native.encode(joined), tell.runs)
    _require(np.array_equal(*tokens), "longest-match tokens")
    least = rates.transfer(size, _TOKEN_BYTES * len(tokens[0]))
    tell.line("longest match (CPU: 1 thread)", "MB/s", size / 1e6, seconds, least)


def warm_up(gpu: Gpu, texts: Sequence[bytes], recipe: TokenizerRecipe) -> None:
    """Compile all kernels on a small part of `texts`."""
    part = [text[:_WARM_BYTES] for text in texts[:1]]
    small = TokenizerRecipe(vocabulary_size=FIXED_IDS + min(20, recipe.vocabulary_size - FIXED_IDS))
    model = train_on_gpu(count_on_gpu(part, small, gpu), small, gpu).model
    GpuEncoder(model, gpu).encode_bytes_batch(part)
    GpuTrieTokenizer(model, ComparisonPurpose(), gpu).encode(part[0])


def measured_rates(gpu: Gpu) -> Rates:
    """Medians of five transfers of 16 MiB each way and of submits of 2,000 dispatches of one workgroup."""
    values = np.arange(_COPIED_WORDS, dtype=np.uint32)
    buffer = gpu.empty(_COPIED_WORDS)

    def upload() -> None:
        gpu.write(buffer, values)
        gpu.read(buffer, 1)

    state = gpu.empty(64)
    call = gpu.call("clear_table", [gpu.empty(64), gpu.empty(64), state], 1)

    def dispatch() -> None:
        gpu.run([call] * _DISPATCHES)
        gpu.read(state, 1)

    found = []
    for work in (upload, lambda: gpu.read(buffer, _COPIED_WORDS), dispatch):
        work()
        found.append(statistics.median(_seconds(work)[1] for _ in range(5)))
    return Rates(values.nbytes / found[0], values.nbytes / found[1], found[2] / _DISPATCHES)


@dataclass(frozen=True, slots=True)
class _Lines:
    bench: str
    where: str
    peer: str
    runs: int

    def rates(self, rates: Rates) -> None:
        """Print what the adapter reaches."""
        for name, value, unit in (
            ("to the adapter", rates.upload / 1e9, "GB/s"),
            ("from the adapter", rates.download / 1e9, "GB/s"),
            ("a dispatch", rates.dispatch * 1e6, "microseconds"),
        ):
            report(Figure(self.bench, f"{name}, {self.where}", unit), value, runs=5)

    def line(self, name: str, unit: str, amount: float, seconds: Sequence[float], least: float) -> None:
        """Print a rate beside the CPU's, and its share of the roofline, which needs `least` seconds."""
        figure = f"{name}, {self.where}"
        report(
            Figure(self.bench, figure, unit),
            amount / seconds[0],
            amount / seconds[1],
            peer_name=self.peer,
            runs=self.runs,
        )
        report(Figure(self.bench, f"{figure}, share of the roofline", "share"), least / seconds[0], runs=self.runs)


def _timed(
    ours: Callable[[], Result], theirs: Callable[[], Result], runs: int
) -> tuple[tuple[Result, Result], list[float]]:
    """(both results, [our median seconds, theirs]), in turn."""
    pairs = [(_seconds(ours), _seconds(theirs)) for _ in range(runs)]
    mine, other = zip(*pairs, strict=True)
    results = mine[0][0], other[0][0]
    return results, [statistics.median(second for _, second in side) for side in (mine, other)]


def _seconds(work: Callable[[], Result]) -> tuple[Result, float]:
    before = time.perf_counter()
    result = work()
    return result, time.perf_counter() - before


def _words(counter: Counter) -> list[tuple[bytes, int]]:
    data, lengths, counts = counter.dump()
    ends = np.cumsum(lengths).tolist()
    starts = [0, *ends[:-1]]
    return sorted((data[start:end], count) for start, end, count in zip(starts, ends, counts.tolist(), strict=True))


def _columns(encoded: object) -> tuple[object, ...]:
    return tuple(getattr(encoded, name) for name in ("ids", "char_starts", "char_ends", "offsets"))


def _require(same: bool, what: str) -> None:
    if not same:
        raise SystemExit(f"the GPU's {what} are not the CPU's: nothing is measured")
