"""Draws the first lines of a row or document as a picture, for pages that accept pictures but no HTML."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Final

from megacpp_assets.contract.names import CONTEXT_ROLE
from megacpp_assets.viewing.colours import CATEGORY_COLOURS
from megacpp_assets.viewing.shown import TextRun, TokenView

LINES: Final = 40
_COLUMNS: Final = 70
"""Dagster's overview of an asset shows 445 pixels of a picture on a screen of 1,440 pixels, and cuts the rest."""
_LINE_HEIGHT, _CHARACTER_WIDTH = 13, 6.02
_HEAD_LINES: Final = 2
_BARS: Final = ("#d1d5db", "#4b5563")
"""Colours of the bars beside the lines; consecutive documents alternate."""


def picture(shown: TokenView, lines: int = LINES) -> str:
    """Return an SVG of at most `lines` lines: text coloured by category, pale context, a bar beside each document."""
    drawn = [line for _, line in zip(range(lines), _lines(shown), strict=False)]
    width, height = int(_COLUMNS * _CHARACTER_WIDTH) + 20, (len(drawn) + _HEAD_LINES) * _LINE_HEIGHT + 10
    body = "".join(_drawn(number, *line) for number, line in enumerate(drawn, start=_HEAD_LINES))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="monospace"'
        f' font-size="10"><rect width="100%" height="100%" fill="#ffffff"/>{_legend()}{body}</svg>'
    )


def _legend() -> str:
    """Return the names of the categories in their colours, on two lines."""
    names = [f'<tspan fill="{colour}">{name}  </tspan>' for name, colour in CATEGORY_COLOURS.items()]
    half = (len(names) + 1) // _HEAD_LINES
    return "".join(
        f'<text x="14" y="{line * _LINE_HEIGHT}" xml:space="preserve">{"".join(part)}</text>'
        for line, part in enumerate((names[:half], names[half:]), start=1)
    )


def _lines(shown: TokenView) -> Iterator[tuple[int, list[TextRun]]]:
    """Yield (number of the document, pieces of the line). A line ends at the edge of the picture."""
    for number, document in enumerate(shown.documents):
        line: list[TextRun] = []
        for piece in document.pieces:
            head, *others = piece.text.split("\n")
            line.append(TextRun(head, piece.category, piece.role))
            for other in others:
                yield number, line
                line = [TextRun(other, piece.category, piece.role)]
        yield number, line


def _drawn(number: int, document: int, line: list[TextRun]) -> str:
    top, left, spans = number * _LINE_HEIGHT + 5, _COLUMNS, []
    for piece in line:
        text, left = piece.text[:left], left - len(piece.text[:left])
        pale = ' fill-opacity="0.6"' if piece.role == CONTEXT_ROLE else ""
        spans.append(f'<tspan fill="{CATEGORY_COLOURS[piece.category]}"{pale}>{escape(text)}</tspan>')
    bar = f'<rect x="4" y="{top}" width="4" height="{_LINE_HEIGHT}" fill="{_BARS[document % 2]}"/>'
    return f'{bar}<text x="14" y="{top + _LINE_HEIGHT - 4}" xml:space="preserve">{"".join(spans)}</text>'
