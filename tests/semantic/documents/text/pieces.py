"""Pieces of documents that show one chunk each."""

from __future__ import annotations

from megacpp_assets.semantic.documents.text.order import Piece
from megacpp_assets.semantic.graph.repository import Repository
from megacpp_assets.semantic.graph.spaces import Span


def alone(repository: Repository, number: int, distance: int = 1) -> Piece:
    """Return the piece that shows a chunk alone, a root if `distance` is 0."""
    node = repository.nodes[number]
    conditions = repository.directives.around(node.file, node.chunk.start)
    span = Span(node.chunk.start, node.chunk.end, node.char_start, node.char_end)
    item, whole = (number, number + 1), frozenset((number,))
    return Piece(item, node.file, span, whole, False, (), distance, conditions, (), None, node.chunk.kind, "")
