"""Other exact encoders beside ours: a HuggingFace tokenizer in, the same vocabulary in each of them out.

None is a dependency: what is not installed is named, with its version what is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module, metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tokenizers import Tokenizer

from megacpp_assets.tokenizer.byte_level import unspell

CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""The general recipe's expression as other encoders know it."""

Encode = Callable[[Sequence[str]], Any]


def open_tokie(_reference: Tokenizer, path: Path) -> Encode:
    """tokie's encoder of the file."""
    made = import_module("tokie").Tokenizer.from_json(str(path))
    return lambda texts: [getattr(found, "ids", found) for found in made.encode_batch(texts)]


def open_fastokens(_reference: Tokenizer, path: Path) -> Encode:
    """fastokens' encoder of the file."""
    made = import_module("fastokens").Tokenizer.from_file(str(path))
    return lambda texts: [getattr(found, "ids", found) for found in made.encode_batch(texts)]


def open_tiktoken(reference: Tokenizer, _path: Path) -> Encode:
    """tiktoken's encoder of the same vocabulary, whose ids are ranks."""
    ranks = {unspell(key): index for key, index in reference.get_vocab().items()}
    made = import_module("tiktoken").Encoding("plain", pat_str=CL100K, mergeable_ranks=ranks, special_tokens={})
    return lambda texts: [made.encode_ordinary(text) for text in texts]


OTHERS = {"tokie": open_tokie, "fastokens": open_fastokens, "tiktoken": open_tiktoken}
"""Other encoders by the name of their package; none is a dependency."""


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
    return f"not compared, not installed: {', '.join(names)}; pip install {' '.join(names)}" if names else ""


def open_others(reference: Tokenizer) -> Iterator[tuple[str, Encode]]:
    """(name and version, encode) of every installed one, with the vocabulary and merges of `reference`, on one core."""
    os.environ["RAYON_NUM_THREADS"] = "1"
    with TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        path.write_text(reference.to_str(), encoding="utf-8")
        for name, version in versions().items():
            if version is not None:
                yield f"{name} {version}", OTHERS[name](reference, path)
