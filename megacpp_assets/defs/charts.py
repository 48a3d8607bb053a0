"""Pictures for the UI: inline SVG in markdown, drawn by matplotlib without a display."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

import dagster as dg

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def histogram(bins: Sequence[Sequence[int]], label: str) -> dg.MarkdownMetadataValue:
    """Bars over `bins` of (upper bound, count)."""
    figure, axes = _axes()
    axes.bar([str(bound) for bound, _ in bins], [count for _, count in bins], color="#4f46e5")
    axes.set_xlabel(label)
    axes.set_ylabel("documents")
    axes.tick_params(axis="x", rotation=45)
    return _markdown(figure, label)


def line_chart(points: Sequence[tuple[float, float]], x: str, y: str) -> dg.MarkdownMetadataValue:
    """A line through `points`."""
    figure, axes = _axes()
    axes.plot([point[0] for point in points], [point[1] for point in points], color="#4f46e5", marker=".")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(alpha=0.3)
    return _markdown(figure, f"{y} by {x}")


def _axes() -> tuple[Figure, Axes]:
    # Imported here: it costs half a second, and definitions must load without it.
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(6, 3), layout="constrained")
    return figure, figure.subplots()


def _markdown(figure: Figure, label: str) -> dg.MarkdownMetadataValue:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg")
    data = base64.b64encode(buffer.getvalue()).decode()
    return dg.MetadataValue.md(f"![{label}](data:image/svg+xml;base64,{data})")
