"""Counts the words of a corpus in portions, and caches each portion's counts under everything that decides them.

A training that was killed resumes from the counted portions. For a new tag only the new portions are counted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from megacpp_assets.contract.canonical import canonical_json, sha256_bytes
from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.caching.cache import Cache
from megacpp_assets.storage.git_objects import blob_reader
from megacpp_assets.tokenizer import _bpe, model, train, whitespace
from megacpp_assets.tokenizer._bpe import Counter
from megacpp_assets.tokenizer.train import new_counter
from megacpp_assets.tokenizer.vocabulary.fixed import fixed_sha256

PORTION_BYTES = 64 << 20
_LENGTHS, _COUNTS = np.dtype("<u4"), np.dtype("<i8")
_HEAD_BYTES = 8


@dataclass(frozen=True, slots=True)
class Portion:
    """Files of one repository that are counted together."""

    raw: Artifact
    files: tuple[SourceFile, ...]

    def texts(self) -> Iterator[bytes]:
        """Yield the bytes of the files, in order."""
        with blob_reader(self.raw) as reader:
            for _, data in reader.read_all(self.files):
                yield data


@dataclass(slots=True)
class CountCache:
    """Where counts are cached between runs, and how many portions were found there or had to be counted."""

    store: Cache
    reused: int = 0
    counted: int = 0


def portions(raw: Artifact, files: Sequence[SourceFile]) -> Iterator[Portion]:
    """Yield `files` of `raw` in groups of about `PORTION_BYTES`."""
    part: list[SourceFile] = []
    size = 0
    for file in files:
        part.append(file)
        size += file.bytes
        if size >= PORTION_BYTES:
            yield Portion(raw, tuple(part))
            part, size = [], 0
    if part:
        yield Portion(raw, tuple(part))


def count_portions(
    parts: Iterable[Portion],
    recipe: TokenizerRecipe,
    count: Callable[[Iterable[bytes]], Counter],
    memory: CountCache,
    report: Callable[[int], None],
) -> Counter:
    """Count the words of all `parts`. Unknown portions are counted by `count`. `report` receives the number of files
    done.
    """
    total, done = new_counter(recipe), 0
    for part in parts:
        name = _name(part, recipe)
        kept = memory.store.get(name)
        if kept is None:
            memory.counted += 1
            kept = to_bytes(count(_reporting(part, done, report)))
            memory.store.put(name, kept)
        else:
            memory.reused += 1
            report(done + len(part.files))
        add_bytes(total, kept)
        done += len(part.files)
    return total


def to_bytes(counter: Counter) -> bytes:
    """Return the number of words, their lengths, their counts, and the words one after the other."""
    data, lengths, counts = counter.dump()
    head = len(lengths).to_bytes(_HEAD_BYTES, "little")
    return b"".join((head, lengths.astype(_LENGTHS).tobytes(), counts.astype(_COUNTS).tobytes(), data))


def add_bytes(counter: Counter, kept: bytes) -> None:
    """Add the output of `to_bytes` to a counter. It is not validated: the cache has a checksum."""
    number = int.from_bytes(kept[:_HEAD_BYTES], "little")
    lengths = np.frombuffer(kept, _LENGTHS, number, _HEAD_BYTES)
    counts = np.frombuffer(kept, _COUNTS, number, _HEAD_BYTES + lengths.nbytes)
    counter.add_words(kept[_HEAD_BYTES + lengths.nbytes + counts.nbytes :], lengths, counts)


def _reporting(part: Portion, before: int, report: Callable[[int], None]) -> Iterator[bytes]:
    for done, text in enumerate(part.texts()):
        yield text
        report(before + done + 1)


def _name(part: Portion, recipe: TokenizerRecipe) -> str:
    facts = {
        "blobs": [file.blob for file in part.files],
        "code": _code(),
        "fixed_vocabulary": fixed_sha256(),
        "whitespace": recipe.whitespace,
    }
    return sha256_bytes(canonical_json(facts))


@cache
def _code() -> str:
    """Return the identity of the code that splits and counts, which takes the place of a version."""
    digest = hashlib.sha256()
    for module in (_bpe, model, train, whitespace):
        digest.update(Path(str(module.__file__)).read_bytes())
    return digest.hexdigest()
