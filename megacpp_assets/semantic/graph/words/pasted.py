"""Finds the macros and functions whose names a `##` makes, as `UV__ ## code` makes `UV__EINVAL` in `XX(EINVAL)`.

libclang records only the macros that the text of a file names, so these uses have no references.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate
from typing import NamedTuple

from megacpp_assets.semantic.graph.analysis.analysis import FileFacts
from megacpp_assets.semantic.graph.link import Table, chunks_called
from megacpp_assets.semantic.graph.words.chunk_text import Pairs, code_of, is_macro, numbered
from megacpp_assets.semantic.graph.words.mentions import words_of

_DEFINITION = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)\(([^()]*)\)((?:[^\n\\]|\\\r?\n|\\)*)", re.M)
_PASTED = re.compile(rb"\w+(?:\s*##\s*\w+)+")
_PASTE = re.compile(rb"\s*##\s*")
_DEEPEST = 3
"""The number of macros through which an argument is followed."""
_LEAST = 2
"""A name that is made with fewer letters around the argument could be any name."""


_KINDS = ("preamble", "func_body", "other")
"""Macros, functions, and lists that define several functions by one macro."""


class Affix(NamedTuple):
    """What a macro pastes before and after one of its arguments."""

    before: str
    after: str


def pasted(files: Sequence[FileFacts], declared: Table, words: Mapping[int, AbstractSet[str]]) -> Pairs:
    """Yield the use of each macro of which a chunk makes the name: it pastes a word of its own, or of a macro in it.
    Functions of its own file, which another such list may define, are used like macros.

    `words` are those in the definitions of macros, by chunk.
    """
    affixes = _passed_on(_known(_read(files), _names(files)), files, words)
    if not affixes:
        return
    calling = dict(_calling(files, affixes))
    given = _with_words_of_macros(calling, declared, words)
    made = {user: _made(own, given[user], affixes) for user, own in calling.items()}
    called = chunks_called(frozenset[str]().union(*made.values()), declared)
    bases = list(accumulate((len(facts.chunks) for facts in files), initial=0))
    for user, names in made.items():
        file = bisect_right(bases, user) - 1
        for used in (called[name] for name in sorted(names & called.keys())):
            if used != user and (bases[file] <= used < bases[file + 1] or is_macro(files, bases, used)):
                yield user, used


def _read(files: Sequence[FileFacts]) -> dict[str, set[Affix]]:
    """Return the affixes of the macros that paste, by name."""
    affixes: dict[str, set[Affix]] = defaultdict(set)
    for _, facts in numbered(files):
        for number in range(len(facts.chunks)) if b"##" in facts.source.data else ():
            for name, parameters, body in _DEFINITION.findall(code_of(facts, number)):
                affixes[name.decode()].update(_affixes(parameters, body))
    return affixes


def _passed_on(
    affixes: Mapping[str, set[Affix]], files: Sequence[FileFacts], words: Mapping[int, AbstractSet[str]]
) -> dict[str, set[Affix]]:
    """Return `affixes` with those of the macros that pass their arguments to such a macro, as LOG_IF may to LOG."""
    found = {name: set(own) for name, own in affixes.items()}
    passing = [
        (chunk.name, words.get(base + number, ()))
        for base, facts in numbered(files)
        for number, chunk in enumerate(facts.chunks if affixes else ())
        if chunk.kind == "preamble" and chunk.name
    ]
    for _ in range(_DEEPEST):
        for name, own in passing:
            for each in found.keys() & own:
                found.setdefault(name, set()).update(found[each])
    return found


def _names(files: Sequence[FileFacts]) -> Sequence[str]:
    return sorted({chunk.name for facts in files for chunk in facts.chunks if chunk.kind in _KINDS})


def _affixes(parameters: bytes, body: bytes) -> Iterator[Affix]:
    """Yield what a definition pastes around each single parameter."""
    own = {name.strip() for name in parameters.split(b",")}
    for match in _PASTED.finditer(body):
        parts = _PASTE.split(match[0])
        places = [place for place, part in enumerate(parts) if part in own]
        if len(places) == 1:
            before, after = parts[: places[0]], parts[places[0] + 1 :]
            if sum(map(len, (*before, *after))) >= _LEAST:
                yield Affix(b"".join(before).decode(), b"".join(after).decode())


def _known(found: Mapping[str, set[Affix]], names: Sequence[str]) -> dict[str, set[Affix]]:
    """Return the affixes that one of the `names`, which ascend, has."""
    backwards = sorted(name[::-1] for name in names)
    every = set().union(*found.values())
    known = {affix for affix in every if _is_known(affix, names, backwards)}
    return {name: kept for name, affixes in found.items() if (kept := affixes & known)}


def _is_known(affix: Affix, names: Sequence[str], backwards: Sequence[str]) -> bool:
    before, after = affix
    if not before:
        return next(_starting(backwards, after[::-1]), None) is not None
    return any(name.endswith(after) for name in _starting(names, before))


def _starting(names: Sequence[str], start: str) -> Iterator[str]:
    for place in range(bisect_left(names, start), len(names)):
        if not names[place].startswith(start):
            return
        if names[place] != start:
            yield names[place]


def _calling(files: Sequence[FileFacts], affixes: Mapping[str, set[Affix]]) -> Iterator[tuple[int, set[str]]]:
    """Yield the chunks that name a macro with one of the `affixes`, each with its words."""
    called = re.compile(rb"\b(?:" + b"|".join(name.encode() for name in sorted(affixes)) + rb")\b")
    for base, facts in numbered(files):
        for number, chunk in enumerate(facts.chunks) if called.search(facts.source.data) else ():
            if called.search(facts.source.data, chunk.start, chunk.end):
                yield base + number, _without_parameters(code_of(facts, number))


def _with_words_of_macros(
    calling: Mapping[int, set[str]], declared: Table, words: Mapping[int, AbstractSet[str]]
) -> dict[int, set[str]]:
    """Return the words of each chunk, with those of the macros that it names."""
    macros = chunks_called(frozenset[str]().union(*calling.values()), declared)
    return {
        user: own.union(*(words.get(macros[name], ()) for name in own & macros.keys())) for user, own in calling.items()
    }


def _made(own: AbstractSet[str], given: AbstractSet[str], affixes: Mapping[str, set[Affix]]) -> set[str]:
    """Return the names that a chunk may make of the words `given` to the macros that it names."""
    used = {affix for name in own & affixes.keys() for affix in affixes[name]}
    return {f"{before}{word}{after}" for before, after in used for word in given}


def _without_parameters(code: bytes) -> set[str]:
    """Return the words of a chunk, but not the parameters of a macro that it defines."""
    definition = _DEFINITION.match(code)
    return words_of(code) - (words_of(definition[2]) if definition else set())
