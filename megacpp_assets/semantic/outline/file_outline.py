"""One outline per file: libclang's, with tree-sitter's nodes in the gaps, and who owns each byte."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic.outline.clang import clang_outline
from megacpp_assets.semantic.outline.dropped import Around, Braces, dropped_nodes
from megacpp_assets.semantic.outline.lexer import Lexed
from megacpp_assets.semantic.outline.macros import invocations, macro_names
from megacpp_assets.semantic.outline.nodes import EMPTY, Node, Outline, Role
from megacpp_assets.semantic.outline.ranges import paint
from megacpp_assets.semantic.outline.treesitter import syntax_outline
from megacpp_assets.semantic.parsing.parsed import ParsedFile

_SPACE = np.isin(np.arange(256), list(b" \t\r\n\f\v"))
_SYNTAX_DEPTH = 1000
"""Added to the depth of tree-sitter's nodes: in a gap they lie deeper than what libclang saw around it."""


@dataclass(frozen=True, slots=True)
class FileOutline:
    """`nodes` in pre-order; `owner` is the index of the innermost node of each byte or -1.

    `solid` marks bytes of code (neither space, comment nor directive); `parting` those of code or directives.
    """

    nodes: Outline
    owner: NDArray[np.int32]
    solid: NDArray[np.bool_]
    parting: NDArray[np.bool_]

    def parted(self, start: int, end: int) -> bool:
        """Whether more than space and comments lies in [start, end)."""
        return bool(self.parting[start:end].any())


def outline_file(code: bytes, lexed: Lexed, parsed: ParsedFile) -> FileOutline:
    """The outline of `code`; with `parsed.cursors` None it is tree-sitter's alone."""
    solid = _solid(code, lexed)
    nodes = EMPTY if parsed.cursors is None else clang_outline(code, lexed, parsed.cursors, parsed.symbols)
    owner = _owners(len(code), nodes)
    for fill in (_dropped, _missed):
        found = fill(code, lexed, parsed, FileOutline(nodes, owner, solid, solid))
        if found:
            nodes = nodes.joined(Outline.of(found)).in_order()
            owner = _owners(len(code), nodes)
    return FileOutline(nodes, owner, solid, solid | lexed.directed)


def _solid(code: bytes, lexed: Lexed) -> NDArray[np.bool_]:
    data = np.frombuffer(code, dtype=np.uint8)
    return np.asarray(~(_SPACE[data] | lexed.commented | lexed.directed))


def _owners(size: int, nodes: Outline) -> NDArray[np.int32]:
    # A function outranks what a macro declares over the same bytes beside it (TEST(…) { … }).
    return paint(size, nodes.start, nodes.end, 2 * nodes.depth + (nodes.role == Role.FUNCTION))


def _dropped(code: bytes, lexed: Lexed, parsed: ParsedFile, outline: FileOutline) -> list[Node]:
    """Nodes of the text that the preprocessor dropped outside functions."""
    if parsed.cursors is None or not parsed.skipped_ranges:
        return []
    names = macro_names(code, invocations(lexed, parsed.cursors), outline.nodes)
    around = Around(code, lexed, outline.solid, Braces(code, lexed), names)
    found = dropped_nodes(around, outline.nodes, outline.owner, parsed.skipped_ranges)
    return [node._replace(depth=node.depth + _SYNTAX_DEPTH) for node in found if node.end > node.start]


def _missed(code: bytes, lexed: Lexed, parsed: ParsedFile, outline: FileOutline) -> list[Node]:
    """tree-sitter's nodes of the whole file whose code no other node claims, from first to last byte.

    Where the parse has errors, a namespace claims nothing of what lies in it, nor a variable or a class without a body
    what goes on behind it: of `class EXPORT Box { … };` libclang sees those two if it lacks the macro.
    """
    gap, cut = outline.solid & (outline.owner < 0), np.zeros(len(code), dtype=bool)
    if parsed.errors and len(outline.nodes):
        role, bodied = outline.nodes.role[outline.owner], outline.nodes.definition[outline.owner]
        held = outline.solid & (outline.owner >= 0)
        gap |= held & (role == Role.NAMESPACE)
        cut = held & ((role == Role.VARIABLE) | ((role == Role.CLASS) & ~bodied))
    if not gap.any():
        return []
    claimed = np.concatenate(([0], np.cumsum(outline.solid & ~gap & ~cut)))
    return [
        node._replace(depth=node.depth + _SYNTAX_DEPTH)
        for node in Braces(code, lexed).made_whole(syntax_outline(code), len(code))
        if node.end > node.start and claimed[node.end] == claimed[node.start] and gap[node.start : node.end].any()
        if node.role is not Role.NAMESPACE or outline.owner[node.start] < 0
    ]
