"""Finds uses of what no file's own parse declares: `#ifdef STATIC_LINKING_ONLY` hides it from the parse of the header.

The parse of a file that defines the macro resolves the use, and only the declaration is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic.graph.analysis.analysis import FileFacts
from megacpp_assets.semantic.graph.directives import Directives
from megacpp_assets.semantic.graph.words.chunk_text import Pairs, code_of, numbered
from megacpp_assets.semantic.labels.symbol_names import symbol_id

_BEHIND = re.compile(rb"\}\s*([A-Za-z_]\w*)\s*;\s*\Z")
"""The name that a typedef gives."""
_DEFINE = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.M)
_KINDS = ("class_decl", "typedef", "func_body", "func_sig", "other")


class _Hidden(NamedTuple):
    """A chunk that no parse saw, and the macros on which its conditions depend."""

    chunk: int
    asked: AbstractSet[str]


def undeclared(files: Sequence[FileFacts], directives: Directives, seen: NDArray[np.bool_]) -> Pairs:
    """Yield the use of the chunk with the used name, or of the one around an enumerator or a member.

    The file of the user defines a macro on which the conditions around the chunk depend, or a file that it includes
    always does: otherwise the name is that of a header of the system. `seen` tells for each chunk of all files whether
    the parser saw a declaration in it.
    """
    hidden = _hidden(files, directives, seen)
    if not hidden:
        return
    known = np.unique(np.concatenate([facts.links.declared.id for facts in files]))
    asked = frozenset[str]().union(*(each.asked for each in hidden.values()))
    always = _always_defined(files, directives, asked)
    for base, facts in numbered(files):
        named = {name: target for name, _ in facts.entities.used if (target := _named(name, hidden)) is not None}
        macros = _macros_in(facts) if named else frozenset[str]()
        macros |= frozenset[str]().union(*(always.get(path, ()) for path in facts.parsed.includes if named))
        meant = {symbol_id(name): each.chunk for name, each in named.items() if not macros.isdisjoint(each.asked)}
        used = facts.links.used
        missing = np.isin(used.id, _unknown(meant, known))
        for chunk, each in sorted(set(zip(used.chunk[missing].tolist(), used.id[missing].tolist(), strict=True))):
            yield base + chunk, meant[each]


def _macros_in(facts: FileFacts) -> frozenset[str]:
    """Return the macros that a file defines."""
    return frozenset(name.decode() for name in _DEFINE.findall(facts.source.data))


def _always_defined(
    files: Sequence[FileFacts], directives: Directives, asked: AbstractSet[str]
) -> Mapping[str, AbstractSet[str]]:
    """Return which of the macros `asked` each file defines under no condition, by its path."""
    found: dict[str, set[str]] = {}
    for file, facts in enumerate(files):
        for match in _DEFINE.finditer(facts.source.data) if not asked.isdisjoint(_macros_in(facts)) else ():
            if (name := match[1].decode()) in asked and not directives.around(file, match.start()):
                found.setdefault(facts.source.path, set()).add(name)
    return found


def _unknown(ids: Iterable[int], known: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return those `ids` that are not among the `known`, which ascend. `np.isin` would sort all of them again."""
    asked = np.array(sorted(ids), dtype=known.dtype)
    places = np.searchsorted(known, asked)
    return asked[known.take(places, mode="clip") != asked] if len(known) else asked


def _hidden(files: Sequence[FileFacts], directives: Directives, seen: NDArray[np.bool_]) -> dict[str, _Hidden]:
    """Return the first chunk of each name that no file's own parse saw."""
    found: dict[str, _Hidden] = {}
    for file, (base, facts) in enumerate(numbered(files)):
        for number, chunk in enumerate(facts.chunks):
            if seen[base + number] or not chunk.name or chunk.kind not in _KINDS or chunk.unit[0] != number:
                continue
            if around := directives.around(file, chunk.start):
                asked = frozenset[str]().union(*(condition.asked() for condition in around))
                for name in _names(facts, number):
                    found.setdefault(name, _Hidden(base + number, asked))
    for base, facts in numbered(files) if found else ():
        for number, chunk in enumerate(facts.chunks):
            if chunk.name in found and seen[base + number]:
                del found[chunk.name]
    return found


def _names(facts: FileFacts, number: int) -> Iterator[str]:
    """Yield the name of a chunk, and the one that a typedef gives to its class.

    In front of the name there may be a macro that nobody expanded.
    """
    chunk = facts.chunks[number]
    yield chunk.name.split()[-1]
    if chunk.kind == "class_decl" and (behind := _BEHIND.search(code_of(facts, number))):
        yield behind[1].decode()


def _named(name: str, hidden: Mapping[str, _Hidden]) -> _Hidden | None:
    return hidden.get(name, hidden.get(name.rpartition("::")[0]))
