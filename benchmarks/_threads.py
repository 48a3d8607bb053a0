"""Our encoder on several threads beside one, by the clock: text that is new to it, then the same text again."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

from _cores import choose, hold
from _encoders import RECIPE
from _harness import RUNS, Figure, report
from _training import VOCABULARY

from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.model import Model
from megacpp_assets.tokenizer.train import train


def measure_threads(bench: str, texts: Sequence[bytes], threads: int) -> None:
    """Print a line for new and one for known text, ids with spans. `SystemExit` with fewer cores than `threads`."""
    hold(choose(threads))
    model = train(texts, TokenizerRecipe(VOCABULARY, RECIPE)).model
    decoded = [text.decode("utf-8", "replace") for text in texts]
    size = sum(map(len, texts)) / 1e6
    pairs = [(_seconds(model, decoded, threads), _seconds(model, decoded, 1)) for _ in range(RUNS)]
    for index, text in enumerate(("new", "known")):
        ours, one = (size / statistics.median(side[index] for side in sides) for sides in zip(*pairs, strict=True))
        figure = Figure(bench, f"encode with spans, {size:.1f} MB, {threads} threads, {text} text", "MB/s")
        report(figure, ours, one, peer_name="1 thread", runs=RUNS)


def _seconds(model: Model, texts: Sequence[str], threads: int) -> tuple[float, float]:
    """Of two passes of a new encoder."""
    encoder = Encoder(model, threads=threads)
    return _timed(encoder, texts), _timed(encoder, texts)


def _timed(encoder: Encoder, texts: Sequence[str]) -> float:
    before = time.perf_counter()
    encoder.encode_batch(texts)
    return time.perf_counter() - before
