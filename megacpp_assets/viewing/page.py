"""Shows a row or document as one HTML page without scripts and without external files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from megacpp_assets.contract.names import CONTEXT_ROLE, EDIT_NAMES, SYNTHETIC_ROLE
from megacpp_assets.viewing.colours import CATEGORY_COLOURS, EDIT_COLOURS
from megacpp_assets.viewing.shown import ROLE_NAMES, ShownDocument, TextRun, TokenView

_ROLE_CLASSES: Final = {CONTEXT_ROLE: " context", SYNTHETIC_ROLE: " synthetic"}
_STYLE: Final = """
body { font: 14px/1.4 system-ui, sans-serif; margin: 2rem; color: #111827; background: #fff; }
pre { font: 13px/1.35 ui-monospace, monospace; white-space: pre-wrap; }
pre { border-left: 3px solid #d1d5db; padding-left: 1rem; }
.context { background: #f3f4f6; }
.synthetic { text-decoration: underline dotted; }
td { padding: 0 1rem 0 0; }
"""


def page(shown: TokenView) -> str:
    """Return the page as HTML."""
    return "".join(_parts(shown))


def _parts(shown: TokenView) -> Iterator[str]:
    colours = "".join(f".{name} {{ color: {colour}; }}\n" for name, colour in CATEGORY_COLOURS.items())
    colours += "".join(f".{EDIT_NAMES[edit]} {{ background: {colour}; }}\n" for edit, colour in EDIT_COLOURS.items())
    yield '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
    yield "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
    yield f"<title>{escape(shown.title)}</title>\n<style>{_STYLE}{colours}</style></head>\n"
    yield f"<body><h1>{escape(shown.title)}</h1>\n"
    names = " ".join(f'<span class="{name}">{name}</span>' for name in CATEGORY_COLOURS)
    roles = " ".join(
        f'<span class="func_body{_ROLE_CLASSES.get(role, "")}">{name}</span>' for role, name in ROLE_NAMES.items()
    )
    yield f"<p>{names} · {roles}</p>\n"
    for document in shown.documents:
        yield from _document(document)
    if shown.pads:
        yield f"<h2>{shown.pads} pads</h2>\n"
    yield f"<h2>{len(shown.chunks)} chunks</h2>\n<table><tr><td>number<td>tokens<td>kind<td>level</tr>\n"
    for number, chunk in enumerate(shown.chunks):
        cells = f"<td>{number}<td>{chunk.start}-{chunk.end}<td>{chunk.kind}<td>{chunk.level}"
        yield f'<tr class="{chunk.kind}">{cells}</tr>\n'
    yield f"</table>\n<h2>Edges</h2>\n<p>calls: {_edges(shown.calls)}</p>\n<p>types: {_edges(shown.types)}</p>\n"
    yield "</body></html>\n"


def _document(document: ShownDocument) -> Iterator[str]:
    yield f"<h2>{escape(document.title)}, {document.tokens} tokens</h2>\n<pre>"
    yield from map(_piece, document.pieces)
    yield "</pre>\n"


def _piece(piece: TextRun) -> str:
    edit = f" {EDIT_NAMES[piece.edit]}" if piece.edit in EDIT_COLOURS else ""
    return f'<span class="{piece.category}{_ROLE_CLASSES.get(piece.role, "")}{edit}">{escape(piece.text)}</span>'


def _edges(edges: Sequence[tuple[int, int]]) -> str:
    return " ".join(f"{start}→{end}" for start, end in edges) or "none"
