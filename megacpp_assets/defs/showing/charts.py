"""Pictures for the UI: inline SVG in markdown, which shows without a click."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence

import dagster as dg

from megacpp_assets.lineage.export import drawings
from megacpp_assets.viewing.colours import CATEGORY_COLOURS
from megacpp_assets.viewing.neutral import neutral

_NAME = 48
"""Characters of a name that are drawn: its end, which tells it from others."""


def histogram(bins: Sequence[Sequence[int]], label: str, counted: str = "documents") -> dg.MarkdownMetadataValue:
    """Bars over `bins` of (upper bound, count)."""
    return _bars([(f"{bound:,}", count) for bound, count in bins], f"{counted} by {label}")


def line_chart(points: Sequence[tuple[float, float]], x: str, y: str) -> dg.MarkdownMetadataValue:
    """A line through `points`, of which there is one at least."""
    label = f"{y} by {x}"
    return svg(drawings.curve(points, label, x, y, image=True), label)


def category_shares(tokens: Mapping[str, int]) -> dg.MarkdownMetadataValue:
    """Per cent of the tokens in each category, in its colour."""
    total = sum(tokens.values()) or 1
    shares = [(name, 100 * tokens.get(name, 0) / total) for name in CATEGORY_COLOURS]
    return _bars(shares, "% of tokens", list(CATEGORY_COLOURS.values()))


def bars(values: Mapping[str, float], label: str) -> dg.MarkdownMetadataValue:
    """A bar for each of `values` with its number, the first on top; names may be a stranger's."""
    return _bars([(neutral(name)[-_NAME:], number) for name, number in values.items()], label)


def svg(text: str, label: str) -> dg.MarkdownMetadataValue:
    """The picture `text`, which as an image runs nothing."""
    data = base64.b64encode(text.encode()).decode()
    return dg.MetadataValue.md(f"![{label}](data:image/svg+xml;base64,{data})")


def _bars(values: Sequence[tuple[str, float]], label: str, colours: Sequence[str] = ()) -> dg.MarkdownMetadataValue:
    return svg(drawings.bars(values, label, colours, image=True), label)
