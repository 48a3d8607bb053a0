"""Finds what classes declare as friends by a qualified name: `friend Impl* internal::get_impl();`.

A compiler accepts it only behind another declaration. libclang calls it a declaration, so it is no reference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from megacpp_assets.semantic.graph.analysis.analysis import FileFacts
from megacpp_assets.semantic.graph.words.chunk_text import Pairs, code_of, numbered

_FRIEND = re.compile(rb"\bfriend\b[^;{}()]{0,300}?((?:[A-Za-z_]\w*+::\s*+)+[A-Za-z_]\w*+)\s*+[(;]")
"""What is behind `friend` is bounded: otherwise each `friend` without a name reads the rest of the file."""
_KINDS = ("func_sig", "func_body", "class_decl")


def friends(files: Sequence[FileFacts]) -> Pairs:
    """Yield the use of a function or class outside of its class by each chunk that declares it as a friend."""
    named = [
        (base + number, facts.chunks[number].name, name)
        for base, facts in numbered(files)
        if b"friend" in facts.source.data
        for number, name in _friends_in(facts)
    ]
    known = _declared(files, {name.rpartition("::")[2] for _, _, name in named}) if named else {}
    for user, scope, name in named:
        if (used := _meant(scope, name, known)) is not None:
            yield user, used


def _friends_in(facts: FileFacts) -> Iterator[tuple[int, str]]:
    """Yield the chunks of classes in a file with the qualified names of their friends."""
    for number, chunk in enumerate(facts.chunks):
        is_class = chunk.kind in ("class_decl", "class_member")
        if is_class and facts.source.data.find(b"friend", chunk.start, chunk.end) >= 0:
            for name in _FRIEND.findall(code_of(facts, number)):
                yield number, b"".join(name.split()).decode()


def _declared(files: Sequence[FileFacts], names: set[str]) -> dict[str, int]:
    """Return the first chunk that declares each function or class with one of the last `names`, by its full name."""
    found: dict[str, int] = {}
    for base, facts in numbered(files):
        for number, chunk in enumerate(facts.chunks):
            if chunk.kind in _KINDS and chunk.unit[0] == number and chunk.name.rpartition("::")[2] in names:
                found.setdefault(chunk.name, base + number)
    return found


def _meant(scope: str, name: str, known: Mapping[str, int]) -> int | None:
    """Return the chunk that a qualified `name` means in a class: in the nearest scope around it that has one."""
    while scope:
        scope = scope.rpartition("::")[0]
        found = known.get(f"{scope}::{name}" if scope else name)
        if found is not None:
            return found
    return None
