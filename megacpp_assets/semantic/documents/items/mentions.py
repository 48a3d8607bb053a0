"""Which entities of a repository its texts use and declare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import DEF_USE_DEF, DEF_USE_USE
from megacpp_assets.semantic.documents.items.items import Item
from megacpp_assets.semantic.documents.items.recent import FILES, recent
from megacpp_assets.semantic.documents.standard_names import GLOBAL, IN_C, IN_STD
from megacpp_assets.semantic.graph.repository import Repository
from megacpp_assets.semantic.graph.symbol_rows import FUNCTION, KINDS, MACRO, NAMESPACE, Entities, Form
from megacpp_assets.semantic.labels.char_store import CharStore

_REPLACED = ("typedef", FUNCTION)
"""The kinds of entities that a tree declares where a header of C is missing."""


class Mentions:
    """The entities of one repository, by their ids: all that it declares outside of functions, macros too. Overloads
    are one. Namespaces are left out, even if `import std;` or `export module` names one, because a document opens a
    namespace and does not declare it. So are names that a standard header declares: those of `std` that the repository
    declares ahead, and those of C that it declares under conditions alone, where the header is missing. A document
    includes that header."""

    def __init__(self, repository: Repository, chars: CharStore) -> None:
        self._repository = repository
        self._chars = chars
        self._places = recent(self._places_of, FILES)
        known, spaces, standard = set[int](), set[int](), set[int]()
        substitutes, firm = set[int](), set[int]()
        for number, facts in enumerate(repository.files):
            entities = facts.entities
            known.update(entities.id[lasting(entities)].tolist())
            spaces.update(entities.id[entities.kind == KINDS.index(NAMESPACE)].tolist())
            named = zip(entities.id.tolist(), entities.name, strict=True)
            standard.update(each for each, name in named if _is_standard(name))
            for row in _standard_in_c(entities):
                is_under = bool(repository.directives.around(number, int(entities.start[row])))
                (substitutes if is_under else firm).add(int(entities.id[row]))
        self._known = frozenset(known - spaces - standard - (substitutes - firm))
        self._firsts = [0, *accumulate(len(facts.chunks) for facts in repository.files)]
        self._linked = recent(self._linked_of, FILES)
        self.used = recent(self._used)
        """Of chunks, a range of their numbers, what they use and do not declare: ids, each with how often."""
        self.used_in = recent(self._used_in, FILES)
        """The same of characters [start, end) of a file."""
        self.declared = recent(self._declared)
        """The ids of what characters [start, end) of a file declare: by the names there, and by where declarations
        begin, since an operator has no name of one token, and what a macro makes none at all."""

    def linked(self, unit: Item) -> AbstractSet[int]:
        """Ids of what chunks, a range of their numbers, use by what the parser resolved: constructors and conversions
        too, which no token of the text names."""
        file = self._repository.nodes[unit[0]].file
        chunks, ids = self._linked(file)
        first, last = np.searchsorted(chunks, [number - self._firsts[file] for number in unit]).tolist()
        return frozenset(ids[first:last].tolist()) & self._known

    def _linked_of(self, file: int) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """Return the chunks of a file, ascending, with the ids that each uses."""
        used = self._repository.files[file].links.used
        order = np.argsort(used.chunk, kind="stable")
        return used.chunk[order], used.id[order]

    def _used(self, unit: Item) -> Mapping[int, int]:
        first, last = self._repository.nodes[unit[0]], self._repository.nodes[unit[1] - 1]
        return self._used_in(first.file, first.char_start, last.char_end)

    def _used_in(self, file: int, start: int, end: int) -> Mapping[int, int]:
        place = file, start, end
        chars = self._chars.slice(*place)
        ids, modes = chars[c.SYMBOL_IDS], chars[c.DEF_USE]
        begins = np.append(True, (ids[1:] != ids[:-1]) | (modes[1:] != modes[:-1]))[: len(ids)]
        found = ids[begins & (modes == DEF_USE_USE)]
        own = self.declared(*place)
        return Counter(each for each in found.tolist() if each in self._known and each not in own)

    def _declared(self, file: int, start: int, end: int) -> AbstractSet[int]:
        starts, ids = self._places(file)
        first, last = np.searchsorted(starts, (start, end)).tolist()
        chars = self._chars.slice(file, start, end)
        named = chars[c.SYMBOL_IDS][chars[c.DEF_USE] == DEF_USE_DEF]
        return frozenset((*ids[first:last].tolist(), *named.tolist()))

    def _places_of(self, file: int) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """Return the characters where the declarations of a file begin, ascending, and their ids."""
        facts = self._repository.files[file]
        lasts = lasting(facts.entities)
        return facts.source.chars(facts.entities.start[lasts]), facts.entities.id[lasts]


def _is_standard(name: str) -> bool:
    """Return whether a standard header declares the qualified `name`, or the class that it is a member of."""
    space, _, rest = name.partition("::")
    return space == "std" and rest.partition("::")[0] in IN_STD


def _standard_in_c(entities: Entities) -> Iterator[int]:
    """Yield the places of types and functions whose name a header of C declares."""
    for row, (name, kind) in enumerate(entities.declared()):
        if kind in _REPLACED and (name in IN_C or name in GLOBAL):
            yield row


def lasting(entities: Entities) -> NDArray[np.bool_]:
    """Return which places declare what outlives a function."""
    return np.asarray(((entities.form & Form.OUTER) > 0) | (entities.kind == KINDS.index(MACRO)))
