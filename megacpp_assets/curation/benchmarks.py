"""Answers of benchmarks in source files: runs of tokens that a file shares with the items of JSONL sets.

An item is `{"id", "prompt", "canonical_solution"}`; prompt and solution are one text. Two passes: tokens as
they are, then longer runs with every name as one word, which finds copies whose identifiers were renamed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.compute.shingles import Shingles, shingles
from megacpp_assets.contract.canonical import sha256_bytes
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.curation import benchmark_set

RUN_TOKENS = 10
"""Tokens of a run, as Qwen2.5-Coder's filter takes them."""
RENAMED_TOKENS = 20
_LEAST_RUNS = 8
"""An item of fewer runs is too short to be told from common code."""
_TEXTS = ("prompt", "canonical_solution")
_NAME = re.compile(r"\b[A-Za-z_]\w*")
_KEYWORDS = frozenset(
    "if else for while do switch case break continue return int char long short unsigned signed float double bool void "
    "auto const static struct class enum template typename using namespace public private new delete sizeof".split()
)


def with_one_name(text: str) -> str:
    """`text` with every identifier that is no keyword as the same word."""
    return _NAME.sub(lambda match: match[0] if match[0] in _KEYWORDS else "v", text)


@dataclass(frozen=True, slots=True)
class _Index:
    """Runs of all items, ascending, the item that each run is of, and how many runs each item has."""

    runs: Shingles
    owners: NDArray[np.int64]
    counts: NDArray[np.int64]

    @staticmethod
    def of(items: Sequence[Shingles]) -> _Index:
        counts = np.array([len(item) for item in items], dtype=np.int64)
        every = np.concatenate([np.zeros(0, dtype=np.uint64), *items])
        order = np.argsort(every, kind="stable")
        return _Index(every[order], np.repeat(np.arange(len(items)), counts)[order], counts)

    def held(self, text: Shingles, share: float) -> NDArray[np.int64]:
        """Numbers of the items of whose runs `text` has at least `share`."""
        first = np.searchsorted(text, self.runs)
        found = (
            text[np.minimum(first, len(text) - 1)] == self.runs if len(text) else np.zeros(len(self.runs), dtype=bool)
        )
        hits = np.bincount(self.owners[found], minlength=len(self.counts))
        return np.flatnonzero((self.counts >= _LEAST_RUNS) & (hits >= share * self.counts))


@dataclass(slots=True)
class Benchmarks:
    """The items of all sets. `short` counts those that are too short to be looked for."""

    names: list[str] = field(default_factory=list)
    short: int = 0
    _plain: _Index = field(default_factory=lambda: _Index.of([]))
    _renamed: _Index = field(default_factory=lambda: _Index.of([]))

    def found_in(self, text: str, share: float) -> list[str]:
        """`SET:ID` of each item of whose runs `text` holds at least `share`, in the order of the sets."""
        if not self.names:
            return []
        numbers = set(self._plain.held(shingles(text, RUN_TOKENS), share).tolist())
        numbers.update(self._renamed.held(shingles(with_one_name(text), RENAMED_TOKENS), share).tolist())
        return [self.names[number] for number in sorted(numbers)]


def load_benchmarks(sets: Iterable[str]) -> Benchmarks:
    """The items of `sets`, lines as sha256sum writes them. `SpecError` for a file that is missing, has another hash, is
    empty, or has a line that is no item.
    """
    names, texts = [], []
    for line in sets:
        for name, text in _items(line):
            names.append(name)
            texts.append(text)
    plain = [shingles(text, RUN_TOKENS) for text in texts]
    renamed = [shingles(with_one_name(text), RENAMED_TOKENS) for text in texts]
    short = sum(len(runs) < _LEAST_RUNS for runs in plain)
    return Benchmarks(names, short, _Index.of(plain), _Index.of(renamed))


def _items(line: str) -> Iterator[tuple[str, str]]:
    digest, path = benchmark_set(line)
    where = f"benchmark set {path}"
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise SpecError(where, expected="a readable file", found=error.strerror or str(error)) from error
    if sha256_bytes(data) != digest:
        raise SpecError(where, expected=f"sha256 {digest}", found=f"sha256 {sha256_bytes(data)}")
    lines = [text for text in data.decode("utf-8", "replace").split("\n") if text.strip()]
    if not lines:
        raise SpecError(where, expected="at least one item", found="an empty file")
    for number, text in enumerate(lines, start=1):
        yield _item(f"{where}, line {number}", Path(path).stem, text)


def _item(where: str, name: str, line: str) -> tuple[str, str]:
    expected = f'a JSON object with "id" and one of {", ".join(_TEXTS)}'
    try:
        item = json.loads(line)
    except ValueError as error:
        raise SpecError(where, expected=expected, found=f"no JSON: {error}") from error
    texts = [item[key] for key in _TEXTS if isinstance(item.get(key), str)] if isinstance(item, dict) else []
    if not texts or not item.get("id"):
        raise SpecError(where, expected=expected, found=line[:60])
    return f"{name}:{item['id']}", "\n".join(texts)
