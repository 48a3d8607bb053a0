"""Means, paired differences and 95 % intervals of arms over seeds; the table and the curves that show them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

LEVEL = 0.95
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#17becf", "#7f7f7f")


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with half the width of its 95 % interval (t), and the standard deviation; both are nan for one value."""

    mean: float
    half: float
    spread: float
    count: int

    @property
    def excludes_zero(self) -> bool:
        """Whether 0 lies outside."""
        return abs(self.mean) > self.half

    def __str__(self) -> str:
        return f"{self.mean:+.4f} ± {self.half:.4f}" if self.count > 1 else f"{self.mean:+.4f}"


def interval(values: Sequence[float]) -> Interval:
    """The 95 % interval of the mean of `values`, at least one."""
    mean, count = statistics.fmean(values), len(values)
    if count < 2:
        return Interval(mean, math.nan, math.nan, count)
    spread = statistics.stdev(values)
    return Interval(mean, t_quantile(count - 1) * spread / math.sqrt(count), spread, count)


def t_quantile(freedom: int, level: float = LEVEL) -> float:
    """The value that Student's t of `freedom` degrees stays below in size with probability `level`."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)

    def density(angle: float) -> float:
        # With t = sqrt(freedom) tan(angle) the integral over t is one over a bounded angle.
        return scale * math.sqrt(freedom) * math.cos(angle) ** (freedom - 1)

    low, high = 0.0, math.pi / 2
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if 2 * _integral(density, middle) < level else (low, middle)
    return math.sqrt(freedom) * math.tan(low)


def _integral(function: Callable[[float], float], end: float, parts: int = 400) -> float:
    """Of `function` from 0 to `end`, by Simpson's rule."""
    width = end / parts
    inner = sum((4 if part % 2 else 2) * function(part * width) for part in range(1, parts))
    return width / 3 * (function(0.0) + inner + function(end))


@dataclass(frozen=True, slots=True)
class Cell:
    """An arm at a length on a text: its bits per byte, and by how much it is above the first arm of the same seeds."""

    arm: str
    text: str
    tokens: int
    bits: Interval
    last: Interval
    less: Interval | None


def cells(lines: Sequence[dict[str, Any]], first: str) -> list[Cell]:
    """A cell for each arm, text and length that was measured, in the order of `lines`."""
    found: dict[tuple[str, str, int], dict[int, tuple[float, float]]] = {}
    for line in lines:
        for text, bits in line["bits"]["average"].items():
            of = found.setdefault((line["arm"], text, line["tokens"]), {})
            of[line["seed"]] = bits, line["bits"]["last"][text]
    made = []
    for (arm, text, tokens), by_seed in found.items():
        plain = found.get((first, text, tokens), {})
        pairs = [bits - plain[seed][0] for seed, (bits, _) in by_seed.items() if seed in plain]
        average, last = (interval(values) for values in zip(*by_seed.values(), strict=True))
        made.append(Cell(arm, text, tokens, average, last, interval(pairs) if pairs and arm != first else None))
    return made


def table(made: Sequence[Cell], first: str) -> str:
    """The cells as a table in markdown."""
    rows = [
        f"| text | tokens | arm | seeds | bits per byte | spread, last weights: spread | less {first} |",
        "|---|---|---|---|---|---|---|",
    ]
    for cell in sorted(made, key=lambda cell: (cell.text, cell.tokens)):
        less = "" if cell.less is None else f"{cell.less} {'' if cell.less.excludes_zero else '(undecided)'}"
        rows.append(
            f"| {cell.text} | {cell.tokens:,} | {cell.arm} | {cell.bits.count} | {cell.bits.mean:.4f}"
            f" | {_digits(cell.bits.spread)}, {_digits(cell.last.spread)} | {less.strip()} |"
        )
    return "\n".join(rows) + "\n"


def _digits(value: float) -> str:
    return "unknown" if math.isnan(value) else f"{value:.4f}"


def crossing(made: Sequence[Cell], arm: str, text: str) -> float | None:
    """Tokens at which `arm` is expected to equal the first, on a least-squares line of the difference over the
    logarithm of the tokens; None with fewer than two lengths, or where the line does not get closer to zero."""
    points = [(math.log(cell.tokens), cell.less.mean) for cell in made
              if cell.arm == arm and cell.text == text and cell.less]  # fmt: skip
    if len(points) < 2:
        return None
    slope, start = statistics.linear_regression(*zip(*points, strict=True))
    last = max(points)[0]
    if slope == 0 or -start / slope <= last or -start / slope > math.log(1e15):
        return None
    return math.exp(-start / slope)


def curves(made: Sequence[Cell], *, width: int = 560, height: int = 340) -> str:
    """An SVG with a panel for each text: bits per byte over tokens, with the intervals as bars."""
    texts, arms = (list(dict.fromkeys(getattr(cell, name) for cell in made)) for name in ("text", "arm"))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width * len(texts)}" height="{height + 20 * len(arms)}"'
        ' font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
    ]
    for number, text in enumerate(texts):
        panel = _Panel([cell for cell in made if cell.text == text], width * number, width, height)
        parts.append(panel.frame(text))
        parts += [panel.curve(arm, COLOURS[place % len(COLOURS)], place) for place, arm in enumerate(arms)]
    for place, arm in enumerate(arms):
        y = height + 20 * place
        parts.append(f'<rect x="60" y="{y}" width="14" height="10" fill="{COLOURS[place % len(COLOURS)]}"/>')
        parts.append(f'<text x="80" y="{y + 10}">{_escaped(arm)}</text>')
    return "\n".join([*parts, "</svg>\n"])


class _Panel:
    """Axes of one text: tokens on a logarithmic scale, bits per byte on a linear one."""

    def __init__(self, made: Sequence[Cell], left: int, width: int, height: int) -> None:
        self.made, self.left, self.width, self.height = made, left, width, height
        ends = [cell.bits.mean + sign * _known(cell.bits.half) for cell in made for sign in (-1, 1)]
        margin = 0.05 * (max(ends) - min(ends)) or 0.01
        self.low, self.high = min(ends) - margin, max(ends) + margin
        self.tokens = sorted({cell.tokens for cell in made})

    def place(self, tokens: int, bits: float) -> tuple[float, float]:
        """Pixels of a point."""
        first, last = math.log(self.tokens[0]), math.log(self.tokens[-1])
        share = (math.log(tokens) - first) / (last - first) if last > first else 0.5
        up = (bits - self.low) / (self.high - self.low)
        return self.left + 80 + share * (self.width - 130), 30 + (1 - up) * (self.height - 80)

    def frame(self, text: str) -> str:
        """The title and the ticks."""
        marks = [f'<text x="{self.left + 60}" y="18">bits per byte of roots, {_escaped(text)}</text>']
        for tokens in self.tokens:
            x, y = self.place(tokens, self.low)
            marks.append(f'<text x="{x:.1f}" y="{y + 16:.1f}" text-anchor="middle">{tokens / 1e6:g} M</text>')
        for step in range(5):
            bits = self.low + step * (self.high - self.low) / 4
            x, y = self.place(self.tokens[0], bits)
            marks.append(f'<text x="{self.left + 54}" y="{y + 4:.1f}" text-anchor="end">{bits:.3f}</text>')
            marks.append(
                f'<line x1="{self.left + 60}" x2="{self.left + self.width - 20}" y1="{y:.1f}" y2="{y:.1f}"'
                ' stroke="#ddd"/>'
            )
        return "\n".join(marks)

    def curve(self, arm: str, colour: str, number: int) -> str:
        """The line of an arm and a bar for each interval; arms stand beside each other, so that bars do not overlap."""
        points, bars, shift = [], [], 4 * number
        for cell in sorted((cell for cell in self.made if cell.arm == arm), key=lambda cell: cell.tokens):
            x, y = self.place(cell.tokens, cell.bits.mean)
            points.append(f"{x + shift:.1f},{y:.1f}")
            top, bottom = (
                self.place(cell.tokens, cell.bits.mean + sign * _known(cell.bits.half))[1] for sign in (1, -1)
            )
            bars.append(
                f'<line x1="{x + shift:.1f}" x2="{x + shift:.1f}" y1="{top:.1f}" y2="{bottom:.1f}" stroke="{colour}"/>'
            )
            bars.append(f'<circle cx="{x + shift:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>')
        line = f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}"/>'
        return "\n".join([line, *bars])


def _known(value: float) -> float:
    return 0.0 if math.isnan(value) else value


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")
