"""Finds the macros between `class` and the name of a class, such as `EXPORT` in `class EXPORT Reader`.

A header that leaves it to its user to include the macro's header does not tell them in its own parse.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

from megacpp_assets.semantic.graph.analysis.analysis import FileFacts
from megacpp_assets.semantic.graph.link import Table, chunks_called
from megacpp_assets.semantic.graph.words.chunk_text import Pairs, code_of, is_macro, numbered

_HEAD = re.compile(rb"\b(?:class|struct|union)\s+([A-Za-z_]\w*)\s+(?!final\b)[A-Za-z_]\w*")


def class_macros(files: Sequence[FileFacts], declared: Table) -> Pairs:
    """Yield the use of a macro by each chunk that has it in the head of its class."""
    heads = [(base + number, name) for base, facts in numbered(files) for number, name in _heads(facts)]
    called = chunks_called({name for _, name in heads}, declared) if heads else {}
    bases = list(accumulate((len(facts.chunks) for facts in files), initial=0))
    macros = {name: chunk for name, chunk in called.items() if is_macro(files, bases, chunk)}
    return ((user, macros[name]) for user, name in heads if name in macros)


def _heads(facts: FileFacts) -> Iterator[tuple[int, str]]:
    """Yield the class chunks of a file, each with the word between `class` and its name."""
    for number, chunk in enumerate(facts.chunks):
        if chunk.kind == "class_decl" and (found := _HEAD.search(_head(facts, number))):
            yield number, found[1].decode()


def _head(facts: FileFacts, number: int) -> bytes:
    signature = facts.signatures[number]
    return facts.source.data[signature.start : signature.end] if signature else code_of(facts, number)
