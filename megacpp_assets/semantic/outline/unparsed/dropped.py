"""Declarations in text that the preprocessor dropped. tree-sitter parses each dropped range by itself.

A range inside of a class is parsed as the text of a class, so that its methods become members.
"""

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
from megacpp_assets.semantic.outline.unparsed.torn import joined
from megacpp_assets.semantic.outline.unparsed.treesitter import has_errors, syntax_outline

_SPACE, _NEWLINE = 32, 10
_WORDS = re.compile(rb"[A-Za-z_]\w*")
_GOES_ON = re.compile(rb"[A-Za-z_#~]|\[\[")
_ARGUMENTS = re.compile(rb"\([^(){};]*(?:\([^(){};]*\)[^(){};]*)*\)")
_BODY_FOLLOWS = frozenset({b"{", b":", b"-", b".", b"<"})
_CLASS_MARK = re.compile(rb"\b(?:class|struct|union)\s+([A-Z_][A-Z0-9_]*\s*\([^(){};]*\))(?=\s*[A-Za-z_])")
"""`class CAPABILITY("mutex") Lock`.
"""
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class FileContext:
    """The file around a dropped range: its bytes, which of them are code (`solid`), its braces and macros."""

    code: bytes
    lexed: Lexed
    solid: NDArray[np.bool_]
    braces: Braces
    macros: MacroNames

    def opens_line(self, offset: int) -> bool:
        """Return whether only blanks are before `offset` on its line."""
        while self.code[offset - 1 : offset] in (b" ", b"\t"):
            offset -= 1
        return self.code[offset - 1 : offset] in (b"", b"\n")


def dropped_nodes(
    context: FileContext, outline: Outline, owner: NDArray[np.int32], ranges: Sequence[tuple[int, int]]
) -> Iterator[Node]:
    """Yield nodes of the dropped `ranges` outside of functions. `owner` is the innermost node of each byte or -1."""
    for start, end in sorted(set(ranges)):
        if not 0 <= start < end <= len(context.code) or not context.solid[start:end].any():
            continue
        holder = outline[owner[start]] if owner[start] >= 0 else None
        if holder is None or between(context.code, holder, start):
            yield from _region(context, start, end, holder)


def whole_file(context: FileContext) -> list[Node]:
    """Return tree-sitter's nodes of the whole file. If there are syntax errors, macros are blanked out as needed."""
    code = context.code
    if has_errors(code):
        return list(_region(context, 0, len(code), None))
    return context.braces.extended_to_braces(joined(code, syntax_outline(code)), len(code))


def _region(context: FileContext, start: int, end: int, holder: Node | None) -> Iterator[Node]:
    opening, scope = _class_opening(holder)
    closing = b"}" * context.braces.unclosed(start, end) + (b"};" if opening else b"")
    text, blanked = _readable(context, start, end)
    shift = start - len(opening)
    uses = np.array([(first - shift, last - shift) for first, last in blanked], dtype=np.int64).reshape(-1, 2)
    whole = opening + text + closing
    found = with_macros(whole, uses, uses[:0], Outline.of(syntax_outline(whole, scope)))
    nodes = [
        _spaced(node._replace(start=node.start + shift, end=min(node.end + shift, end)), context)
        for node in found
        if node.start >= len(opening) and node.start + shift < end
    ]
    yield from context.braces.extended_to_braces(joined(context.code, nodes), end)


def _spaced(node: Node, context: FileContext) -> Node:
    if node.kind == k.MACRO_USE and context.code[node.start : node.end] in context.macros.spaces:
        return node._replace(role=Role.NAMESPACE)
    return node


def _class_opening(holder: Node | None) -> tuple[bytes, str]:
    """Return the text that makes the following text parse as the inside of a class, and the scope around it."""
    if holder is None or holder.role is not Role.CLASS:
        return b"", holder.name if holder else ""
    scope, _, name = holder.name.rpartition("::")
    keyword = b"enum " if holder.kind == k.ENUM else b"struct "
    return keyword + (name.encode() if _WORD.fullmatch(name) else b"") + b" {", scope


def _readable(context: FileContext, start: int, end: int) -> tuple[bytes, list[tuple[int, int]]]:
    """Return the text of a range for tree-sitter, and the ranges of macros that were replaced by blanks.

    The first and the last directive are always blanked. If that leaves syntax errors, all known macros are blanked too,
    and then all directives if this removes the errors.
    """
    directives = context.lexed.directives
    first, last = np.searchsorted(directives[:, 1], start, side="right"), np.searchsorted(directives[:, 0], end)
    inner = directives[first:last].tolist()
    edges = [inner[0], inner[-1]] if inner else []
    macros = list(_bare_macros(context, start, end))
    edges += [match.span(1) for match in _CLASS_MARK.finditer(context.code, start, end)]
    sure = [span for span in macros if _is_sure(context, *span)]
    text = _blanked(context.code, start, end, edges + sure)
    if not has_errors(text):
        return text, sure
    plain = _blanked(context.code, start, end, edges + macros)
    bare = _blanked(context.code, start, end, inner + macros)
    return (bare if has_errors(plain) and not has_errors(bare) else plain), macros


def _bare_macros(context: FileContext, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of known macros that are not part of an expression.

    Such a macro is followed by a word, an attribute, `~` or the end. Or it is at the start of a line, or directly after
    such a macro, has arguments, and no body follows.
    """
    code, reached, behind = context.code, start, start
    for match in _WORDS.finditer(code, start, end):
        if match[0] not in context.macros.known or context.braces.hidden[match.start()] or match.start() < reached:
            continue
        reached = next_solid(code, match.end())
        opens = match.start() == behind or context.opens_line(match.start())
        arguments = _ARGUMENTS.match(code, reached, end) if opens else None
        if arguments and _byte(code, next_solid(code, arguments.end())) not in _BODY_FOLLOWS:
            reached = arguments.end()
            behind = next_solid(code, reached)
            yield match.start(), reached
        elif reached >= end or _GOES_ON.match(code, reached):
            yield match.span()


def _is_sure(context: FileContext, start: int, end: int) -> bool:
    """Return whether the macro at [start, end) is always blanked: it opens or closes a namespace, or has arguments.

    tree-sitter would parse a macro with arguments before a declaration as a declaration of its own.
    """
    return context.code[start:end] in context.macros.spaces or context.code[end - 1 : end] == b")"


def _byte(code: bytes, offset: int) -> bytes:
    return code[offset : offset + 1]


def _blanked(code: bytes, start: int, end: int, ranges: Sequence[Sequence[int]]) -> bytes:
    data = np.frombuffer(code, dtype=np.uint8)[start:end].copy()
    for first, last in ranges:
        part = data[max(first - start, 0) : last - start]
        part[part != _NEWLINE] = _SPACE
    return data.tobytes()
