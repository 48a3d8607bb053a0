"""Pictures for the UI: inline SVG in markdown, which shows without a click."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import dagster as dg

from megacpp_assets.viewing.colours import CATEGORY_COLOURS
from megacpp_assets.viewing.neutral import neutral

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOUR = "#4f46e5"


def histogram(bins: Sequence[Sequence[int]], label: str, counted: str = "documents") -> dg.MarkdownMetadataValue:
    """Bars over `bins` of (upper bound, count)."""
    figure, axes = _axes()
    axes.bar([str(bound) for bound, _ in bins], [count for _, count in bins], color=_COLOUR)
    axes.set_xlabel(label)
    axes.set_ylabel(counted)
    axes.tick_params(axis="x", rotation=45)
    return _markdown(figure, label)


def line_chart(points: Sequence[tuple[float, float]], x: str, y: str) -> dg.MarkdownMetadataValue:
    """A line through `points`."""
    figure, axes = _axes()
    axes.plot([point[0] for point in points], [point[1] for point in points], color=_COLOUR, marker=".")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(alpha=0.3)
    return _markdown(figure, f"{y} by {x}")


def category_shares(tokens: Mapping[str, int]) -> dg.MarkdownMetadataValue:
    """Per cent of the tokens in each category, in its colour."""
    total = sum(tokens.values()) or 1
    shares = {name: 100 * tokens.get(name, 0) / total for name in CATEGORY_COLOURS}
    return bars(shares, "% of tokens", list(CATEGORY_COLOURS.values()))


def bars(values: Mapping[str, float], label: str, colours: Sequence[str] = (_COLOUR,)) -> dg.MarkdownMetadataValue:
    """A bar for each of `values` with its number, the first on top; names may be a stranger's."""
    figure, axes = _axes()
    drawn = axes.barh(range(len(values)), list(values.values()), color=list(colours))
    axes.bar_label(drawn, fmt="{:,.1f}" if any(value % 1 for value in values.values()) else "{:,.0f}", padding=3)
    names = [neutral(name)[-48:] for name in values]
    axes.set_yticks(range(len(values)), names, parse_math=False)
    axes.invert_yaxis()
    axes.set_xlabel(label)
    axes.margins(x=0.18)
    return _markdown(figure, label)


def svg(text: str, label: str) -> dg.MarkdownMetadataValue:
    """The picture `text`, which as an image runs nothing."""
    data = base64.b64encode(text.encode()).decode()
    return dg.MetadataValue.md(f"![{label}](data:image/svg+xml;base64,{data})")


def _axes() -> tuple[Figure, Axes]:
    # Imported here: it costs half a second, and definitions must load without it.
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(6, 3), layout="constrained")
    return figure, figure.subplots()


def _markdown(figure: Figure, label: str) -> dg.MarkdownMetadataValue:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg")
    return svg(buffer.getvalue(), label)
