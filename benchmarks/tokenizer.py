"""Tokenizer: training and exact encoding beside HuggingFace on the same words, and ids beside other encoders.

Without a source: fmt 11.0.0 and googletest v1.15.0 from MEGACPP_GIT_MIRROR where that is set, and the headers of
/usr/include. A peer that is not installed is named on standard error at the end; with --require-peers nothing is
measured without it. Each encoder has a process of its own, all are held to one core, and each encodes warm text (the
same once more), unseen text (other files than it has encoded so far) and cold text (the first of a new process).
With --threads N: our encoder on N threads beside one, by the clock.
With --device gpu: counting, merging, encoding and longest match on the GPU adapter beside our CPU path, by the clock.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from _arguments import run
from _cores import choose, hold
from _encoders import CL100K, HUGGING_FACE, OURS, RECIPE, WITH_SPANS, left_out, versions
from _harness import RUNS, Figure, report
from _sides import Differs, rivals
from _sources import SOURCE, default_sources, load, portions
from _threads import measure_threads
from _training import VOCABULARY, measure, plain_tokenizer, train_ours
from tokenizers import __version__, models

from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.tokenizer.artifact import dump_model
from megacpp_assets.tokenizer.byte_level import spell
from megacpp_assets.tokenizer.train import train
from megacpp_assets.tokenizer.whitespace import whitespace_recipe

BENCH = "tokenizer"
COLD_RUNS = 3
GPU_MERGES = 1000
PORTION_BYTES = 8_000_000

Portions = Sequence[Sequence[str]]


def main(arguments: Sequence[str]) -> None:
    """Print every line: training, spans, ids."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--require-peers", action="store_true", help="measure nothing if an encoder is not installed")
    parser.add_argument(
        "--device", choices=("cpu", "gpu"), default="cpu", help="gpu: the WGSL kernels and nothing else"
    )
    parser.add_argument("--merges", type=int, default=GPU_MERGES, help="new tokens that --device gpu trains")
    parser.add_argument("--threads", type=int, help="our encoder on so many threads beside one, and nothing else")
    parser.add_argument("sources", nargs="*", metavar="SOURCE", help=SOURCE)
    options = parser.parse_args(arguments)
    if options.device == "gpu":
        from _gpu import measure_gpu  # needs the extra gpu

        measure_gpu(BENCH, load(options.sources or default_sources()), options.merges)
        return
    if options.threads is not None:
        if options.threads < 2:
            parser.error(f"--threads {options.threads}: expected 2 or more")
        measure_threads(BENCH, load(options.sources or default_sources()), options.threads)
        return
    missing = left_out()
    if missing and options.require_peers:
        raise SystemExit(missing)
    sources = options.sources or default_sources()
    texts = load(sources)
    held = portions(texts, RUNS + 1, PORTION_BYTES)
    measure_training(sources, f"{sum(map(len, texts)) / 1e6:.0f} MB, {len(texts)} files")
    hold(choose(1))
    measure_spans(texts, held)
    measure_ids(texts, held)
    if missing:
        sys.stderr.write(f"{missing}\n")


def measure_training(sources: Sequence[str], corpus: str) -> None:
    """On one core, and on two where this process may use two."""
    measure(BENCH, sources, corpus, choose(1))
    try:
        measure(BENCH, sources, corpus, choose(2))
    except SystemExit as error:
        sys.stderr.write(f"training on two cores is not measured: {error}\n")


def measure_spans(texts: Sequence[bytes], held: Portions) -> None:
    """Our tokenizer, ids and character spans, beside HuggingFace's reading of its file."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        path.write_bytes(dump_model(train(texts, TokenizerRecipe(VOCABULARY, RECIPE)).model))
        compare("encode with spans", path, held, (OURS + WITH_SPANS, HUGGING_FACE + WITH_SPANS, __version__))


def measure_ids(texts: Sequence[bytes], held: Portions) -> None:
    """The general split with plain merges, which other encoders are built for. One with other ids is only named."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        path.write_text(general_tokenizer(texts), encoding="utf-8")
        for name, version in {HUGGING_FACE: __version__, **versions()}.items():
            if version is None:
                continue
            try:
                compare("encode to ids, general split", path, held, (OURS, name, version))
            except Differs as error:
                sys.stderr.write(f"{name} {version}: {error}\n")


def general_tokenizer(texts: Sequence[bytes]) -> str:
    """A HuggingFace tokenizer trained on `texts` with GPT-4's split, as JSON."""
    merges = train_ours(texts, whitespace_recipe("general"), 1)
    keys = sorted((spell(bytes([byte])) for byte in range(256)), key=ord)
    vocabulary = {key: index for index, key in enumerate([*keys, *(left + right for left, right in merges)])}
    return plain_tokenizer(models.BPE(vocabulary, merges, ignore_merges=True), CL100K).to_str()


def compare(figure: str, path: Path, held: Portions, names: tuple[str, str, str]) -> None:
    """Print a line each for warm, unseen and cold text of ours and of the peer, whose version is the third name."""
    ours, peer, version = names
    with rivals(ours, peer, path, held) as turn:
        turn(0)
        warm = [turn(0) for _ in range(RUNS)]
        unseen = [turn(portion) for portion in range(1, RUNS + 1)]
    cold = []
    for _ in range(COLD_RUNS):
        with rivals(ours, peer, path, held) as turn:
            cold.append(turn(0))
    for text, pairs, texts in (("warm", warm, held[:1]), ("unseen", unseen, held[1:]), ("cold", cold, held[:1])):
        mine, theirs = (1 / statistics.median(side) for side in zip(*pairs, strict=True))
        size = statistics.mean(sum(len(text.encode()) for text in portion) for portion in texts) / 1e6
        line = Figure(BENCH, f"{figure}, {size:.1f} MB, 1 core, {text} text", "MB/CPU-s")
        report(line, mine, theirs, peer_name=f"{peer.removesuffix(WITH_SPANS)} {version}", runs=len(pairs))


if __name__ == "__main__":
    run(main)
