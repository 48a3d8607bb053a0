"""Standard headers that a document needs: for each name of the toolchain's that it uses, the header that promises it.

Uses are known from the parse. The definition of a macro is not parsed: its words count if the parse has such a name
elsewhere in the repository. Names that the repository declares are its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import numpy as np

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import DEF_USE_USE
from megacpp_assets.semantic.documents.recent import recent
from megacpp_assets.semantic.documents.standard_names import GLOBAL, IN_C, IN_STD
from megacpp_assets.semantic.graph.repository import Repository
from megacpp_assets.semantic.labels.char_store import CharStore, Part
from megacpp_assets.semantic.labels.symbol_names import symbol_id

_DEFINITION = re.compile(r"^[ \t]*#[ \t]*define[ \t]+\w+((?:\\\r?\n|[^\n])*)", re.M)
_QUALIFIED = re.compile(r"(?:[A-Za-z_]\w*::)*[A-Za-z_]\w*")
_IMPLIED = {
    "iostream": {"ios", "istream", "ostream", "streambuf"},
    "fstream": {"ios", "istream", "ostream"},
    "sstream": {"ios", "istream", "ostream"},
    "istream": {"ios"},
    "ostream": {"ios"},
}
"""Headers that others bring with them."""


class StandardHeaders:
    """The standard headers that texts of one repository need."""

    def __init__(self, repository: Repository, chars: CharStore) -> None:
        self._repository = repository
        self._chars = chars
        own = {name for facts in repository.files for name in facts.entities.name}
        names = {name for facts in repository.files for name, _ in facts.entities.used if name not in own}
        self._in_c = _headers(names, header_in_c)
        self._in_cxx = _headers(names, header_in_cxx)
        self._used = recent(self._used_by)

    def needed(self, parts: Iterable[Part], *, in_c: bool) -> set[str]:
        """The headers that `parts` of files need in a document, which is C or C++."""
        headers = self._in_c if in_c else self._in_cxx
        ids = frozenset[int]().union(*(self._used(part.file, part.start, part.end) for part in parts))
        found = {headers[each] for each in ids if each in headers}
        return found.difference(*(_IMPLIED.get(header, ()) for header in found))

    def _used_by(self, file: int, start: int, end: int) -> frozenset[int]:
        chars = self._chars.slice(file, start, end)
        used = np.unique(chars[c.SYMBOL_IDS][chars[c.DEF_USE] == DEF_USE_USE]).tolist()
        definitions = _DEFINITION.findall(self._repository.files[file].source.text[start:end])
        return frozenset((*used, *(symbol_id(name) for text in definitions for name in _QUALIFIED.findall(text))))


def header_in_c(name: str) -> str:
    """The header that promises `name` in C; "" if none does."""
    return "pthread.h" if name.startswith(("pthread_", "PTHREAD_")) else IN_C.get(name, "")


def header_in_cxx(name: str) -> str:
    """The header that promises the qualified `name` in C++; "" if none does. Of a member it is that of its class."""
    parts = [part for part in name.split("::") if not part.startswith("__")]
    if parts[:1] == ["std"]:
        return IN_STD.get(parts[1], "") if len(parts) > 1 else ""
    outer = parts[0] if parts else ""
    return "pthread.h" if outer.startswith(("pthread_", "PTHREAD_")) else GLOBAL.get(outer, "")


def _headers(names: Iterable[str], header_of: Callable[[str], str]) -> dict[int, str]:
    """The header of each of `names` by the id of the name."""
    return {symbol_id(name): header for name in names if (header := header_of(name))}
