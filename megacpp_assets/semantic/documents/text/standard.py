"""Finds the standard headers that a document needs: for each name of the toolchain, the header that promises the name.

Uses are known from the parse. The definition of a macro is not parsed. Its words count if the parse has such a name
elsewhere in the repository, or if they are constants or calls of names that the repository does not define. A name that
the document declares needs no header. Many repositories declare `uint32_t` for compilers without it; a document that
does not show this declaration still needs the header.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import DEF_USE_DEF, DEF_USE_USE
from megacpp_assets.semantic.documents.items.recent import FILES, recent
from megacpp_assets.semantic.documents.standard_names import GLOBAL, IN_C, IN_STD
from megacpp_assets.semantic.graph.repository import Repository
from megacpp_assets.semantic.labels.char_store import CharStore, Part
from megacpp_assets.semantic.labels.symbol_names import symbol_id

_DEFINITION = re.compile(r"^[ \t]*#[ \t]*define[ \t]+\w+((?:\\\r?\n|[^\n])*)", re.M)
_QUALIFIED = re.compile(r"(?:[A-Za-z_]\w*::)*[A-Za-z_]\w*")
_EXPANDED = re.compile(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b|(?<![.>:\w])[a-z_]\w*(?=\()")
"""A word such as `DBL_MAX`, which is nearly always a macro of the standard, or a word that is called."""
_PASTED = re.compile(r"(?:\bstd::|(?<![\w:]))[A-Za-z]\w*_(?=[ \t]*##)")
"""The beginning of a name that a macro completes: `atomic_` in `atomic_##name`."""
_FEWEST = 4
"""If fewer names of the standard have such a beginning, it may be chance."""
_TYPE = re.compile(r"\b[a-z]\w*_t\b|(?<![.>\w])[a-z_]\w*(?=\()")
"""A word that ends like a standard type, or that is called like a function."""
_STD = re.compile(r"\bstd::([A-Za-z_]\w*)")
_UNDERLYING = re.compile(r"\benum\b[^;{}()=]{0,200}?(?<!:):\s*((?:std::)?[a-z]\w*)\s*[;{]")
"""The type of the values of an enumeration, which libclang does not visit. Bounded: a text may be long."""
_ASIDE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.S)
_IMPLIED = {
    "iostream": {"ios", "istream", "ostream", "streambuf"},
    "fstream": {"ios", "istream", "ostream"},
    "sstream": {"ios", "istream", "ostream"},
    "istream": {"ios"},
    "ostream": {"ios"},
}
"""Headers that other headers include."""
_RECENT = frozenset(
    (
        "expected",
        "flat_map",
        "flat_set",
        "format",
        "generator",
        "mdspan",
        "print",
        "spanstream",
        "stacktrace",
        "stdfloat",
    )
)
"""Headers that not every toolchain has. They are needed only where the parser found what they promise."""
_PREFIXES = {
    "pthread.h": ("pthread_", "PTHREAD_"),
    "immintrin.h": ("_mm_", "_mm256_", "_mm512_", "__m128", "__m256", "__m512", "_MM_"),
}
"""Headers whose names have a beginning of their own."""


class StandardHeaders:
    """The standard headers that texts of one repository need."""

    def __init__(self, repository: Repository, chars: CharStore) -> None:
        self._repository = repository
        self._chars = chars
        used = (name for facts in repository.files for name, _ in facts.entities.used)
        names = {name for name in used if header_in_c(name) or header_in_cxx(name)}
        self._in_c = _headers(sorted(names), header_in_c)
        self._in_cxx = _headers(sorted(names), header_in_cxx)
        self._promised = self._in_c.keys() | self._in_cxx.keys()
        self._found = recent(self._found_in)
        self._defined = recent(self._defined_names)
        self._dropped = recent(self._dropped_ranges, FILES)
        """The dropped text of a file, as an array of first characters and ends (n, 2); None if nothing was dropped."""

    def needed(self, parts: Iterable[Part], *, in_c: bool) -> set[str]:
        """Return the headers that `parts` of files need in a document, which is C or C++."""
        headers = self._in_c if in_c else self._in_cxx
        shown = [self._found(part.file, part.start, part.end) for part in parts]
        ids = frozenset[int]().union(*(used for used, _, _ in shown)).difference(*(own for _, own, _ in shown))
        found = {headers[each] for each in ids if each in headers}
        header_of = header_in_c if in_c else header_in_cxx
        words = frozenset[str]().union(*(words for _, _, words in shown))
        found |= {header_of(name) for name in words} - {""}
        return found.difference(*(_IMPLIED.get(header, ()) for header in found))

    def _found_in(self, file: int, start: int, end: int) -> tuple[frozenset[int], frozenset[int], frozenset[str]]:
        """Return the ids and words that characters [start, end) of a file use, and the ids that they declare, of those
        that a header promises."""
        used, own = self._names_of(file, start, end)
        headers = {word: (header_in_c(word), header_in_cxx(word)) for word in self._words_of(file, start, end)}
        words = (word for word, each in headers.items() if any(each) and _RECENT.isdisjoint(each))
        return used & self._promised, own & self._promised, frozenset(words)

    def _names_of(self, file: int, start: int, end: int) -> tuple[frozenset[int], frozenset[int]]:
        """Return the ids that characters [start, end) of a file use, and those that they declare."""
        chars = self._chars.slice(file, start, end)
        ids, modes = chars[c.SYMBOL_IDS], chars[c.DEF_USE]
        used, own = (ids[modes == mode].tolist() for mode in (DEF_USE_USE, DEF_USE_DEF))
        definitions = _DEFINITION.findall(self._repository.files[file].source.text[start:end])
        expanded = (symbol_id(name) for text in definitions for name in _QUALIFIED.findall(text))
        return frozenset((*used, *expanded)), frozenset(own)

    def _words_of(self, file: int, start: int, end: int) -> frozenset[str]:
        """Return the constants, calls, names of `std` and completed names in definitions of macros in characters
        [start, end) of a file, the types of its enumerations, and the types, called functions and names of `std` that
        the parser did not find.

        It does not find what `std` has from outside, as `std::uint32_t`. It finds none after an error, such as in a
        tree whose configuration is missing, or in a header that leaves its includes to its users; and none in text that
        the preprocessor dropped.
        """
        facts = self._repository.files[file]
        definitions = _DEFINITION.findall(facts.source.text[start:end])
        expanded = {name for text in definitions for name in _EXPANDED.findall(text)} - self._defined()
        expanded |= {name[0] for text in definitions for name in _STD.finditer(text)}
        expanded |= {self._pasted(each) for text in definitions for each in _PASTED.findall(text)} - {""}
        expanded |= set(_UNDERLYING.findall(facts.source.text, start, end))
        is_unparsed = bool(facts.parsed.errors) or self._is_dropped(file, start, end)
        text = facts.source.text[start:end]
        if not is_unparsed and "std::" not in text:
            return frozenset(expanded)
        ids = self._chars.slice(file, start, end)[c.SYMBOL_IDS]
        if not is_unparsed and all(ids[word.start(1)] for word in _STD.finditer(text)):
            return frozenset(expanded)
        text = _ASIDE.sub(lambda aside: " " * len(aside[0]), text)
        expanded |= {word[0] for word in _STD.finditer(text) if not ids[word.start(1)]}
        types = (word[0] for word in _TYPE.finditer(text) if is_unparsed and not ids[word.start()])
        return frozenset((*expanded, *types))

    def _pasted(self, beginning: str) -> str:
        """Return a name of the standard with this beginning, "" if there is none or the repository has such names."""
        found = _completed(beginning)
        return "" if found and any(name.startswith(beginning) for name in self._defined()) else found

    def _is_dropped(self, file: int, start: int, end: int) -> bool:
        """Return whether the preprocessor dropped some of characters [start, end) of a file."""
        ranges = self._dropped(file)
        return ranges is not None and bool(((ranges[:, 0] < end) & (start < ranges[:, 1])).any())

    def _dropped_ranges(self, file: int) -> NDArray[np.int64] | None:
        facts = self._repository.files[file]
        ranges = facts.parsed.skipped_ranges
        return facts.source.chars(np.array(ranges, dtype=np.int64)) if ranges else None

    def _defined_names(self) -> frozenset[str]:
        """Return the names that the repository defines or declares, without those of their scopes."""
        return frozenset(chunk.name.rpartition("::")[2] for facts in self._repository.files for chunk in facts.chunks)


@cache
def _completed(beginning: str) -> str:
    """Return a name of the standard with this beginning if several have it and one header promises all of them."""
    plain = beginning.removeprefix("std::")
    headers = IN_C if plain == beginning else IN_STD
    names = [name for name in headers if name.startswith(plain)]
    is_one = len(names) >= _FEWEST and len({headers[name] for name in names}) == 1
    return f"{beginning.removesuffix(plain)}{names[0]}" if is_one else ""


def header_in_c(name: str) -> str:
    """Return the header that promises `name` in C; "" if none does."""
    return _by_prefix(name) or IN_C.get(name, "")


def header_in_cxx(name: str) -> str:
    """Return the header that promises the qualified `name` in C++; "" if none does. For a member it is the header of
    the class.
    """
    parts = [part for part in name.split("::") if not part.startswith("__")]
    if parts[:1] == ["std"]:
        return IN_STD.get(parts[1], "") if len(parts) > 1 else ""
    outer = parts[0] if parts else name
    return _by_prefix(outer) or GLOBAL.get(outer, "")


def _by_prefix(name: str) -> str:
    """Return the header that promises all names with the beginning of `name`; "" if none does."""
    return next((header for header, prefixes in _PREFIXES.items() if name.startswith(prefixes)), "")


def _headers(names: Iterable[str], header_of: Callable[[str], str]) -> dict[int, str]:
    """Return the header of each of `names` by the id of the name."""
    return {symbol_id(name): header for name in names if (header := header_of(name))}
