"""Finds the macros whose names a `##` makes, as `UV__ ## code` makes `UV__EINVAL` in `XX(EINVAL)`.

libclang records only the macros that the text of a file names, so these uses have no references.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from megacpp_assets.semantic.graph.analysis.analysis import FileFacts
from megacpp_assets.semantic.graph.link import Table, chunks_called
from megacpp_assets.semantic.graph.words.chunk_text import Pairs, code_of, is_macro, numbered
from megacpp_assets.semantic.graph.words.mentions import words_of

_DEFINITION = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)\(([^()]*)\)((?:[^\n\\]|\\\r?\n|\\)*)", re.M)
_PASTED = re.compile(rb"\w+(?:\s*##\s*\w+)+")
_PASTE = re.compile(rb"\s*##\s*")
_LEAST = 2
"""A name that is made with fewer letters around the argument could be any name."""


class Affix(NamedTuple):
    """What a macro pastes before and after one of its arguments."""

    before: str
    after: str


def pasted(files: Sequence[FileFacts], declared: Table) -> Pairs:
    """Yield the use of each macro of which a chunk makes the name: it pastes a word of its own, or of a macro in it."""
    affixes, words = _read(files)
    affixes = {name: kept for name, found in affixes.items() if (kept := _known(found, sorted(words)))}
    if not affixes:
        return
    made = dict(_made(files, affixes, words))
    called = chunks_called(frozenset[str]().union(*made.values()), declared)
    bases = list(accumulate((len(facts.chunks) for facts in files), initial=0))
    macros = {name: chunk for name, chunk in called.items() if is_macro(files, bases, chunk)}
    for user, names in made.items():
        yield from ((user, macros[name]) for name in sorted(names & macros.keys()))


def _read(files: Sequence[FileFacts]) -> tuple[dict[str, set[Affix]], dict[str, set[str]]]:
    """Return the affixes of macros that paste, and the words of each macro that is a chunk, by name."""
    affixes: dict[str, set[Affix]] = defaultdict(set)
    words: dict[str, set[str]] = defaultdict(set)
    for _, facts in numbered(files):
        pastes = b"##" in facts.source.data
        for number, chunk in enumerate(facts.chunks):
            if chunk.kind == "preamble" and chunk.name:
                words[chunk.name] |= words_of(code_of(facts, number))
            for name, parameters, body in _DEFINITION.findall(code_of(facts, number)) if pastes else ():
                affixes[name.decode()].update(_affixes(parameters, body))
    return affixes, words


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


def _known(found: set[Affix], names: Sequence[str]) -> set[Affix]:
    """Return the affixes that one of the `names`, which ascend, has."""
    return {affix for affix in found if any(name.endswith(affix.after) for name in _starting(names, affix.before))}


def _starting(names: Sequence[str], start: str) -> Iterator[str]:
    for place in range(bisect_left(names, start), len(names)):
        if not names[place].startswith(start):
            return
        if names[place] != start:
            yield names[place]


def _made(
    files: Sequence[FileFacts], affixes: Mapping[str, set[Affix]], words: Mapping[str, set[str]]
) -> Iterator[tuple[int, set[str]]]:
    """Yield the chunks that call a macro with one of the `affixes`, each with the names that it may make."""
    called = re.compile(rb"\b(?:" + b"|".join(name.encode() for name in sorted(affixes)) + rb")\b")
    for base, facts in numbered(files):
        for number, chunk in enumerate(facts.chunks) if called.search(facts.source.data) else ():
            if not called.search(facts.source.data, chunk.start, chunk.end):
                continue
            own = _without_parameters(code_of(facts, number))
            used = {affix for name in own & affixes.keys() for affix in affixes[name]}
            given = own.union(*(words[name] for name in own & words.keys()))
            yield base + number, {f"{before}{word}{after}" for before, after in used for word in given}


def _without_parameters(code: bytes) -> set[str]:
    """Return the words of a chunk, but not the parameters of a macro that it defines."""
    definition = _DEFINITION.match(code)
    return words_of(code) - (words_of(definition[2]) if definition else set())
