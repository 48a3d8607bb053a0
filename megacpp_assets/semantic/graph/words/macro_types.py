"""Finds the types that definitions of macros name, as `TestRegisterer` in `#define TEST(x) TestRegisterer r##x(#x)`.

libclang links an expansion with what it uses, and a definition with nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from megacpp_assets.semantic.graph.analysis.analysis import FileFacts
from megacpp_assets.semantic.graph.words.chunk_text import Pairs, numbered
from megacpp_assets.semantic.graph.words.mentions import last_name

_TYPES, _KINDS = ("class_decl", "typedef"), ("class", "enum", "typedef")


def macro_types(files: Sequence[FileFacts], words: Mapping[int, AbstractSet[str]], pasted: frozenset[int]) -> Pairs:
    """Yield the use of a type by each macro whose `words` name it, where only one type has that name.

    The files `pasted` are amalgamations: their types count only if no other file has one of that name.
    """
    types = _types(files, frozenset[str]().union(*words.values()), pasted)
    for macro, own in words.items():
        yield from ((macro, types[name]) for name in sorted(own & types.keys()))


def _types(files: Sequence[FileFacts], names: AbstractSet[str], pasted: frozenset[int]) -> dict[str, int]:
    """Return the chunk that defines the type of each of `names`, without those of which there are several types."""
    found: dict[str, dict[str, tuple[bool, int]]] = defaultdict(dict)
    every: dict[str, set[str]] = defaultdict(set)
    for file, (base, facts) in enumerate(numbered(files)):
        for full, kind in facts.entities.declared():
            if kind in _KINDS and (name := last_name(full)) in names:
                every[name].add(full)
        for number, chunk in enumerate(facts.chunks):
            is_head = facts.signatures[number] is not None or chunk.kind == "typedef"
            if chunk.kind in _TYPES and is_head and (name := last_name(chunk.name)) in names:
                place = (file in pasted, base + number)
                found[name][chunk.name] = min(place, found[name].get(chunk.name, place))
    return {name: next(iter(places.values()))[1] for name, places in found.items() if len(every[name]) == 1}
