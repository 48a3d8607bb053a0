"""Training beside HuggingFace on the same words, each run in a process of its own, held to one core or to two.

Usage: _training.py ours|reference CORES SOURCE…, CORES such as 0,1: one training, its figures as a line of JSON.
"""

from __future__ import annotations

import hashlib
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from _cores import held, hold
from _encoders import HUGGING_FACE, RECIPE
from _harness import Figure, report
from _sources import load
from tokenizers import Regex, Tokenizer, __version__, models, pre_tokenizers, trainers

from megacpp_assets.tokenizer._bpe import Counter, alphabet_id
from megacpp_assets.tokenizer.byte_level import spell
from megacpp_assets.tokenizer.model import make_splitter
from megacpp_assets.tokenizer.whitespace import Whitespace, whitespace_recipe

VOCABULARY = 131_072
PEER = f"{HUGGING_FACE} {__version__}"
RUNS = 3
Strings = list[tuple[str, str]]


def measure(bench: str, sources: Sequence[str], corpus: str, cores: Sequence[int]) -> None:
    """Print two lines: CPU seconds on one core or clock seconds on several, then extra memory. Runs are in turn."""
    field, unit = ("cpu", "CPU-s") if len(cores) == 1 else ("wall", "s")
    pairs = [(_child("ours", cores, sources), _child("reference", cores, sources)) for _ in range(RUNS)]
    merges = {run["merges"] for pair in pairs for run in pair}
    if len(merges) != 1:
        raise SystemExit(f"merges differ: {merges}")
    if any(run["cores"] != sorted(cores) for pair in pairs for run in pair):
        raise SystemExit(f"a training was not held to the cores {sorted(cores)}")
    name = f"train {VOCABULARY} ids, {corpus}, {len(cores)} core{'s' * (len(cores) > 1)}"
    mine, theirs = ([run[field] for run in side] for side in zip(*pairs, strict=True))
    report(Figure(bench, name, unit), statistics.median(mine), statistics.median(theirs), peer_name=PEER, runs=RUNS)
    mine, theirs = ([run["memory"] for run in side] for side in zip(*pairs, strict=True))
    figure = Figure(bench, f"{name}, memory above the texts'", "MB")
    report(figure, statistics.median(mine), statistics.median(theirs), peer_name=PEER, runs=RUNS)


def _child(side: str, cores: Sequence[int], sources: Sequence[str]) -> dict[str, Any]:
    command = [sys.executable, __file__, side, ",".join(map(str, cores)), *sources]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the training of {side} ended with status {done.returncode}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def train_ours(texts: Sequence[bytes], whitespace: Whitespace, threads: int) -> Strings:
    """Merges of the same words as the reference sees: no guards, nothing known, nothing forbidden."""
    counter = Counter(make_splitter(whitespace, {}))
    counter.add(texts, threads)
    found = counter.train(VOCABULARY - 256)
    strings = [""] * 256
    for byte in range(256):
        strings[alphabet_id(byte)] = spell(bytes([byte]))
    merges = []
    for left, right in zip(found["left"].tolist(), found["right"].tolist(), strict=True):
        merges.append((strings[left], strings[right]))
        strings.append(strings[left] + strings[right])
    return merges


def train_reference(texts: Sequence[str], pattern: str) -> Strings:
    """HuggingFace's merges."""
    tokenizer = plain_tokenizer(models.BPE(), pattern)
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return [(left, right) for left, right in json.loads(tokenizer.to_str())["model"]["merges"]]


def plain_tokenizer(model: models.Model, pattern: str) -> Tokenizer:
    """A byte-level HuggingFace tokenizer without special tokens."""
    tokenizer = Tokenizer(model)
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    levels = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, levels])
    return tokenizer


def _main(side: str, cores: Sequence[int], sources: Sequence[str]) -> None:
    hold(cores)
    texts = load(sources)
    decoded = [text.decode("utf-8") for text in texts]
    whitespace = whitespace_recipe(RECIPE)
    work: Callable[[], Strings] = (
        (lambda: train_ours(texts, whitespace, len(cores)))
        if side == "ours"
        else (lambda: train_reference(decoded, whitespace.pattern))
    )
    base, cpu, wall = _peak_memory(), time.process_time(), time.perf_counter()
    merges = work()
    figures = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall, "memory": _peak_memory() - base}
    # Looked at behind the training: by then every thread of it has been started.
    digest = hashlib.sha256(json.dumps(merges).encode()).hexdigest()
    sys.stdout.write(json.dumps({**figures, "merges": digest, "cores": sorted(held())}))


def _peak_memory() -> float:
    """Largest resident size of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    _main(sys.argv[1], [int(core) for core in sys.argv[2].split(",")], sys.argv[3:])
