"""Exact encoders under one face: a HuggingFace `tokenizer.json` in, the arrays that each makes of texts out.

Ours, HuggingFace's, and others which are no dependencies: `pip install -e '.[bench]'` brings all. Each is asked in the
way that is its fastest from Python, arrays instead of lists where it has them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from megacpp_assets.tokenizer._bpe import Encoder as NativeEncoder
from megacpp_assets.tokenizer.artifact import load_model
from megacpp_assets.tokenizer.byte_level import unspell
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.model import make_splitter
from megacpp_assets.tokenizer.whitespace import whitespace_recipe

CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""The general recipe's expression as other encoders know it."""
RECIPE = "operators_carry_spaces"
"""The whitespace recipe of the tokenizer that is encoded with spans."""
HUGGING_FACE = "HuggingFace tokenizers"

Texts = Sequence[str]
Arrays = tuple[NDArray[Any], ...]
"""Ids of all texts, one after the other; with spans also the first character of each token and the one behind it."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """`open` gives the function whose calls are timed; `arrays` makes of its result what is compared, untimed."""

    open: Callable[[Path], Callable[[Texts], Any]]
    arrays: Callable[[Any], Arrays]


def _flat(lists: Sequence[Any]) -> NDArray[np.uint32]:
    return np.concatenate([np.asarray(ids, dtype=np.uint32) for ids in lists])


def _open_ours(path: Path) -> Callable[[Texts], Any]:
    """Our encoder of a plain byte-level vocabulary. BOS is an id that is no token of it, and taken out again."""
    model = json.loads(path.read_bytes())["model"]
    vocabulary: dict[str, int] = model["vocab"]
    rows = [(vocabulary[left], vocabulary[right], vocabulary[left + right]) for left, right in model["merges"]]
    columns = np.ascontiguousarray(np.array(rows, dtype=np.uint32).T)
    tokens = [unspell(key) for key in sorted(vocabulary, key=vocabulary.__getitem__)]
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
    ).encode_ids


def _open_ours_with_spans(path: Path) -> Callable[[Texts], Any]:
    return Encoder(load_model(path.read_bytes(), whitespace_recipe(RECIPE))).encode_batch


def _open_tokie(path: Path) -> Callable[[Texts], Any]:
    encode: Callable[[Texts], Any] = import_module("tokie").Tokenizer.from_json(str(path)).encode_batch_flat
    return encode


def _open_fastokens(path: Path) -> Callable[[Texts], Any]:
    encode: Callable[[Texts], Any] = import_module("fastokens").Tokenizer.from_file(str(path)).encode_batch_flat
    return encode


def _open_tiktoken(path: Path) -> Callable[[Texts], Any]:
    """The same vocabulary in tiktoken's form: ids are ranks."""
    vocabulary = json.loads(path.read_bytes())["model"]["vocab"]
    ranks = {unspell(key): index for key, index in vocabulary.items()}
    made = import_module("tiktoken").Encoding("plain", pat_str=CL100K, mergeable_ranks=ranks, special_tokens={})
    return lambda texts: [made.encode_to_numpy(text) for text in texts]


def _open_gigatoken(path: Path) -> Callable[[Texts], Any]:
    made = import_module("gigatoken").Tokenizer(path)
    return lambda texts: made.encode_batch(texts, parallel=False)


def _hugging_face_spans(found: Sequence[Any]) -> Arrays:
    spans = np.concatenate([np.asarray(encoding.offsets, dtype=np.int32).reshape(-1, 2) for encoding in found])
    return _flat([encoding.ids for encoding in found]), spans[:, 0], spans[:, 1]


OURS, WITH_SPANS = "ours", " with spans"
CONTESTANTS = {
    OURS: Contestant(_open_ours, lambda found: (np.delete(found[0], found[1][:-1]),)),
    OURS + WITH_SPANS: Contestant(
        _open_ours_with_spans, lambda found: (found.ids, found.char_starts, found.char_ends)
    ),
    HUGGING_FACE: Contestant(
        lambda path: Tokenizer.from_file(str(path)).encode_batch_fast,
        lambda found: (_flat([encoding.ids for encoding in found]),),
    ),
    HUGGING_FACE + WITH_SPANS: Contestant(
        lambda path: Tokenizer.from_file(str(path)).encode_batch, _hugging_face_spans
    ),
    "tokie": Contestant(_open_tokie, lambda found: (found[0],)),
    "fastokens": Contestant(_open_fastokens, lambda found: (np.frombuffer(found[0], dtype=np.uint32),)),
    "tiktoken": Contestant(_open_tiktoken, lambda found: (_flat(found),)),
    "gigatoken": Contestant(_open_gigatoken, lambda found: (_flat(list(found)),)),
}  # fmt: skip
OTHERS = ("tokie", "fastokens", "tiktoken", "gigatoken")
"""Those that are no dependencies, by the names of their packages."""


def versions() -> dict[str, str | None]:
    """The installed version of each of `OTHERS`; None for one that is not there."""
    found: dict[str, str | None] = {}
    for name in OTHERS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def left_out() -> str:
    """The line that says which encoders are not installed, and what to install; empty if all are."""
    names = [name for name, version in versions().items() if version is None]
    return f"not compared, not installed: {', '.join(names)}; pip install -e '.[bench]'" if names else ""
