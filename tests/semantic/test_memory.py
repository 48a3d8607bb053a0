"""Memory that does not grow with a repository: facts are read file by file, and little is kept of each."""

from __future__ import annotations

import gc
import sys
import types
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from megacpp_assets.contract.names import DOCUMENT_TOKENS
from megacpp_assets.contract.recipe.documents import HoldoutRecipe
from megacpp_assets.semantic.documents.account import Account
from megacpp_assets.semantic.documents.documents import documents
from megacpp_assets.semantic.documents.judge import Judge
from megacpp_assets.semantic.documents.measures.worth import Worth
from megacpp_assets.semantic.documents.roots.held_out import hold_out
from megacpp_assets.semantic.documents.text.document import Document
from megacpp_assets.semantic.graph.analysis.analysis import FileFacts
from megacpp_assets.semantic.graph.facts_store import Recent
from megacpp_assets.semantic.graph.repository import build_repository
from megacpp_assets.semantic.labels.char_store import CharStore
from tests.semantic.sources import EACH_ITS_OWN, analysed

_FILE = """\
#if defined(WIDE) && MODE > {number}
#define STEP_{number} {number}
#else
#define STEP_{number} 1
#endif
namespace outer{number} {{ namespace inner {{ struct Box {{ int side; int area(int scale) const; }}; }} }}
using namespace outer{number};
using inner::Box;
template <class T> struct Holder{number} {{ T value; }};
template <> struct Holder{number}<int> {{ int value; }};
int outer{number}::inner::Box::area(int scale) const {{
  // {padding}
  return scale * side * STEP_{number} + missing_{number};
}}
int twice{number}(const Box &box) {{ return box.area(2) + {number}; }}
#ifdef NEVER
int dropped{number}(const Box &box) {{ return twice{number}(box); }}
#endif
"""
_CACHES = (Recent, type(lru_cache(abs)))
"""What keeps a bounded number of results."""
_NOT_HELD = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, CharStore, *_CACHES)


class _Facts(FileFacts):
    """Facts to which a weak reference may point."""


class _Files(Sequence[FileFacts]):
    """Files whose facts are made at each access, as those of a large repository are. `most` is how many existed at
    once."""

    def __init__(self, files: Sequence[FileFacts]) -> None:
        self._files = files
        self._alive = 0
        self.most = 0

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, number: Any) -> Any:
        found = self._files[number]
        made = _Facts(**{each.name: getattr(found, each.name) for each in fields(FileFacts)})
        self._alive += 1
        self.most = max(self.most, self._alive)
        weakref.finalize(made, self._freed)
        return made

    def __iter__(self) -> Iterator[FileFacts]:
        return (self[number] for number in range(len(self)))

    def _freed(self) -> None:
        self._alive -= 1


class _Run:
    """The stage's work after the analysis, on a tree of `count` files with so many `words` in a comment of each, and
    what it holds at the end."""

    def __init__(self, folder: Path, count: int, words: int = 20) -> None:
        folder.mkdir()
        sources = {f"{n:03}.cc": _FILE.format(number=n, padding="word " * words) for n in range(count)}
        self.characters = sum(map(len, sources.values()))
        found = analysed(folder / "tree", sources)
        chars = CharStore(folder)
        for number, (_, painted) in enumerate(found):
            chars.put(number, painted)
        self.files = _Files([facts for facts, _ in found])
        repository = build_repository(self.files)
        judge = Judge(repository, hold_out(repository, "tree", HoldoutRecipe()))
        account, worth = Account(repository, ()), Worth(repository, DOCUMENT_TOKENS)
        for entry in documents(repository, chars.seal(), EACH_ITS_OWN, DOCUMENT_TOKENS, judge):
            if isinstance(entry, Document):
                account.place(DOCUMENT_TOKENS, entry)
                worth.add(entry)
            else:
                account.skip(entry)
        account.settle([DOCUMENT_TOKENS])
        self.held = _held_bytes((repository, judge, account, worth), without=self.files)


def _held_bytes(roots: Iterable[object], without: object) -> int:
    """Return the bytes of all objects that `roots` refer to, but for files, caches and code."""
    seen, pending, total = {id(without)}, list(roots), 0
    while pending:
        value = pending.pop()
        if id(value) not in seen and not isinstance(value, _NOT_HELD):
            seen.add(id(value))
            total += value.nbytes if isinstance(value, np.ndarray) else sys.getsizeof(value)
            pending += gc.get_referents(value)
    return total


def test_facts_of_few_files_exist_at_once_however_many_files_there_are(tmp_path: Path) -> None:
    few, many = (_Run(tmp_path / str(count), count).files.most for count in (6, 18))
    assert 1 <= few == many <= 4


def test_what_is_held_does_not_grow_with_the_characters_of_files(tmp_path: Path) -> None:
    short, long = (_Run(tmp_path / str(words), 12, words) for words in (20, 400))
    assert long.characters - short.characters > 20_000
    assert 10_000 < long.held < short.held + 1_000
