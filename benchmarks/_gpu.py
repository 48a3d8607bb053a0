"""The tokenizer on the machine's GPU adapter beside our CPU path on one thread, in seconds of the clock."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from _harness import Figure, report

from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.contract.specials import FIXED_IDS
from megacpp_assets.tokenizer._bpe import Counter
from megacpp_assets.tokenizer.artifact import dump_model
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.train import count_words, train_model
from megacpp_assets.tokenizer.trie import Comparison, TrieTokenizer
from megacpp_assets.tokenizer.webgpu.adapter import describe, open_adapter
from megacpp_assets.tokenizer.webgpu.counting import count_on_gpu
from megacpp_assets.tokenizer.webgpu.encoding import GpuEncoder
from megacpp_assets.tokenizer.webgpu.gpu import shared_gpu
from megacpp_assets.tokenizer.webgpu.train import train_on_gpu
from megacpp_assets.tokenizer.webgpu.trie import GpuTrieTokenizer

_CPU = "our CPU path, 1 thread"
_RUNS = 3
Result = TypeVar("Result")


def measure_gpu(bench: str, texts: Sequence[bytes], merges: int) -> None:
    """Print a line each for counting, merging, exact encoding and longest match. Kernels are compiled before."""
    gpu = shared_gpu()
    recipe = TokenizerRecipe(vocabulary_size=FIXED_IDS + merges)
    size = sum(map(len, texts)) / 1e6
    where = f"{size:.1f} MB, {describe(open_adapter())}"
    found, ours, theirs = _timed(lambda: count_on_gpu(texts, recipe, gpu), lambda: count_words(recipe, texts))
    counter = found[1]
    _require(_words(found[0]) == _words(counter), "words")
    _line(bench, f"count words, {where}", "MB/s", (size / ours, size / theirs))
    trained, ours, theirs = _timed(lambda: train_on_gpu(counter, recipe, gpu), lambda: train_model(counter, recipe))
    model = trained[1].model
    _require(dump_model(trained[0].model) == dump_model(model), "merges")
    _line(
        bench,
        f"{len(model.merges):,} merges, {where}",
        "merges/s",
        (len(model.merges) / ours, len(model.merges) / theirs),
    )
    strings = [text.decode("utf-8", "replace") for text in texts]
    on_gpu, on_cpu = GpuEncoder(model, gpu), Encoder(model)
    encoded, ours, theirs = _timed(lambda: on_gpu.encode_batch(strings), lambda: on_cpu.encode_batch(strings))
    _require(all(np.array_equal(*pair) for pair in zip(*map(_columns, encoded), strict=True)), "ids and spans")
    _line(bench, f"encode with spans, {where}", "MB/s", (size / ours, size / theirs))
    joined = b"".join(texts)
    trie_gpu, trie_cpu = GpuTrieTokenizer(model, Comparison(), gpu), TrieTokenizer(model, Comparison())
    tokens, ours, theirs = _timed(lambda: trie_gpu.encode(joined), lambda: trie_cpu.encode(joined))
    _require(np.array_equal(*tokens), "longest-match tokens")
    _line(bench, f"longest match, {where}", "MB/s", (size / ours, size / theirs))


def _timed(ours: Callable[[], Result], theirs: Callable[[], Result]) -> tuple[tuple[Result, Result], float, float]:
    """(both results, our median seconds, theirs), in turn after one call of each."""
    results = ours(), theirs()
    pairs = [(_seconds(ours), _seconds(theirs)) for _ in range(_RUNS)]
    mine, other = (statistics.median(side) for side in zip(*pairs, strict=True))
    return results, mine, other


def _seconds(work: Callable[[], object]) -> float:
    before = time.perf_counter()
    work()
    return time.perf_counter() - before


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


def _line(bench: str, name: str, unit: str, rates: tuple[float, float]) -> None:
    report(Figure(bench, name, unit), *rates, peer_name=_CPU, runs=_RUNS)
