"""Pictures as SVG inside a page: bars and a line, with their figures as text. Equal values give equal bytes."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import Final

_WIDTH: Final = 720
_BAR: Final = 22
_LABEL: Final = 190
_FIGURE: Final = 110
_HEIGHT: Final = 220
_MARGIN: Final = 46


def bars(values: Sequence[tuple[str, int]], title: str) -> str:
    """A horizontal bar for each (name, count), longest where the count is largest."""
    largest = max([count for _, count in values], default=0) or 1
    room = _WIDTH - _LABEL - _FIGURE
    rows = []
    for number, (name, count) in enumerate(values):
        y, width = number * _BAR, room * count / largest
        rows.append(
            f'<text x="{_LABEL - 8}" y="{y + 15}" text-anchor="end">{escape(name)}</text>'
            f'<rect x="{_LABEL}" y="{y + 4}" width="{width:.1f}" height="{_BAR - 8}"/>'
            f'<text x="{_LABEL + width + 6:.1f}" y="{y + 15}">{count:,}</text>'
        )
    return _svg(len(values) * _BAR + 4, title, "".join(rows))


def curve(points: Sequence[tuple[float, float]], title: str, across: str, up: str) -> str:
    """A line through points in the order of x, with the range of both axes; at least two points."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    low, high = min(ys), max(ys)

    def place(x: float, y: float) -> tuple[float, float]:
        right, down = _WIDTH - 2 * _MARGIN, _HEIGHT - 2 * _MARGIN
        share_x = (x - xs[0]) / ((xs[-1] - xs[0]) or 1)
        share_y = (y - low) / ((high - low) or 1)
        return _MARGIN + 10 + right * share_x, _HEIGHT - _MARGIN - down * share_y

    placed = [place(*point) for point in points]
    lines = "".join(
        f'<line x1="{a:.1f}" y1="{b:.1f}" x2="{c:.1f}" y2="{d:.1f}"/>' for (a, b), (c, d) in pairwise(placed)
    )
    bottom = _HEIGHT - _MARGIN
    axes = (
        f'<text x="4" y="{_MARGIN + 4}">{high:.3f}</text><text x="4" y="{bottom + 4}">{low:.3f}</text>'
        f'<text x="{_MARGIN + 10}" y="{bottom + 22}">{xs[0]:g}</text>'
        f'<text x="{_WIDTH - _MARGIN}" y="{bottom + 22}" text-anchor="end">{xs[-1]:g}</text>'
        f'<text x="{_WIDTH / 2:.0f}" y="{bottom + 22}" text-anchor="middle">{escape(across)}</text>'
        f'<text x="4" y="18">{escape(up)}</text>'
    )
    return _svg(_HEIGHT, title, axes + lines)


def _svg(height: int, title: str, content: str) -> str:
    name = escape(title)
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" role="img" aria-label="{name}">'
        f"<title>{name}</title>{content}</svg>"
    )
