"""Finds the types that definitions of macros name, as `TestRegisterer` in `#define TEST(x) TestRegisterer r##x(#x)`.

libclang links an expansion with what it uses, and a definition with nothing. In C a class often has a second name
behind its brace: `typedef struct box_s {…} box_t;`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain

import numpy as np

from megacpp_assets.semantic.graph.analysis.analysis import FileFacts
from megacpp_assets.semantic.graph.link import Table
from megacpp_assets.semantic.graph.words.chunk_text import Pairs, numbered
from megacpp_assets.semantic.graph.words.mentions import last_name
from megacpp_assets.semantic.labels.symbol_names import symbol_id

_TYPES, _KINDS = ("class_decl", "typedef"), ("class", "enum", "typedef")


def macro_types(
    files: Sequence[FileFacts], words: Mapping[int, AbstractSet[str]], pasted: frozenset[int], declared: Table
) -> Pairs:
    """Yield the use of a type by each macro whose `words` name it, where only one type has that name.

    The files `pasted` are amalgamations: their types count only if no other file has one of that name. `declared` is
    what all files declare.
    """
    types = _types(files, frozenset[str]().union(*words.values()), pasted, declared)
    for macro, own in words.items():
        yield from ((macro, types[name]) for name in sorted(own & types.keys()))


def _types(
    files: Sequence[FileFacts], names: AbstractSet[str], pasted: frozenset[int], declared: Table
) -> dict[str, int]:
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
    single = {name: next(iter(full)) for name, full in every.items() if len(full) == 1}
    own = {name: next(iter(found[name].values()))[1] for name in single if name in found}
    others = {full: name for name, full in single.items() if name not in found}
    return own | _behind_classes(files, others, pasted, declared)


def _behind_classes(
    files: Sequence[FileFacts], names: Mapping[str, str], pasted: frozenset[int], declared: Table
) -> dict[str, int]:
    """Return the first chunk of the class behind whose brace each of `names`, by its full name, is declared."""
    wanted = {symbol_id(full): name for full, name in names.items()}
    rows = np.isin(declared["id"], np.array(list(wanted), dtype=declared["id"].dtype))
    named: dict[int, list[str]] = defaultdict(list)
    for number, each in zip(declared["chunk"][rows].tolist(), declared["id"][rows].tolist(), strict=True):
        named[number].append(wanted[each])
    found: tuple[dict[str, int], dict[str, int]] = ({}, {})
    for file, (base, facts) in enumerate(numbered(files) if named else ()):
        for root in facts.roots:
            if root.kind == "class_decl" and facts.signatures[root.first] is not None:
                for name in chain.from_iterable(named.get(base + each, ()) for each in range(root.first, root.last)):
                    found[file in pasted].setdefault(name, base + root.first)
    return found[True] | found[False]
