"""Bar charts and line charts as SVG, with their figures as text. Equal values give equal bytes."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import Final

_WIDTH: Final = 440
"""Pixels. Dagster's overview of an asset shows no more of a picture on a screen of 1,440 pixels, and cuts the rest."""
_BAR: Final = 22
_LABEL: Final = 120
_FIGURE: Final = 80
_HEIGHT: Final = 220
_MARGIN: Final = 46
_CHARACTER: Final = 7
_NAME: Final = 28
"""Characters of a name that are drawn: its end, where names differ."""
_TITLE: Final = 26
_STYLE: Final = (
    "<style>svg{background:#fff}text{font:12px system-ui,sans-serif;fill:#111827}"
    "rect{fill:#4f46e5}line{stroke:#4f46e5;stroke-width:2}</style>"
)


def bars(values: Sequence[tuple[str, float]], title: str, colours: Sequence[str] = (), *, image: bool = False) -> str:
    """Return an SVG element with a horizontal bar for each (name, number); `colours`, if given, has one colour per bar.

    With `image` the SVG can be a file of its own: it contains its title and its style.
    """
    largest = max([number for _, number in values], default=0) or 1
    values = [(name if len(name) <= _NAME else f"…{name[1 - _NAME :]}", number) for name, number in values]
    left = max(_LABEL, _CHARACTER * max([len(name) for name, _ in values], default=0) + 16)
    room = _WIDTH - left - _FIGURE
    digits = 1 if any(number % 1 for _, number in values) else 0
    fills = [f' style="fill:{colour}"' for colour in colours] or [""] * len(values)
    rows = []
    for place, ((name, number), fill) in enumerate(zip(values, fills, strict=True)):
        y, width = place * _BAR, room * number / largest
        rows.append(
            f'<text x="{left - 8}" y="{y + 15}" text-anchor="end">{escape(name)}</text>'
            f'<rect x="{left}" y="{y + 4}" width="{width:.1f}" height="{_BAR - 8}"{fill}/>'
            f'<text x="{left + width + 6:.1f}" y="{y + 15}">{number:,.{digits}f}</text>'
        )
    return _svg(len(values) * _BAR + 4, title, "".join(rows), image=image)


def curve(points: Sequence[tuple[float, float]], title: str, across: str, up: str, *, image: bool = False) -> str:
    """Return an SVG element with a line through `points`, sorted by x, at least one. `across` and `up` name the axes.

    `image` has the same meaning as for `bars`.
    """
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
    return _svg(_HEIGHT, title, axes + lines, image=image)


def _svg(height: int, title: str, content: str, *, image: bool) -> str:
    name = escape(title)
    top = _TITLE if image else 0
    size = f'viewBox="0 {-top} {_WIDTH} {height + top}" width="{_WIDTH}" height="{height + top}"'
    own = f'{_STYLE}<text x="8" y="-8">{name}</text>' if image else ""
    space = ' xmlns="http://www.w3.org/2000/svg"' if image else ""
    return f'<svg{space} {size} role="img" aria-label="{name}"><title>{name}</title>{own}{content}</svg>'
