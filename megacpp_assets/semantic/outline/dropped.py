"""Declarations in text that the preprocessor dropped: each stretch is parsed by syntax alone, inside what holds it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic.outline import kinds as k
from megacpp_assets.semantic.outline.braces import Braces
from megacpp_assets.semantic.outline.lexer import Lexed
from megacpp_assets.semantic.outline.macros import MacroNames, between, next_solid, with_macros
from megacpp_assets.semantic.outline.nodes import Node, Outline, Role
from megacpp_assets.semantic.outline.torn import joined
from megacpp_assets.semantic.outline.treesitter import has_errors, syntax_outline

_SPACE, _NEWLINE = 32, 10
_WORDS = re.compile(rb"[A-Za-z_]\w*")
_GOES_ON = re.compile(rb"[A-Za-z_#~]|\[\[")
_ARGUMENTS = re.compile(rb"\([^(){};]*(?:\([^(){};]*\)[^(){};]*)*\)")
_BODY_FOLLOWS = frozenset({b"{", b":", b"-", b".", b"<"})
_CLASS_MARK = re.compile(rb"\b(?:class|struct|union)\s+([A-Z_][A-Z0-9_]*\s*\([^(){};]*\))(?=\s*[A-Za-z_])")
"""`class CAPABILITY("mutex") Lock`."""
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Around:
    """What a dropped stretch is read with: the file, where it has code (`solid`), its braces and macros."""

    code: bytes
    lexed: Lexed
    solid: NDArray[np.bool_]
    braces: Braces
    macros: MacroNames

    def opens_line(self, offset: int) -> bool:
        """Whether nothing but space stands before `offset` on its line."""
        while self.code[offset - 1 : offset] in (b" ", b"\t"):
            offset -= 1
        return self.code[offset - 1 : offset] in (b"", b"\n")


def dropped_nodes(
    around: Around, outline: Outline, owner: NDArray[np.int32], ranges: Sequence[tuple[int, int]]
) -> Iterator[Node]:
    """Nodes of the dropped `ranges` that lie in a namespace, a class or nothing (`owner` indexes `outline`)."""
    for start, end in sorted(set(ranges)):
        if not 0 <= start < end <= len(around.code) or not around.solid[start:end].any():
            continue
        holder = outline[owner[start]] if owner[start] >= 0 else None
        if holder is None or between(around.code, holder, start):
            yield from _region(around, start, end, holder)


def whole_file(around: Around) -> list[Node]:
    """tree-sitter's nodes of all of it, read without the macros that defeat the syntax where some do."""
    code = around.code
    if has_errors(code):
        return list(_region(around, 0, len(code), None))
    return around.braces.made_whole(joined(code, syntax_outline(code)), len(code))


def _region(around: Around, start: int, end: int, holder: Node | None) -> Iterator[Node]:
    opening, scope = _opening(holder)
    closing = b"}" * around.braces.left_open(start, end) + (b"};" if opening else b"")
    text, blanked = _readable(around, start, end)
    shift = start - len(opening)
    uses = np.array([(first - shift, last - shift) for first, last in blanked], dtype=np.int64).reshape(-1, 2)
    whole = opening + text + closing
    found = with_macros(whole, uses, uses[:0], Outline.of(syntax_outline(whole, scope)))
    nodes = [
        _spaced(node._replace(start=node.start + shift, end=min(node.end + shift, end)), around)
        for node in found
        if node.start >= len(opening) and node.start + shift < end
    ]
    yield from around.braces.made_whole(joined(around.code, nodes), end)


def _spaced(node: Node, around: Around) -> Node:
    if node.kind == k.MACRO_USE and around.code[node.start : node.end] in around.macros.spaces:
        return node._replace(role=Role.NAMESPACE)
    return node


def _opening(holder: Node | None) -> tuple[bytes, str]:
    """What makes the text of a class parse as such, and the scope around it."""
    if holder is None or holder.role is not Role.CLASS:
        return b"", holder.name if holder else ""
    scope, _, name = holder.name.rpartition("::")
    keyword = b"enum " if holder.kind == k.ENUM else b"struct "
    return keyword + (name.encode() if _WORD.fullmatch(name) else b"") + b" {", scope


def _readable(around: Around, start: int, end: int) -> tuple[bytes, list[tuple[int, int]]]:
    """The region without the directives at its edges, and where macros or directives within it defeat the syntax,
    without those; with the ranges of the macros taken out."""
    directives = around.lexed.directives
    first, last = np.searchsorted(directives[:, 1], start, side="right"), np.searchsorted(directives[:, 0], end)
    inner = directives[first:last].tolist()
    edges = [inner[0], inner[-1]] if inner else []
    macros = list(_bare_macros(around, start, end))
    edges += [match.span(1) for match in _CLASS_MARK.finditer(around.code, start, end)]
    sure = [span for span in macros if _is_sure(around, *span)]
    text = _blanked(around.code, start, end, edges + sure)
    if not has_errors(text):
        return text, sure
    plain = _blanked(around.code, start, end, edges + macros)
    bare = _blanked(around.code, start, end, inner + macros)
    return (bare if has_errors(plain) and not has_errors(bare) else plain), macros


def _bare_macros(around: Around, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Known macros that are no part of an expression: a word, an attribute, `~` or nothing more follows; or they open a
    line, or stand behind one that does, with arguments and without a body."""
    code, reached, behind = around.code, start, start
    for match in _WORDS.finditer(code, start, end):
        if match[0] not in around.macros.known or around.braces.hidden[match.start()] or match.start() < reached:
            continue
        reached = next_solid(code, match.end())
        opens = match.start() == behind or around.opens_line(match.start())
        arguments = _ARGUMENTS.match(code, reached, end) if opens else None
        if arguments and _byte(code, next_solid(code, arguments.end())) not in _BODY_FOLLOWS:
            reached = arguments.end()
            behind = next_solid(code, reached)
            yield match.start(), reached
        elif reached >= end or _GOES_ON.match(code, reached):
            yield match.span()


def _is_sure(around: Around, start: int, end: int) -> bool:
    """Whether the macro at [start, end) is taken out of any syntax: it borders a namespace, or stands with arguments on
    its line before a declaration, where syntax takes it for one itself."""
    return around.code[start:end] in around.macros.spaces or around.code[end - 1 : end] == b")"


def _byte(code: bytes, offset: int) -> bytes:
    return code[offset : offset + 1]


def _blanked(code: bytes, start: int, end: int, ranges: Sequence[Sequence[int]]) -> bytes:
    data = np.frombuffer(code, dtype=np.uint8)[start:end].copy()
    for first, last in ranges:
        part = data[max(first - start, 0) : last - start]
        part[part != _NEWLINE] = _SPACE
    return data.tobytes()
