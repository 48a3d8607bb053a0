"""Explicit instantiations of templates: libclang lists none of functions and variables, and takes those of classes for
classes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from megacpp_assets.semantic.lexer import Lexed, inside
from megacpp_assets.semantic.outline import Node, Role
from megacpp_assets.semantic.outline_macros import between, innermost

_INSTANTIATION = re.compile(rb"(?<![\w.:>])(?:extern\s+)?template\b(?!\s*<)[^;{}]{1,1000};")


def with_instantiations(code: bytes, lexed: Lexed, nodes: Sequence[Node]) -> list[Node]:
    """`nodes` with every explicit instantiation as neither class nor function."""
    found = np.array([match.span() for match in _INSTANTIATION.finditer(code)], dtype=np.int64).reshape(-1, 2)
    for spans in (lexed.comments, lexed.literals, lexed.directives):
        found = found[~inside(spans, found[:, 0])]
    if not len(found):
        return list(nodes)
    places = {int(start): int(end) for start, end in found}
    result = [replace(node, role=Role.OTHER, definition=False) if node.start in places else node for node in nodes]
    owner = innermost(len(code), nodes)
    for start in sorted(set(places) - {node.start for node in nodes}):
        holder = nodes[owner[start]] if owner[start] >= 0 else None
        if holder is None or between(code, holder, start):
            result.append(Node(start, places[start], Role.OTHER, holder.depth + 1 if holder else 1, ""))
    return result
