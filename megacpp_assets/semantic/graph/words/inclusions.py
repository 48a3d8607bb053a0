"""Finds text that stands for a part of the file that includes it, as the list of an enumeration or of a table.

`enum { #include "opcodes.h" };` is no enumeration without the text of `opcodes.h`, and that text means nothing alone.
The same holds of an include between the definition of a macro and its `#undef`.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache

from megacpp_assets.semantic.graph.analysis.analysis import FileFacts
from megacpp_assets.semantic.graph.chunks import Chunk
from megacpp_assets.semantic.graph.words.chunk_text import Pairs, code_of, numbered

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"[^\n]*', re.M)
_LONGEST = 8_000
"""The maximum number of bytes of a file that is shown as part of a declaration."""
_VALUED = re.compile(rb"^[ \t]*([A-Za-z_]\w*)[ \t]*=[ \t]*\r?\n[ \t]*#", re.M)
"""An enumerator whose value begins with a directive."""
_TYPES = ("class_decl", "class_member")
_CHANGE = re.compile(rb"^[ \t]*#[ \t]*(define|undef)[ \t]+([A-Za-z_]\w*)", re.M)
_KEPT = 64
"""The number of files whose macros stay in memory."""
_CALL = re.compile(rb"\b([A-Za-z_]\w*)[ \t]*\(")


class IncludedFiles:
    """Finds the short file that an include directive names: beside its own, or the only one with that path."""

    def __init__(self, files: Sequence[FileFacts]) -> None:
        self._paths = [facts.source.path for facts in files]
        self._numbers: dict[str, int] = {}
        self._by_name: dict[str, list[int]] = defaultdict(list)
        for number, facts in enumerate(files):
            if len(facts.source.data) <= _LONGEST:
                self._numbers[facts.source.path] = number
                self._by_name[posixpath.basename(facts.source.path)].append(number)

    def find(self, includer: int, name: str) -> int | None:
        """Return the number of the file that file `includer` includes by `name`; None if it is not known."""
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(self._paths[includer]), name))
        if beside in self._numbers:
            return self._numbers[beside]
        known = self._by_name.get(posixpath.basename(name), ())
        found = [number for number in known if f"/{self._paths[number]}".endswith(f"/{name}")]
        return found[0] if len(found) == 1 else None


def directives_in(code: bytes, chunk: Chunk) -> list[tuple[str, int, int]]:
    """Return the includes within a declaration, or between a macro and its `#undef`, each as the name in quotes and
    the bytes of its line.
    """
    found = [*_INCLUDE.finditer(code, chunk.start, chunk.end)]
    if found and chunk.kind == "preamble":
        ranges = _defined_for_a_while(code, chunk)
        found = [match for match in found if _is_in(match.start(), ranges)]
    return [(match[1].decode(errors="replace"), match.start(), match.end()) for match in found]


def _defined_for_a_while(code: bytes, chunk: Chunk) -> list[tuple[int, int]]:
    """Return the bytes between the first definition and the last `#undef` of each macro of a chunk, in order and merged
    where they overlap.
    """
    first: dict[bytes, int] = {}
    last: dict[bytes, int] = {}
    for match in _CHANGE.finditer(code, chunk.start, chunk.end):
        if match[1] == b"define":
            first.setdefault(match[2], match.start())
        elif match[2] in first:
            last[match[2]] = match.start()
    merged: list[tuple[int, int]] = []
    for start, end in sorted((first[name], end) for name, end in last.items()):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _is_in(place: int, ranges: Sequence[tuple[int, int]]) -> bool:
    number = bisect_right(ranges, (place, place)) - 1
    return number >= 0 and place < ranges[number][1]


def included_texts(files: Sequence[FileFacts]) -> Pairs:
    """Yield the use of each chunk of a short file by the chunk that includes it within its braces. The included text
    uses the first type that includes it, of which it declares a part.
    """
    included = IncludedFiles(files)
    bases: list[int] = []
    found: list[tuple[int, int]] = []
    types: dict[int, bool] = {}
    for file, (base, facts) in enumerate(numbered(files)):
        bases.append(base)
        for number, chunk in enumerate(facts.chunks) if b"include" in facts.source.data else ():
            for name, _, _ in directives_in(facts.source.data, chunk):
                if (target := included.find(file, name)) is not None and target != file:
                    found.append((base + number, target))
                    types[base + number] = chunk.kind in _TYPES
    enumerations = [user for user, is_type in types.items() if is_type]
    yield from _named_values(files, bases, enumerations)
    first: dict[int, int] = {}
    definitions = _Definitions(files)
    for user, target in found:
        file = bisect_right(bases, user) - 1
        yield from ((user, bases[file] + number) for number in definitions.given(file, user - bases[file], target))
        for number in range(bases[target], bases[target] + len(files[target].chunks)):
            yield user, number
            if types[user] and first.setdefault(target, user) == user:
                yield number, user


class _Definitions:
    """The definitions of macros in files, by the name of the macro. Each file is read once."""

    def __init__(self, files: Sequence[FileFacts]) -> None:
        self._files = files
        self._changes = lru_cache(_KEPT)(self._changes_of)
        self._called = lru_cache(_KEPT)(self._calls_of)

    def given(self, file: int, number: int, included: int) -> Iterator[int]:
        """Yield the chunks of a file that define, above its chunk `number`, the macros that the file `included` calls.

        A list is included several times, each time for other definitions of its macros. The last ones above count.
        """
        chunks, changes = self._files[file].chunks, self._changes(file)
        found: set[int] = set()
        for name in changes.keys() & self._called(included):
            place = bisect_left(changes[name], (chunks[number].start, -1)) - 1
            found |= {changes[name][place][1]} if place >= 0 else set()
        yield from sorted(chunk for chunk in found if 0 <= chunk < number)

    def _changes_of(self, file: int) -> Mapping[bytes, Sequence[tuple[int, int]]]:
        """Return the places where a file defines or undefines each macro, each with the chunk that defines it or -1."""
        facts, found = self._files[file], defaultdict[bytes, list[tuple[int, int]]](list)
        starts = [chunk.start for chunk in facts.chunks]
        for match in _CHANGE.finditer(facts.source.data):
            chunk = bisect_right(starts, match.start()) - 1 if match[1] == b"define" else -1
            found[match[2]].append((match.start(), chunk))
        return found

    def _calls_of(self, file: int) -> AbstractSet[bytes]:
        return frozenset(_CALL.findall(self._files[file].source.data))


def _named_values(files: Sequence[FileFacts], bases: Sequence[int], types: Sequence[int]) -> Pairs:
    """Yield the chunks that name an enumerator whose value is an included text, with the chunk of the enumeration.

    libclang places such an enumerator in the file in which its value ends.
    """
    declared: dict[bytes, int] = {}
    for chunk in types:
        file = bisect_right(bases, chunk) - 1
        facts = files[file]
        for name in _VALUED.findall(code_of(facts, chunk - bases[file])):
            declared.setdefault(name, chunk)
    pattern = re.compile(rb"\b(?:" + b"|".join(sorted(declared)) + rb")\b") if declared else None
    for base, facts in numbered(files) if pattern else ():
        if pattern and pattern.search(facts.source.data):
            for number in range(len(facts.chunks)):
                yield from ((base + number, declared[name]) for name in set(pattern.findall(code_of(facts, number))))
