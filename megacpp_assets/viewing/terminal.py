"""Prints a row or document to a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.style import Style
from rich.text import Text

from megacpp_assets.contract.names import CONTEXT_ROLE, EDIT_NAMES, SYNTHETIC_ROLE
from megacpp_assets.viewing.colours import DARK_COLOURS, DARK_EDIT_COLOURS
from megacpp_assets.viewing.shown import TextRun, TokenView


def print_shown(shown: TokenView, console: Console) -> None:
    """Print each document below a line with its title, then the chunks and edges.

    Text is coloured by category; context is dim, and synthetic text is underlined.
    """
    console.print(_legend())
    for document in shown.documents:
        console.rule(Text(f"{document.title}, {document.tokens} tokens"), align="left", characters="─")
        console.print(Text.assemble(*((piece.text, _style(piece)) for piece in document.pieces)), soft_wrap=True)
    if shown.pads:
        console.rule(Text(f"{shown.pads} pads"), align="left", characters="─")
    console.rule(Text(f"{len(shown.chunks)} chunks: number, tokens, kind, level"), align="left", characters="─")
    for number, chunk in enumerate(shown.chunks):
        colour = Style(color=DARK_COLOURS[chunk.kind])
        console.print(Text(f"{number:>4}  {chunk.start}-{chunk.end}  {chunk.kind}  {chunk.level}", style=colour))
    console.print(Text(f"calls: {_edges(shown.calls)}\ntypes: {_edges(shown.types)}"), soft_wrap=True)


def _legend() -> Text:
    names = [(f"{name}  ", Style(color=colour)) for name, colour in DARK_COLOURS.items()]
    roles = [("root  ", Style()), ("context  ", Style(dim=True)), ("of no file", Style(underline=True))]
    edits = [(f"  {EDIT_NAMES[edit]}", Style(bgcolor=colour)) for edit, colour in DARK_EDIT_COLOURS.items()]
    return Text.assemble(*names, "· ", *roles, *edits)


def _style(piece: TextRun) -> Style:
    return Style(
        color=DARK_COLOURS[piece.category],
        bgcolor=DARK_EDIT_COLOURS.get(piece.edit),
        dim=piece.role == CONTEXT_ROLE,
        underline=piece.role == SYNTHETIC_ROLE,
    )


def _edges(edges: Sequence[tuple[int, int]]) -> str:
    return " ".join(f"{start}→{end}" for start, end in edges) or "none"
