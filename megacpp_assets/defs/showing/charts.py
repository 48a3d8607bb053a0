"""Charts for the UI, as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from megacpp_assets.lineage.export import drawings
from megacpp_assets.viewing.colours import CATEGORY_COLOURS
from megacpp_assets.viewing.neutral import neutral


def histogram(bins: Sequence[Sequence[int]], label: str, counted: str = "documents") -> str:
    """Draw bars over `bins` of (upper bound, count)."""
    return drawings.bars([(f"{bound:,}", count) for bound, count in bins], f"{counted} by {label}", image=True)


def line_chart(points: Sequence[tuple[float, float]], x: str, y: str) -> str:
    """Draw a line through `points`, at least one."""
    return drawings.curve(points, f"{y} by {x}", x, y, image=True)


def category_shares(tokens: Mapping[str, int]) -> str:
    """Draw the share of each category in the tokens, in per cent, in the category's colour."""
    total = sum(tokens.values()) or 1
    shares = [(name, 100 * tokens.get(name, 0) / total) for name in CATEGORY_COLOURS]
    return drawings.bars(shares, "% of tokens", list(CATEGORY_COLOURS.values()), image=True)


def bars(values: Mapping[str, float], label: str) -> str:
    """Draw a bar for each of `values` with its number, the first on top. Names are escaped: they may come from a
    stranger.
    """
    return drawings.bars([(neutral(name), number) for name, number in values.items()], label, image=True)
