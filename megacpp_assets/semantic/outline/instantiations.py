"""Finds explicit instantiations of templates.

libclang lists no instantiations of functions and variables, and lists those of classes as classes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from megacpp_assets.semantic.outline.lexer import Lexed, inside
from megacpp_assets.semantic.outline.macros import between, innermost
from megacpp_assets.semantic.outline.nodes import Node, Outline, Role

_INSTANTIATION = re.compile(rb"template\b(?!\s*<)[^;{}]{1,1000};")
_EXTERN_WORD, _SPACE = b"extern", b" \t\n\r\f\v"
_EXTERN = re.compile(rb"(?<![\w.:>])extern\s")
_NO_BEFORE = re.compile(rb"[\w.:>]")
"""A byte before `template` that shows another meaning: a part of a name, or `a.template f<int>()`."""


def with_instantiations(code: bytes, lexed: Lexed, outline: Outline) -> Outline:
    """Return `outline` with the role `OTHER` for every explicit instantiation."""
    found = np.array(list(_spans(code)), dtype=np.int64).reshape(-1, 3)
    # The word `extern` before it may be the end of a comment.
    found = np.where(inside(lexed.comments, found[:, 0])[:, None], found[:, [1, 1, 2]], found)[:, [0, 2]]
    for spans in (lexed.comments, lexed.literals, lexed.directives):
        found = found[~inside(spans, found[:, 0])]
    if not len(found):
        return outline
    places = dict(zip(found[:, 0].tolist(), found[:, 1].tolist(), strict=True))
    listed = np.isin(outline.start, found[:, 0])
    owner = innermost(len(code), outline)
    unlisted = []
    for start in sorted(set(places) - set(outline.start[listed].tolist())):
        holder = outline[owner[start]] if owner[start] >= 0 else None
        if holder is None or between(code, holder, start):
            unlisted.append(Node(start, places[start], Role.OTHER, holder.depth + 1 if holder else 1, ""))
    role = np.where(listed, np.uint8(Role.OTHER), outline.role)
    return replace(outline, role=role, definition=outline.definition & ~listed).joined(Outline.of(unlisted))


def _spans(code: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield (start, start of `template`, end) of each `extern template …;` or `template …;`.

    The regular expression begins with one literal word, which makes the search fast.
    """
    match = _INSTANTIATION.search(code)
    while match:
        start, end = match.span()
        before = start
        while before and code[before - 1] in _SPACE:
            before -= 1
        if before < start and _EXTERN.match(code, max(before - len(_EXTERN_WORD), 0)):
            start = before - len(_EXTERN_WORD)
        fits = start == 0 or not _NO_BEFORE.match(code, start - 1)
        if fits:
            yield start, match.start(), end
        match = _INSTANTIATION.search(code, end if fits else match.start() + 1)
