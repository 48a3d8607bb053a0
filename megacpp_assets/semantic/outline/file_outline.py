"""One outline per file: libclang's, with tree-sitter's nodes in the gaps, and who owns each byte."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic.outline import kinds as k
from megacpp_assets.semantic.outline.braces import Braces
from megacpp_assets.semantic.outline.clang import clang_outline
from megacpp_assets.semantic.outline.dropped import Around, dropped_nodes, whole_file
from megacpp_assets.semantic.outline.lexer import Lexed
from megacpp_assets.semantic.outline.macros import NO_USES, invocations, macro_names
from megacpp_assets.semantic.outline.nodes import EMPTY, Node, Outline, Role
from megacpp_assets.semantic.outline.ranges import paint
from megacpp_assets.semantic.outline.torn import Known, left_over, with_own_bodies
from megacpp_assets.semantic.parsing.parsed import ParsedFile

_SPACE = np.isin(np.arange(256), list(b" \t\r\n\f\v"))
_SYNTAX_DEPTH = 1000
"""Added to the depth of tree-sitter's nodes: in a gap they lie deeper than what libclang saw around it."""


@dataclass(frozen=True, slots=True)
class FileOutline:
    """`nodes` in pre-order; `owner` is the index of the innermost node of each byte or -1.

    `solid` marks bytes of code (neither space, comment nor directive); `parting` those of code or directives;
    `unclaimed` those of code that neither parse knew a declaration for.
    """

    nodes: Outline
    owner: NDArray[np.int32]
    solid: NDArray[np.bool_]
    parting: NDArray[np.bool_]
    unclaimed: NDArray[np.bool_]

    def parted(self, start: int, end: int) -> bool:
        """Whether more than space and comments lies in [start, end)."""
        return bool(self.parting[start:end].any())


def outline_file(code: bytes, lexed: Lexed, parsed: ParsedFile) -> FileOutline:
    """The outline of `code`; with `parsed.cursors` None it is tree-sitter's alone."""
    solid = _solid(code, lexed)
    nodes = EMPTY if parsed.cursors is None else clang_outline(code, lexed, parsed.cursors, parsed.symbols)
    owner = _owners(len(code), nodes)
    for fill in (_dropped, _missed):
        nodes, owner = _with(fill(code, lexed, parsed, Known(nodes, owner, solid)), nodes, owner)
    unclaimed = solid & (owner < 0)
    uses = NO_USES if parsed.cursors is None else invocations(lexed, parsed.cursors)
    nodes, owner = _with(left_over(code, Braces(code, lexed), Known(nodes, owner, solid), uses), nodes, owner)
    return FileOutline(nodes, owner, solid, solid | lexed.directed, unclaimed)


def _with(found: Sequence[Node], nodes: Outline, owner: NDArray[np.int32]) -> tuple[Outline, NDArray[np.int32]]:
    if not found:
        return nodes, owner
    nodes = nodes.joined(Outline.of(found)).in_order()
    return nodes, _owners(len(owner), nodes)


def _solid(code: bytes, lexed: Lexed) -> NDArray[np.bool_]:
    data = np.frombuffer(code, dtype=np.uint8)
    return np.asarray(~(_SPACE[data] | lexed.commented | lexed.directed))


def _owners(size: int, nodes: Outline) -> NDArray[np.int32]:
    # A function outranks what a macro declares over the same bytes beside it (TEST(…) { … }).
    return paint(size, nodes.start, nodes.end, 2 * nodes.depth + (nodes.role == Role.FUNCTION))


def _around(code: bytes, lexed: Lexed, parsed: ParsedFile, known: Known) -> Around:
    uses = NO_USES if parsed.cursors is None else invocations(lexed, parsed.cursors)
    return Around(code, lexed, known.solid, Braces(code, lexed), macro_names(code, uses, known.nodes))


def _dropped(code: bytes, lexed: Lexed, parsed: ParsedFile, known: Known) -> list[Node]:
    """Nodes of the text that the preprocessor dropped outside functions."""
    if parsed.cursors is None or not parsed.skipped_ranges:
        return []
    found = dropped_nodes(_around(code, lexed, parsed, known), known.nodes, known.owner, parsed.skipped_ranges)
    return with_own_bodies(node._replace(depth=node.depth + _SYNTAX_DEPTH) for node in found if node.end > node.start)


def _missed(code: bytes, lexed: Lexed, parsed: ParsedFile, known: Known) -> list[Node]:
    """tree-sitter's nodes of the whole file whose code no other node claims, from first to last byte.

    Where the parse has errors, a namespace claims nothing of what lies in it, nor a variable, a class without a body or
    a macro what goes on behind it: of `class EXPORT Box { … };` libclang sees the first two if it lacks the macro, of
    `INLINE Box::Box() { … }` nothing but the macro if it lacks the class.
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
        for node in whole_file(_around(code, lexed, parsed, known))
        if node.end > node.start and claimed[node.end] == claimed[node.start] and gap[node.start : node.end].any()
        if node.role is not Role.NAMESPACE or known.owner[node.start] < 0
    )
