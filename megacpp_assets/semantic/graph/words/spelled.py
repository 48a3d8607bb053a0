"""Finds uses by words, in text for which libclang has no references.

These are macros and types in macro definitions, macros in preprocessor conditions, names that a using-declaration
introduces, the template of a specialisation, names in code that the preprocessor dropped, names in variable templates,
and the using-directives before a chunk. They decide which context a document shows. They are not edges of its graph.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate, chain
from typing import NamedTuple

import numpy as np

from megacpp_assets.semantic.graph.analysis.analysis import FileFacts, is_c, unparsed_chunks
from megacpp_assets.semantic.graph.chunks import Chunk
from megacpp_assets.semantic.graph.directives import Directives
from megacpp_assets.semantic.graph.facts_store import Rows
from megacpp_assets.semantic.graph.link import Table, chunks_called, chunks_defining
from megacpp_assets.semantic.graph.preprocessor.conditions import Condition
from megacpp_assets.semantic.graph.spaces import Space
from megacpp_assets.semantic.graph.words.aliases import introduced
from megacpp_assets.semantic.graph.words.by_name import Seen, by_name
from megacpp_assets.semantic.graph.words.chunk_text import Pairs, code_of, numbered, without_asides
from megacpp_assets.semantic.graph.words.class_macros import class_macros
from megacpp_assets.semantic.graph.words.friends import friends
from megacpp_assets.semantic.graph.words.inclusions import included_texts
from megacpp_assets.semantic.graph.words.macro_calls import Calls, calls_of, functions_called
from megacpp_assets.semantic.graph.words.macro_types import macro_types
from megacpp_assets.semantic.graph.words.mentions import (
    KEYWORDS,
    last_name,
    variables_of,
    words_of,
)
from megacpp_assets.semantic.graph.words.pasted import pasted
from megacpp_assets.semantic.graph.words.undeclared import undeclared

_CONDITION = re.compile(rb"^[ \t]*#[ \t]*(?:el)?if(?!ndef)\w*[ \t]+((?:[^\n\\]|\\\r?\n|\\)*)", re.M)
_DEFINITION = re.compile(rb"#[ \t]*define[ \t]+\w+(?:\(([^()]*)\))?")
_SPECIAL = re.compile(rb"\btemplate\s*<\s*>")
_WITH_ARGUMENTS = re.compile(rb"\b([A-Za-z_]\w*)\s*<")
_CLASS_KEY = re.compile(rb"\b(?:class|struct|union)\b")
_TEMPLATED = ("func_body", "func_sig", "class_decl", "other")
_IN_CXX = "__cplusplus"
_EQUALS = re.compile(r"#\s*(?:el)?if\s+\(?\s*(\w+)\s*==\s*(\d+)\s*\)?")


def spelled(
    files: Sequence[FileFacts],
    sizes: Sequence[int],
    declared: Table,
    directives: Directives,
    amalgamations: frozenset[int],
) -> Rows:
    """Return for each chunk of `files` the chunks that it names by words, ascending.

    `sizes` are the numbers of chunks of each file, `declared` is what all files declare, `directives` are theirs. A
    word of another file means a chunk of one of the `amalgamations` only if no other chunk fits.
    """
    found: dict[int, set[int]] = defaultdict(set)
    seen = np.zeros(sum(sizes), dtype=np.bool_)
    seen[declared["chunk"]] = True
    read = _read_macros(files, directives, seen)
    for user, used in chain(
        _macros(files, read, sizes, declared),
        introduced(files),
        _templates(files),
        by_name(files, seen, amalgamations),
        _unseen_macros(files, declared, directives, seen),
        _of_both_languages(files, directives, seen),
        class_macros(files, declared),
        pasted(files, declared, read.words),
        undeclared(files, directives, seen),
        macro_types(
            files, {macro: read.words[macro] - own for macro, own in read.variables.items()}, amalgamations, declared
        ),
        included_texts(files),
        friends(files),
    ):
        if user != used:
            found[user].add(used)
    counts = np.zeros(sum(sizes), dtype=np.int64)
    targets = array("i")
    for user in sorted(found):
        counts[user] = len(found[user])
        targets.extend(sorted(found[user]))
    return Rows(np.cumsum(counts), np.array(targets, dtype=np.int32))


def openers(files: Sequence[FileFacts], declared: Table) -> tuple[Sequence[int], Sequence[int]]:
    """Return (users, used): chunks in a namespace that macros open, close or name, and the macros' chunks.

    Definitions of macros are in no namespace, and are shown outside of it.
    """
    names = {name for facts in files for spaces in facts.spaces for name in _macros_of(spaces)}
    kinds = [chunk.kind for facts in files for chunk in facts.chunks] if names else []
    defined = {
        name: [each for each in found if kinds[each] == "preamble"]
        for name, found in chunks_defining(names, declared).items()
    }
    called = {name: found[0] for name, found in defined.items() if found}
    users, used = array("q"), array("q")
    for base, facts in numbered(files) if called else ():
        defining = {number for number, _, _ in _definitions(facts)}
        for root, spaces in zip(facts.roots, facts.spaces, strict=True):
            inside = [base + number for number in range(root.first, root.last) if number not in defining]
            for name in sorted(_macros_of(spaces) & called.keys()):
                users.extend(inside)
                used.extend([called[name]] * len(inside))
    return users, used


def _macros_of(spaces: Iterable[Space]) -> set[str]:
    return {name for space in spaces for name in space.macros}


def _macros(files: Sequence[FileFacts], read: _Macros, sizes: Sequence[int], declared: Table) -> Pairs:
    """Return uses of macros in definitions of macros, in the conditions of roots and in those around a chunk, and calls
    in definitions.

    Only those that decide that the parser saw a chunk are taken from the conditions around it. A macro that a source
    defines for itself, as `#define HEADER_ONLY` in front of its includes, says nothing about other files. A condition
    does not depend on the macros of a header that no file includes, as the configuration of another platform.
    """
    words, calls, own = read.words, read.calls, read.own
    bases = list(accumulate(sizes, initial=0))[:-1]
    called = chunks_called(set().union(*words.values()), declared)
    private = {name for name, chunk in called.items() if not files[bisect_right(bases, chunk) - 1].file.header}
    for name, chunks in chunks_defining(private, declared).items():
        shared = (chunk for chunk in chunks if _is_for_others(files[bisect_right(bases, chunk) - 1], name))
        called[name] = next(shared, called[name])
    included = frozenset(path for facts in files for path in facts.parsed.includes)
    apart = {chunk for chunk in called.values() if _is_apart(files[bisect_right(bases, chunk) - 1], included)}
    of_functions: dict[int, Calls] = {}
    for number, named in words.items():
        known = own[bisect_right(bases, number) - 1]
        used = {name: known.get(name, called[name]) for name in named & called.keys()}
        if number not in calls:
            used = {name: chunk for name, chunk in used.items() if chunk not in apart}
        macros = {name for name in used if used[name] in calls}
        for name in macros:
            if name in known or files[bisect_right(bases, used[name]) - 1].file.header:
                yield number, used[name]
        found = calls.get(number, {})
        of_functions[number] = {name: found[name] for name in found.keys() - macros}
    yield from functions_called(files, declared, of_functions, words)


def _is_for_others(facts: FileFacts, name: str) -> bool:
    """Return whether a file is a header that defines the macro `name` for what includes it: it does not undefine it."""
    return facts.file.header and re.search(rb"#[ \t]*undef[ \t]+%b\b" % name.encode(), facts.source.data) is None


def _is_apart(facts: FileFacts, included: AbstractSet[str]) -> bool:
    """Return whether a file is a header that is not among the `included` ones."""
    return facts.file.header and facts.source.path not in included


class _Macros(NamedTuple):
    """The words of definitions of macros and of conditions, by chunk, the calls in each definition and the variables
    that it declares, and for each file the macros that it defines, by name.

    Of several definitions in a file the first that the parser saw counts. Headers that are never included together may
    define a macro each, and mean their own.
    """

    words: dict[int, set[str]]
    calls: dict[int, Calls]
    variables: dict[int, set[str]]
    own: list[Mapping[str, int]]


def _read_macros(files: Sequence[FileFacts], directives: Directives, seen: Seen) -> _Macros:
    """Read each file once."""
    macros = _Macros({}, {}, {}, [])
    for file, (base, facts) in enumerate(numbered(files)):
        own: dict[str, int] = {}
        for number, code, parameters in _definitions(facts):
            macros.words[base + number] = words_of(code) - parameters
            macros.calls[base + number] = calls_of(code, parameters)
            macros.variables[base + number] = variables_of(code)
            if seen[base + number]:
                own.setdefault(facts.chunks[number].name, base + number)
        macros.own.append(own)
        for number, asked in chain(_asked_in_roots(facts), _asked_around(file, facts, directives)):
            macros.words[base + number] = macros.words.get(base + number, set()) | asked
    return macros


def _asked_in_roots(facts: FileFacts) -> Iterator[tuple[int, AbstractSet[str]]]:
    """Yield the first chunk of each root that has conditions, with their words."""
    for root in facts.roots:
        if conditions := _CONDITION.findall(facts.source.data, root.start, root.end):
            yield root.first, words_of(without_asides(b" ".join(conditions)))


def _asked_around(file: int, facts: FileFacts, directives: Directives) -> Iterator[tuple[int, AbstractSet[str]]]:
    """Yield the chunks of a file under conditions with the macros on which these depend. Of text that the parser
    dropped that are the macros which the conditions call: no preprocessor reads a condition without them.
    """
    if b"#if" in facts.source.data.replace(b" ", b""):
        dropped = set(unparsed_chunks(facts))
        for number, chunk in enumerate(facts.chunks):
            around = directives.around(file, chunk.start)
            names = (each.called() if number in dropped else each.asked() for each in around)
            if asked := frozenset[str]().union(*names) - KEYWORDS:
                yield number, asked


def _definitions(facts: FileFacts) -> Iterator[tuple[int, bytes, AbstractSet[str]]]:
    """Yield the chunks that define a macro, with the text after its head, and its parameters."""
    for number, chunk in enumerate(facts.chunks):
        if chunk.kind == "preamble" and (found := _DEFINITION.search(code := code_of(facts, number))):
            yield number, code[found.end() :], words_of(found[1] or b"")


def _templates(files: Sequence[FileFacts]) -> Pairs:
    """Return the uses of templates by their specialisations: the first other declaration of the name."""
    first: dict[str, int] = {}
    special = {
        base + number: facts.chunks[number].name for base, facts in numbered(files) for number in _special(facts)
    }
    names = frozenset(special.values())
    for base, facts in numbered(files) if special else ():
        for number, chunk in enumerate(facts.chunks):
            if chunk.name in names and _is_templated(chunk, number) and base + number not in special:
                first.setdefault(chunk.name, base + number)
    return ((number, first[name]) for number, name in special.items() if name in first)


def _special(facts: FileFacts) -> Iterator[int]:
    """Yield the chunks of a file that specialise a template."""
    for number, chunk in enumerate(facts.chunks):
        if chunk.name and _is_templated(chunk, number) and _specialises(facts, number):
            yield number


def _is_templated(chunk: Chunk, number: int) -> bool:
    return chunk.kind in _TEMPLATED and chunk.unit[0] == number


def _specialises(facts: FileFacts, number: int) -> bool:
    chunk, signature = facts.chunks[number], facts.signatures[number]
    head = facts.source.data[signature.start : signature.end] if signature else code_of(facts, number)
    name = last_name(chunk.name).encode()
    if chunk.kind == "class_decl":
        key = _CLASS_KEY.search(head)
        return key is not None and name in _WITH_ARGUMENTS.findall(head, key.end())
    is_partial = chunk.kind == "other" and name in _WITH_ARGUMENTS.findall(head.partition(b"=")[0])
    return is_partial or _SPECIAL.search(head) is not None


def _unseen_macros(files: Sequence[FileFacts], declared: Table, directives: Directives, seen: Seen) -> Pairs:
    """Yield uses of macros that no header's own parse defines, though the parser found them in the file that uses them,
    or in any file for a use in the definition of another macro.

    The conditions around their definitions depend on files that are included before the header. A document shows the
    arms with their conditions, and the macros on which these depend. Of arms that ask for different numbers, that of
    the number which the repository defines is enough.
    """
    values: dict[str, set[bytes]] = defaultdict(set)
    arms: dict[str, list[tuple[int, tuple[Condition, ...]]]] = defaultdict(list)
    for file, (base, facts) in enumerate(numbered(files)):
        for number, code, _ in _definitions(facts):
            chunk = facts.chunks[number]
            if seen[base + number]:
                values[chunk.name].add(code.strip())
            elif around := directives.around(file, chunk.start):
                arms[chunk.name].append((base + number, around))
    unseen = {name: _taken(found, values) for name, found in arms.items() if name not in values}
    if not unseen:
        return
    used: set[tuple[int, frozenset[str]]] = set()
    wanted = [unseen.keys() & {last_name(name) for name, _ in facts.entities.used} for facts in files]
    anywhere = set[str]().union(*wanted)
    for (base, facts), here in zip(numbered(files), wanted, strict=True):
        defining = {number for number, _, _ in _definitions(facts)}
        for number in range(len(facts.chunks)) if here else defining:
            for name in (anywhere if number in defining else here) & words_of(code_of(facts, number)):
                yield from ((base + number, arm) for arm, _ in unseen[name])
                used.update(unseen[name])
    called = chunks_called({name for _, asked in used for name in asked}, declared)
    yield from ((arm, called[name]) for arm, asked in used for name in asked & called.keys())


def _of_both_languages(files: Sequence[FileFacts], directives: Directives, seen: Seen) -> Pairs:
    """Yield for each macro that a header defines for C and for C++ the definition that the parser saw, with the others.

    A header is parsed in one language. If a repository has sources of both, documents of both show its macros.
    """
    if len({is_c(facts) for facts in files if not facts.file.header}) < 2:
        return
    for file, (base, facts) in enumerate(numbered(files)):
        arms: dict[str, list[int]] = defaultdict(list)
        is_for_both = facts.file.header and _IN_CXX.encode() in facts.source.data
        for number, _, _ in _definitions(facts) if is_for_both else ():
            around = directives.around(file, facts.chunks[number].start)
            if any(_IN_CXX in condition.named() for condition in around):
                arms[facts.chunks[number].name].append(base + number)
        for same in arms.values():
            yield from ((arm, other) for arm in same for other in same if seen[arm] and not seen[other])


def _taken(
    arms: Sequence[tuple[int, tuple[Condition, ...]]], values: Mapping[str, set[bytes]]
) -> list[tuple[int, frozenset[str]]]:
    """Return those of the `arms` that may be taken, each with the macros that its conditions ask for."""
    return [
        (number, frozenset[str]().union(*(condition.asked() for condition in around)))
        for number, around in arms
        if not any(_is_refuted(condition.says, values) for condition in around)
    ]


def _is_refuted(says: Sequence[str], values: Mapping[str, set[bytes]]) -> bool:
    """Return whether the last of the directives compares a macro with another number than the repository gives it."""
    asked = _EQUALS.match(says[-1])
    known = values.get(asked[1], set()) if asked else set()
    return asked is not None and len(known) == 1 and known != {asked[2].encode()}
