"""Finds what names mean in text for which libclang has no references, by the names of chunks alone."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import reduce
from itertools import accumulate, chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic.graph.analysis.analysis import FileFacts, unparsed_chunks
from megacpp_assets.semantic.graph.words.chunk_text import Pairs, code_of, numbered
from megacpp_assets.semantic.graph.words.mentions import Mention, Target, last_name, mentions

_INSIDE = reduce(lambda inner, _: rb"(?>(?:[^()]++|\(" + inner + rb"\))*)", range(5), rb"[^()]*+")
"""Text with parentheses, at most six in each other."""
_NOEXCEPT = re.compile(rb"\bnoexcept\s*+(\(" + _INSIDE + rb"\))")
_ALIGNED = re.compile(rb"\balignas\s*+(\(" + _INSIDE + rb"\))")
"""What a class or a variable asks of its alignment: a type or a constant, which libclang does not visit."""
_UNDERLYING = re.compile(rb"\benum\b[^;{}()=]{0,200}?[^:;{}()=](:(?!:)\s*+[A-Za-z_][\w:]*+)\s*+[;{]")
"""The type of the values of an enumeration. Bounded: otherwise a text of the word alone costs its square."""
_MOST_OVERLOADS = 4
"""If a name has more overloads in a file, nothing says which of them are meant."""
_FOUND_BY_NAME = ("func_body", "func_sig", "class_decl", "typedef", "preamble", "other")
_TEMPLATE = re.compile(rb"\s*(?:extern\s+)?template\b")
"""A variable template, of which libclang does not visit the initializer, or an explicit instantiation."""
_VARIABLE_TEMPLATE = re.compile(rb"\s*+template\s*+<")
_ARGUMENTS = re.compile(rb"([A-Za-z_]\w*+)\s*+<")
_TAGGED = re.compile(rb"\b(?:struct|union|enum|class)\s++([A-Za-z_]\w*+)")
"""The class of which a typedef is another name."""
_INSTANTIATED = re.compile(rb"\btemplate\s+\Z")
"""What stands before the chunk of a function that is instantiated."""

Seen = NDArray[np.bool_]
"""For each chunk of all files whether the parser saw a declaration in it."""


def by_name(files: Sequence[FileFacts], seen: Seen, amalgamations: frozenset[int]) -> Pairs:
    """Yield uses in code without references, and of names that the parser did not find, where one chunk of the file or
    of the repository fits. A member that the parser did not find is not looked up, since its class is not known.

    In a file with errors a name may be found in one place and not in another, because the parser gives up a whole
    expression or initializer. So names of the file itself are looked up in all of its chunks.
    """
    unvisited = [_unvisited(facts) for facts in files]
    aligned = [_parts(facts, b"alignas", _ALIGNED) for facts in files]
    if (
        not any(unvisited)
        and not any(aligned)
        and not any(facts.parsed.errors or next(_without_references(facts), None) is not None for facts in files)
    ):
        return
    known = _Known(files, seen, amalgamations)
    for (base, facts), texts, asked in zip(numbered(files), unvisited, aligned, strict=True):
        own = range(base, base + len(facts.chunks))
        user = _User(own, not facts.file.header, frozenset(facts.parsed.includes))
        for number, mention, only_own in chain(_unresolved(facts, known), _of_variables(facts, known), _in(texts)):
            name = facts.chunks[number].name
            for used in known.meant(mention, name, user, only_own=only_own):
                yield base + number, used
        for number, mention, _ in _in(asked):
            for used in known.meant(mention, facts.chunks[number].name, user, or_variable=True):
                yield base + number, used


_Mentions = Iterator[tuple[int, Mention, bool]]
"""Names in chunks of a file, by the number of the chunk, and whether each is only looked up in the file."""


def _unresolved(facts: FileFacts, known: _Known) -> _Mentions:
    """Yield the names in the chunks of a file without references, and in all chunks of a file with errors."""
    unparsed, found = set(_without_references(facts)), _found(facts)
    for number in range(len(facts.chunks)) if facts.parsed.errors else sorted(unparsed):
        for mention in set(mentions(code_of(facts, number))):
            is_parsed = number not in unparsed
            if is_parsed and mention.by in (".", "->"):
                continue
            # In C `name` without `struct` is a typedef. Where the parser lacks it, it takes the struct instead.
            is_found = mention.name in found and (mention.tagged or not known.is_alias_too(mention.name))
            yield number, mention, is_parsed and is_found


def _of_variables(facts: FileFacts, known: _Known) -> _Mentions:
    """Yield the variable templates in a file without errors that has templates."""
    for number in () if facts.parsed.errors else _with_one_of(known.variables, facts):
        for mention in set(mentions(code_of(facts, number))):
            if mention.name in known.variables:
                yield number, mention, False


def _in(texts: Mapping[int, bytes]) -> _Mentions:
    """Yield the names in `texts`, parts of chunks, but for members."""
    for number, code in texts.items():
        yield from ((number, each, False) for each in set(mentions(code)) if each.by not in (".", "->"))


def _with_one_of(names: AbstractSet[str], facts: FileFacts) -> list[int]:
    """Return the chunks of a file that have one of `names` in front of template arguments."""
    if not names or b"template" not in facts.source.data:
        return []
    starts = [chunk.start for chunk in facts.chunks]
    words = ((match[1].decode(), match.start()) for match in _ARGUMENTS.finditer(facts.source.data))
    found = {bisect_right(starts, place) - 1 for word, place in words if word in names}
    return sorted(found - {-1})


def _unvisited(facts: FileFacts) -> Mapping[int, bytes]:
    """Return what libclang does not visit of the chunks of a file: conditions in `noexcept`, and types of the values of
    enumerations.
    """
    found = dict(_parts(facts, b"noexcept", _NOEXCEPT))
    for number, types in _parts(facts, b"enum", _UNDERLYING).items():
        found[number] = b" ".join((found.get(number, b""), types))
    return found


def _parts(facts: FileFacts, word: bytes, pattern: re.Pattern[bytes]) -> Mapping[int, bytes]:
    """Return what `pattern` finds in the chunks of a file, by their numbers. Each match has the `word`."""
    if word not in facts.source.data:
        return {}
    data = facts.source.data
    found = ((number, pattern.findall(data, each.start, each.end)) for number, each in enumerate(facts.chunks))
    return {number: b" ".join(parts) for number, parts in found if parts}


def _without_references(facts: FileFacts) -> Iterator[int]:
    """Yield the chunks of a file in which libclang finds no references: dropped code, variable templates, and explicit
    instantiations."""
    yield from unparsed_chunks(facts)
    data = facts.source.data
    for number, chunk in enumerate(facts.chunks) if b"template" in data else ():
        # The chunk of an instantiated function begins behind the word.
        is_after = (
            chunk.kind == "other" and _INSTANTIATED.search(data, max(0, chunk.start - 40), chunk.start) is not None
        )
        if is_after or (chunk.kind == "other" and _TEMPLATE.match(code_of(facts, number))):
            yield number


class _User(NamedTuple):
    """A file in which names are looked up: its chunks, whether it is a source, and the paths of what it includes."""

    own: range
    is_source: bool
    included: frozenset[str]


class _Known:
    """The chunks of all files by the names that words may refer to."""

    def __init__(self, files: Sequence[FileFacts], seen: Seen, amalgamations: frozenset[int]) -> None:
        self._of_name: dict[str, list[int]] = defaultdict(list)
        self._targets: dict[int, Target] = {}
        self._dropped: set[int] = set()
        """Chunks that the parser did not see, and macros that it did not define."""
        self._pasted: set[int] = set()
        """Chunks of amalgamations."""
        self._private: set[int] = set()
        """Macros that a source defines. They mean nothing in other sources, but in what the source includes."""
        self.variables: set[str] = set()
        """The last words of the names of variable templates. In templates libclang has no references to them."""
        self._templates: set[int] = set()
        """Variable templates."""
        self._of_tag: set[int] = set()
        """Typedefs of a class of the same name."""
        self._paths = [facts.source.path for facts in files]
        self._bases = list(accumulate((len(facts.chunks) for facts in files), initial=0))
        classes = {chunk.name for facts in files for chunk in facts.chunks if chunk.kind == "class_decl"}
        for file, (base, facts) in enumerate(numbered(files)):
            self._dropped.update(base + number for number in unparsed_chunks(facts))
            self._pasted.update(range(base, base + len(facts.chunks)) if file in amalgamations else ())
            for number, chunk in enumerate(facts.chunks, base):
                if chunk.kind in _FOUND_BY_NAME and chunk.name:
                    self._of_name[last_name(chunk.name)].append(number)
                    self._targets[number] = Target.of(facts, number - base, classes)
                    self._dropped |= {number} if chunk.kind == "preamble" and not seen[number] else set()
                    if chunk.kind == "other" and _VARIABLE_TEMPLATE.match(code_of(facts, number - base)):
                        self._templates.add(number)
                        self.variables.add(last_name(chunk.name))
                    if chunk.kind == "typedef" and chunk.name.encode() in _TAGGED.findall(
                        code_of(facts, number - base)
                    ):
                        self._of_tag.add(number)
                    self._private |= {number} if chunk.kind == "preamble" and not facts.file.header else set()

    def is_alias_too(self, name: str) -> bool:
        """Return whether a typedef and a class both have this `name`: those of one file, or a typedef of that class.

        Others of different files are alternatives, as for different standards, of which the parser found one.
        """
        kinds: dict[str, set[bool]] = defaultdict(set)
        for number in self._of_name.get(name, ()):
            target = self._targets[number]
            if target.alias or target.defines:
                kinds[self._path(number)].add(target.alias)
        is_of_class = not self._of_tag.isdisjoint(self._of_name.get(name, ()))
        found = [set[bool]().union(*kinds.values())] if is_of_class else kinds.values()
        return any(len(each) > 1 for each in found)

    def meant(
        self,
        mention: Mention,
        chunk: str,
        user: _User,
        *,
        only_own: bool = False,
        or_variable: bool = False,
    ) -> Sequence[int]:
        """Return the chunk that `mention` in a `chunk` of the file `user` means, or all overloads of a function; none
        if more fit.

        With `only_own` no other file is looked up. In other files a name means no variable, as it may be a local one,
        unless `or_variable`.
        """
        targets, own = self._targets, user.own

        def is_visible(used: int) -> bool:
            if used in own:
                return True
            is_hidden = only_own or (user.is_source and used in self._private)
            return not is_hidden and (or_variable or not self._is_plain(used, mention))

        fitting = [
            used
            for used in self._of_name.get(mention.name, ())
            if is_visible(used) and targets[used].fits(mention, chunk)
        ]
        fitting = [used for used in fitting if used in own or used not in self._pasted] or fitting
        fitting = [used for used in fitting if used not in self._dropped] or fitting
        if any(self._path(used) in user.included for used in fitting):
            fitting = [used for used in fitting if self._path(used) in user.included or used in self._of_tag]
        # `struct name` and `name` are two types in C: the second is a typedef where there is one.
        fitting = [used for used in fitting if targets[used].alias and not mention.tagged] or fitting
        return _only(fitting, own, targets)

    def _path(self, chunk: int) -> str:
        """Return the path of the file of a chunk."""
        return self._paths[bisect_right(self._bases, chunk) - 1]

    def _is_plain(self, used: int, mention: Mention) -> bool:
        """Return whether a chunk is a variable, but for a template whose arguments stand behind the `mention`."""
        return self._targets[used].variable and not (mention.called and used in self._templates)


def _found(facts: FileFacts) -> set[str]:
    """Return the last words of the names that the parser found in a file, or that the file declares."""
    return {last_name(name) for name in facts.entities.name} | {last_name(name) for name, _ in facts.entities.used}


def _only(chunks: Sequence[int], own: range, targets: Mapping[int, Target]) -> Sequence[int]:
    """Return the only one of `chunks` in `own`. If `own` has none, return the only one of all, or the only definition;
    of several definitions of one type the first, since they are of different platforms; of a function its overloads in
    `own`, if they are few. Else return nothing.
    """
    near = [chunk for chunk in chunks if chunk in own]
    chosen = near or chunks
    chosen = [chunk for chunk in chosen if targets[chunk].defines] or chosen
    first = targets[chosen[0]] if chosen else None
    is_type = first is not None and not first.function and all(targets[chunk] == first for chunk in chosen)
    if near and first is not None and first.function and len(chosen) <= _MOST_OVERLOADS:
        return chosen if all(targets[chunk] == first for chunk in chosen) else ()
    return chosen[:1] if len(chosen) == 1 or is_type else ()
