"""Tokenizer: training and exact encoding beside HuggingFace on the same words, and beside other encoders if installed.

Usage: tokenizer.py [--require-peers] [SOURCE…]. A source is a directory of C/C++ files, or GITDIR@REF of a bare
repository. Without any: fmt 11.0.0 and googletest v1.15.0 from MEGACPP_GIT_MIRROR where that is set, and the headers of
/usr/include.
A peer that is not installed is named on standard error at the end; with --require-peers nothing is measured without it.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # one core, unless a child asks for two

import numpy as np
from _encoders import CL100K, left_out, open_others
from _harness import Figure, compare, report
from tokenizers import Encoding, Regex, Tokenizer, __version__, models, pre_tokenizers, trainers

from megacpp_assets.contract.encoding import Encoded
from megacpp_assets.storage.git_objects import git_environment
from megacpp_assets.tokenizer._bpe import Counter, alphabet_id
from megacpp_assets.tokenizer._bpe import Encoder as NativeEncoder
from megacpp_assets.tokenizer.artifact import dump_model
from megacpp_assets.tokenizer.byte_level import spell, unspell
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.model import make_splitter
from megacpp_assets.tokenizer.train import TokenizerRecipe, train
from megacpp_assets.tokenizer.whitespace import Whitespace, whitespace_recipe

BENCH = "tokenizer"
REQUIRE_PEERS = "--require-peers"
PEER = f"HuggingFace tokenizers {__version__}"
VOCABULARY = 131_072
RECIPE = "operators_carry_spaces"
TRAIN_RUNS = 3
ENCODE_BYTES = 8_000_000
SUFFIXES = (".h", ".hh", ".hpp", ".hxx", ".c", ".cc", ".cpp", ".cxx", ".inc", ".ipp", ".tcc")
Strings = list[tuple[str, str]]


def main(sources: Sequence[str]) -> None:
    """Print every line: training in child processes (peak memory is theirs alone), then encoding in this one."""
    missing = left_out()
    if sources[:1] == [REQUIRE_PEERS]:
        if missing:
            raise SystemExit(missing)
        sources = sources[1:]
    texts = load(sources)
    figure = f"{sum(map(len, texts)) / 1e6:.0f} MB, {len(texts)} files"
    measure_training(sources, figure)
    held = evenly(texts, ENCODE_BYTES)
    model = train(texts, TokenizerRecipe(VOCABULARY, RECIPE)).model
    measure_encoding(Encoder(model), Tokenizer.from_buffer(dump_model(model)), held)
    measure_peers(texts, held)
    if missing:
        sys.stderr.write(f"{missing}\n")


def measure_training(sources: Sequence[str], corpus: str) -> None:
    """CPU seconds on one core, clock seconds on two, extra memory: ours and the reference's in turn."""
    for threads, field, unit in ((1, "cpu", "CPU-s"), (2, "wall", "s")):
        pairs = [(child("ours", threads, sources), child("reference", threads, sources)) for _ in range(TRAIN_RUNS)]
        merges = {run["merges"] for pair in pairs for run in pair}
        if len(merges) != 1:
            raise SystemExit(f"merges differ: {merges}")
        names = f"train {VOCABULARY} ids, {corpus}, {threads} core{'s' * (threads > 1)}"
        mine, theirs = ([run[field] for run in side] for side in zip(*pairs, strict=True))
        figure = Figure(BENCH, names, unit)
        report(figure, statistics.median(mine), statistics.median(theirs), peer_name=PEER, runs=TRAIN_RUNS)
        mine, theirs = ([run["memory"] for run in side] for side in zip(*pairs, strict=True))
        figure = Figure(BENCH, f"{names}, memory above the texts'", "MB")
        report(figure, statistics.median(mine), statistics.median(theirs), peer_name=PEER, runs=TRAIN_RUNS)


def child(side: str, threads: int, sources: Sequence[str]) -> dict[str, Any]:
    """Train once in a process of its own."""
    environment = {
        **os.environ,
        "TOKENIZERS_PARALLELISM": "true" if threads > 1 else "false",
        "RAYON_NUM_THREADS": str(threads),
    }
    command = [sys.executable, __file__, "--child", side, str(threads), *sources]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def run_child(side: str, threads: int, sources: Sequence[str]) -> None:
    """What a child does: one training, its figures as JSON."""
    texts = load(sources)
    decoded = [text.decode("utf-8") for text in texts]
    work: Callable[[], Strings] = (
        (lambda: train_ours(texts, whitespace_recipe(RECIPE), threads))
        if side == "ours"
        else (lambda: train_reference(decoded, whitespace_recipe(RECIPE).pattern))
    )
    base, cpu, wall = peak_memory(), time.process_time(), time.perf_counter()
    merges = work()
    figures = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall, "memory": peak_memory() - base}
    digest = hashlib.sha256(json.dumps(merges).encode()).hexdigest()
    sys.stdout.write(json.dumps({**figures, "merges": digest}))


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


def measure_encoding(encoder: Encoder, reference: Tokenizer, texts: Sequence[str]) -> None:
    """Exact encoding with character spans, beside `encode_batch`; a cold run of ours too."""
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    require_same_spans(encoder.encode_batch(texts), reference.encode_batch(texts))
    figure = Figure(BENCH, f"encode with spans, {megabytes:.1f} MB, 1 core", "MB/CPU-s", megabytes)
    compare(figure, lambda: encoder.encode_batch(texts), lambda: reference.encode_batch(texts), peer_name=PEER)
    cold = Figure(BENCH, f"encode with spans, {megabytes:.1f} MB, 1 core, our cache empty", "MB/CPU-s", megabytes)
    fresh = iter([Encoder(encoder.model) for _ in range(4)])
    ours = lambda: next(fresh).encode_batch(texts)  # noqa: E731
    compare(cold, ours, lambda: reference.encode_batch(texts), peer_name=PEER, runs=3)


def measure_peers(texts: Sequence[bytes], held: Sequence[str]) -> None:
    """The general split with plain merges: what other encoders are built for. With other ids: named, not timed."""
    merges = train_ours(texts, whitespace_recipe("general"), 1)
    keys = sorted((spell(bytes([byte])) for byte in range(256)), key=ord)
    vocabulary = {key: index for index, key in enumerate([*keys, *(left + right for left, right in merges)])}
    reference = plain_tokenizer(models.BPE(vocabulary, merges, ignore_merges=True), CL100K)
    ids = [encoding.ids for encoding in reference.encode_batch(held)]
    ours = plain_encoder(vocabulary, merges)
    mine, offsets = ours.encode_ids(held)
    require_same(np.delete(mine, offsets[:-1]), ids)
    megabytes = sum(len(text.encode()) for text in held) / 1e6
    theirs = lambda texts: [encoding.ids for encoding in reference.encode_batch(texts)]  # noqa: E731
    for name, encode in chain([(PEER, theirs)], open_others(reference)):
        try:
            require_same(np.concatenate([np.asarray(found, dtype=np.uint32) for found in encode(held)]), ids)
        except SystemExit as error:
            sys.stderr.write(f"{name}: {error}\n")
            continue
        figure = Figure(BENCH, f"encode to ids, general split, {megabytes:.1f} MB, 1 core", "MB/CPU-s", megabytes)
        compare(figure, lambda: ours.encode_ids(held), lambda encode=encode: encode(held), peer_name=name)


def plain_encoder(vocabulary: dict[str, int], merges: Strings) -> NativeEncoder:
    """Our encoder of a plain byte-level vocabulary. BOS is an id that is no token of it, and taken out again."""
    rows = [(vocabulary[left], vocabulary[right], vocabulary[left + right]) for left, right in merges]
    columns = np.ascontiguousarray(np.array(rows, dtype=np.uint32).T)
    tokens = [unspell(key) for key in vocabulary]
    return NativeEncoder(
        splitter=make_splitter(whitespace_recipe("general"), {}),
        tokens=[*tokens, b""],
        reachable=list(range(len(tokens))),
        left=columns[0],
        right=columns[1],
        product=columns[2],
        guard_ids=[],
        bos=len(tokens),
        first_ordinary=0,
    )


def require_same_spans(ours: Encoded, theirs: Sequence[Encoding]) -> None:
    """End the benchmark unless both encodings have the same ids and the same character offsets."""
    require_same(ours.ids, [encoding.ids for encoding in theirs])
    spans = np.concatenate([np.asarray(encoding.offsets, dtype=np.int32).reshape(-1, 2) for encoding in theirs])
    for name, mine, place in (("starts", ours.char_starts, 0), ("ends", ours.char_ends, 1)):
        if len(wrong := np.flatnonzero(mine != spans[:, place])):
            token = wrong[0]
            raise SystemExit(f"character {name} differ at token {token}: {mine[token]} and {spans[token, place]}")


def require_same(ours: Any, theirs: Sequence[Sequence[int]]) -> None:
    """End the benchmark unless both encodings are the same ids."""
    flat = np.concatenate([np.asarray(ids, dtype=np.uint32) for ids in theirs])
    if hashlib.sha256(ours.tobytes()).digest() != hashlib.sha256(flat.tobytes()).digest():
        raise SystemExit(f"ids differ: {len(ours)} and {len(flat)}")


def peak_memory() -> float:
    """Largest resident size of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def evenly(texts: Sequence[bytes], budget: int) -> list[str]:
    """Every n-th text, about `budget` bytes."""
    step = max(1, sum(map(len, texts)) // budget)
    return [text.decode("utf-8") for text in texts[::step]]


def load(sources: Sequence[str]) -> list[bytes]:
    """Distinct UTF-8 texts of all sources, in order."""
    found = (text for source in sources or default_sources() for text in read(source))
    texts = dict.fromkeys(text for text in found if b"\0" not in text and decodes(text))
    return list(texts)


def default_sources() -> list[str]:
    """The mirror's repositories, where there is a mirror, and the installed headers."""
    mirror = os.environ.get("MEGACPP_GIT_MIRROR")
    named = (("fmtlib", "fmt", "11.0.0"), ("google", "googletest", "v1.15.0"))
    repos = [f"{mirror.format(owner=owner, name=name)}@{ref}" for owner, name, ref in named] if mirror else []
    return [*repos, "/usr/include"]


def read(source: str) -> Iterator[bytes]:
    """The C/C++ files of a directory or of a commit."""
    directory, _, ref = source.rpartition("@")
    if not directory:
        files = sorted(path for path in Path(source).rglob("*") if path.is_file() and not path.is_symlink())
        yield from (
            path.read_bytes() for path in files if path.suffix in SUFFIXES or ("c++" in path.parts and not path.suffix)
        )
        return
    listing = git(directory, "ls-tree", "-r", "-z", ref).decode().split("\0")
    for line in listing:
        facts, _, path = line.partition("\t")
        if path.endswith(SUFFIXES):
            yield git(directory, "cat-file", "blob", facts.split()[2])


def git(directory: str, *arguments: str) -> bytes:
    """Output of a git command over a bare repository."""
    command = ["git", "--git-dir", directory, *arguments]
    return subprocess.run(command, capture_output=True, check=True, env=git_environment()).stdout


def decodes(text: bytes) -> bool:
    """Whether `text` is UTF-8."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        run_child(sys.argv[2], int(sys.argv[3]), sys.argv[4:])
    else:
        main(sys.argv[1:])
