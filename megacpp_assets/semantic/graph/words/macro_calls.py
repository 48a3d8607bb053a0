"""Finds the functions that definitions of macros call, as `fail` in `#define CHECK(c) ((c) ? 0 : fail(#c))`.

libclang links an expansion with what it uses, and a definition with nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate, chain, groupby
from typing import NamedTuple

from megacpp_assets.semantic.graph.analysis.analysis import FileFacts
from megacpp_assets.semantic.graph.link import Table, chunks_defining
from megacpp_assets.semantic.graph.symbol_rows import CLASS
from megacpp_assets.semantic.graph.words.chunk_text import Pairs, code_of
from megacpp_assets.semantic.graph.words.mentions import KEYWORDS, last_name, words_of

_ALONE = re.compile(rb"\s*([A-Za-z_]\w*)\s*")
_CALLED = re.compile(
    rb"(?:\b(\w++)\s++|##\s*+\w++\s*+(::)\s*+|(\b[A-Za-z_]\w*+|[)>])\s*+::\s*+)?(?<![\w.>])([A-Za-z_]\w*+)\s*+\("
)
"""A name in front of `(`, behind a word, behind a class whose name is pasted, or behind what qualifies it. Possessive:
linear in a long word."""
_POINTER_RETURNED = re.compile(
    rb"\w\s*+[*&]++\s*+([A-Za-z_]\w*+)\s*+\([^()]*+\)\s*+(?>(?:const\b\s*+|noexcept\b\s*+)*)(?:override\b|final\b|=\s*+0|\{)"
)
"""A function that is declared to return a pointer or a reference: `T* name() override`, `T* name() {`."""
_BEFORE_CALL = frozenset(b"and case co_await co_return co_yield delete do else new not or return throw".split())
"""Any other word in front of a name is the type that a function returns."""
_CANDIDATES = 64
"""Of the functions with one name, the first so many are looked at."""
_CLOSING = (")", ">")
"""What ends a class that a macro makes or a template, in front of `::`."""

Calls = Mapping[str, AbstractSet[str]]
"""The names that a definition calls as functions, each with what is in front of `::` before it: a name, `>` or `)`, or
"" for nothing."""


def calls_of(code: bytes, parameters: AbstractSet[str] = frozenset()) -> Calls:
    """Return the functions that `code` calls, not as members of an object; a name alone counts too.

    Neither is one of the `parameters` a function, nor does it say which class it is.
    """
    found: dict[str, set[str]] = defaultdict(set)
    returned = {*_POINTER_RETURNED.findall(code)}
    for word, pasted, qualifier, name in _CALLED.findall(code):
        if not pasted and (not word or word in _BEFORE_CALL) and name not in returned:
            found[name.decode()].add(qualifier.decode())
    if alone := _ALONE.fullmatch(code):
        found[alone[1].decode()].add("")
    wanted = found.keys() - KEYWORDS - parameters
    return {name: by for name in wanted if (by := found[name] - parameters)}


class _Function(NamedTuple):
    """A chunk that defines a function, the last name of its scope, whether that is a class, and whether the text of the
    chunk has the function's name."""

    chunk: int
    scope: str
    is_member: bool
    is_written: bool


def functions_called(
    files: Sequence[FileFacts], declared: Table, calls: Mapping[int, Calls], words: Mapping[int, AbstractSet[str]]
) -> Pairs:
    """Yield the use of a function by each definition of a macro that calls it.

    `calls` and `words` are those of each definition. Of several functions with the name the first counts that the
    qualifier allows; one that is no member comes before members.
    """
    names = {name for own in calls.values() for name in own}
    known = _functions(files, chunks_defining(names, declared)) if names else {}
    for macro, own in calls.items():
        for name in sorted(own.keys() & known.keys()):
            for qualifier in sorted(own[name]):
                if (meant := _meant(known[name], qualifier, words[macro])) is not None:
                    yield macro, meant


def _functions(files: Sequence[FileFacts], chunks: Mapping[str, Sequence[int]]) -> dict[str, list[_Function]]:
    """Return the functions of each name. `chunks` are those that define a function or macro with each name."""
    bases = list(accumulate((len(facts.chunks) for facts in files), initial=0))[:-1]
    defining = sorted((chunk, name) for name, found in chunks.items() for chunk in found[:_CANDIDATES])
    functions: dict[str, list[_Function]] = defaultdict(list)
    for file, found in groupby(defining, lambda pair: bisect_right(bases, pair[0]) - 1):
        facts, classes = files[file], _classes(files[file])
        for chunk, name in found:
            number = chunk - bases[file]
            if facts.chunks[number].kind != "preamble":
                functions[name].append(_function(facts, number, name, chunk, classes))
    return functions


def _classes(facts: FileFacts) -> set[str]:
    """Return the classes that a file declares or refers to."""
    return {name for name, kind in chain(facts.entities.declared(), facts.entities.used) if kind == CLASS}


def _function(facts: FileFacts, number: int, name: str, chunk: int, classes: AbstractSet[str]) -> _Function:
    full = facts.chunks[number].name
    is_own = last_name(full) == name
    scope = full.rpartition("::")[0] if is_own else full
    is_written = name in words_of(code_of(facts, number))
    return _Function(chunk, last_name(scope), not is_own or scope in classes, is_written)


def _meant(functions: Sequence[_Function], qualifier: str, words: AbstractSet[str]) -> int | None:
    """Return the chunk of the function that is called behind `qualifier` in a definition with these `words`.

    A member whose name only a macro writes is made by that macro, as `TestBody` is by each `TEST(suite, name)`.
    """
    fitting = [each for each in functions if each.is_written or not each.is_member]
    if qualifier in _CLOSING:
        fitting = [each for each in fitting if each.scope in words]
    elif qualifier:
        fitting = [each for each in fitting if each.scope == qualifier] or fitting
    return min(fitting, key=lambda each: (each.is_member, each.chunk)).chunk if fitting else None
