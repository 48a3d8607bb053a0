"""Finds text that stands for a part of the file that includes it, as the list of an enumeration or of a table.

`enum { #include "opcodes.h" };` is no enumeration without the text of `opcodes.h`, and that text means nothing alone.
The same holds of an include between the definition of a macro and its `#undef`.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence

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
        changes = [(match[1], match[2], match.start()) for match in _CHANGE.finditer(code, chunk.start, chunk.end)]
        found = [match for match in found if _is_between(match.start(), changes)]
    return [(match[1].decode(errors="replace"), match.start(), match.end()) for match in found]


def _is_between(place: int, changes: Sequence[tuple[bytes, bytes, int]]) -> bool:
    """Return whether one of `changes` defines a macro before `place` that a later one undefines."""
    defined = {name for change, name, start in changes if change == b"define" and start < place}
    return any(change == b"undef" and start > place and name in defined for change, name, start in changes)


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
    for user, target in found:
        file = bisect_right(bases, user) - 1
        yield from ((user, bases[file] + number) for number in _given(files[file], user - bases[file], files[target]))
        for number in range(bases[target], bases[target] + len(files[target].chunks)):
            yield user, number
            if types[user] and first.setdefault(target, user) == user:
                yield number, user


def _given(facts: FileFacts, number: int, included: FileFacts) -> Iterator[int]:
    """Yield the chunks of a file that define, above chunk `number`, the macros which the text `included` there calls.

    A list is included several times, each time for other definitions of its macros. The last ones above count.
    """
    called = set(_CALL.findall(included.source.data))
    starts = [chunk.start for chunk in facts.chunks]
    defined: dict[bytes, int] = {}
    for match in _CHANGE.finditer(facts.source.data, 0, starts[number]):
        defined.pop(match[2], None)
        if match[1] == b"define" and match[2] in called:
            defined[match[2]] = bisect_right(starts, match.start()) - 1
    yield from sorted({chunk for chunk in defined.values() if 0 <= chunk < number})


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
