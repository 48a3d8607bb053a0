"""The outline of a file: libclang's nodes, tree-sitter's nodes in the gaps, and the innermost node of each byte."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic.outline import kinds as k
from megacpp_assets.semantic.outline.braces import Braces
from megacpp_assets.semantic.outline.clang import clang_outline
from megacpp_assets.semantic.outline.lexer import Lexed
from megacpp_assets.semantic.outline.macros import NO_USES, invocations, macro_names
from megacpp_assets.semantic.outline.nodes import EMPTY, Node, Outline, Role
from megacpp_assets.semantic.outline.openings import in_opening
from megacpp_assets.semantic.outline.ranges import paint
from megacpp_assets.semantic.outline.unparsed.dropped import FileContext, dropped_nodes, whole_file
from megacpp_assets.semantic.outline.unparsed.torn import Known, left_over, with_own_bodies
from megacpp_assets.semantic.parsing.parsed import ParsedFile

_SPACE = np.isin(np.arange(256), list(b" \t\r\n\f\v"))
_SYNTAX_DEPTH = 1000
"""Added to the depth of tree-sitter's nodes, so that they are deeper than libclang's nodes around the gap."""


@dataclass(frozen=True, slots=True)
class FileOutline:
    """`nodes` in pre-order; `owner` is the index of the innermost node of each byte or -1.

    `solid` marks bytes of code (no space, comment or directive), `parting` bytes of code or directives, and `unclaimed`
    bytes of code that are in no declaration of libclang or tree-sitter.
    """

    nodes: Outline
    owner: NDArray[np.int32]
    solid: NDArray[np.bool_]
    parting: NDArray[np.bool_]
    unclaimed: NDArray[np.bool_]

    def parted(self, start: int, end: int) -> bool:
        """Return whether [start, end) contains code or directives."""
        return bool(self.parting[start:end].any())


def outline_file(code: bytes, lexed: Lexed, parsed: ParsedFile) -> FileOutline:
    """Return the outline of `code`. If `parsed.cursors` is None, all nodes are tree-sitter's."""
    solid = _solid(code, lexed)
    nodes = EMPTY if parsed.cursors is None else clang_outline(code, lexed, parsed.cursors, parsed.symbols)
    owner = _owners(len(code), nodes)
    for fill in (_dropped, _missed):
        found = fill(code, lexed, parsed, Known(nodes, owner, solid))
        nodes, owner = _with(found, _without_heads(code, found, nodes), owner)
    unclaimed = solid & (owner < 0)
    uses = NO_USES if parsed.cursors is None else invocations(lexed, parsed.cursors)
    nodes, owner = _with(left_over(code, Braces(code, lexed), Known(nodes, owner, solid), uses), nodes, owner)
    return FileOutline(nodes, owner, solid, solid | lexed.directed, unclaimed)


def _with(found: Sequence[Node], nodes: Outline, owner: NDArray[np.int32]) -> tuple[Outline, NDArray[np.int32]]:
    if not found:
        return nodes, owner
    nodes = nodes.joined(Outline.of(found)).in_order()
    return nodes, _owners(len(owner), nodes)


def _without_heads(code: bytes, found: Sequence[Node], nodes: Outline) -> Outline:
    """Return `nodes` without macros in the heads of the namespaces that were `found` later.

    libclang sees no namespace in `namespace NAME {` if it cannot expand `NAME`, but a macro that stands alone.
    """
    spaces = [node for node in found if node.role is Role.NAMESPACE]
    macros = np.flatnonzero(nodes.kind == k.MACRO_USE) if spaces else ()
    in_heads = [
        number
        for number in macros
        if any(space.start <= nodes.start[number] and in_opening(code, space, nodes.start[number]) for space in spaces)
    ]
    return nodes.take(np.delete(np.arange(len(nodes)), in_heads)) if in_heads else nodes


def _solid(code: bytes, lexed: Lexed) -> NDArray[np.bool_]:
    data = np.frombuffer(code, dtype=np.uint8)
    return np.asarray(~(_SPACE[data] | lexed.commented | lexed.directed))


def _owners(size: int, nodes: Outline) -> NDArray[np.int32]:
    # TEST(…) { … } declares a class and a function over the same bytes: the function owns them.
    return paint(size, nodes.start, nodes.end, 2 * nodes.depth + (nodes.role == Role.FUNCTION))


def _context(code: bytes, lexed: Lexed, parsed: ParsedFile, known: Known) -> FileContext:
    uses = NO_USES if parsed.cursors is None else invocations(lexed, parsed.cursors)
    return FileContext(code, lexed, known.solid, Braces(code, lexed), macro_names(code, uses, known.nodes))


def _dropped(code: bytes, lexed: Lexed, parsed: ParsedFile, known: Known) -> list[Node]:
    """Return nodes of the text that the preprocessor dropped outside of functions."""
    if parsed.cursors is None or not parsed.skipped_ranges:
        return []
    found = dropped_nodes(_context(code, lexed, parsed, known), known.nodes, known.owner, parsed.skipped_ranges)
    return with_own_bodies(node._replace(depth=node.depth + _SYNTAX_DEPTH) for node in found if node.end > node.start)


def _missed(code: bytes, lexed: Lexed, parsed: ParsedFile, known: Known) -> list[Node]:
    """Return tree-sitter's nodes of the whole file for code that no other node has.

    A parse with errors may have lost declarations inside of a namespace. It may also have cut a declaration short, so
    that only a variable, a class without a body or a macro is left: of `class EXPORT Box { … };` libclang sees `class
    EXPORT` if it lacks the macro, and of `INLINE Box::Box() { … }` only the macro if it lacks the class. The code of
    such nodes may therefore be part of a node of tree-sitter.
    """
    gap, cut = known.solid & (known.owner < 0), np.zeros(len(code), dtype=bool)
    if parsed.errors and len(known.nodes):
        nodes = known.nodes
        role, kind, bodied = (each[known.owner] for each in (nodes.role, nodes.kind, nodes.definition))
        held = known.solid & (known.owner >= 0)
        gap |= held & (role == Role.NAMESPACE)
        cut = held & ((role == Role.VARIABLE) | ((role == Role.CLASS) & ~bodied) | (kind == k.MACRO_USE))
    if not gap.any():
        return []
    claimed = np.concatenate(([0], np.cumsum(known.solid & ~gap & ~cut)))
    return with_own_bodies(
        node._replace(depth=node.depth + _SYNTAX_DEPTH)
        for node in _whole(_context(code, lexed, parsed, known))
        if node.end > node.start and claimed[node.end] == claimed[node.start] and gap[node.start : node.end].any()
        if node.role is not Role.NAMESPACE or known.owner[node.start] < 0
    )


def _whole(context: FileContext) -> list[Node]:
    """Return tree-sitter's nodes of a file, without words that are no code.

    It takes words between directives, and what follows their condition, for one variable.
    """
    found = whole_file(context)
    variables = (node for node in found if node.role is Role.VARIABLE)
    words = [(node.start, context.braces.leaving(node.start, node.end)) for node in variables]
    words = [(start, end) for start, end in words if end >= 0]
    if not words:
        return found
    code = bytearray(context.code)
    for start, end in words:
        code[start:end] = re.sub(rb"[^\n]", b" ", code[start:end])
    return whole_file(replace(context, code=bytes(code)))
