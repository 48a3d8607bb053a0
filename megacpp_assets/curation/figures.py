"""Figures of a file's text, by which quality rules judge: one pass of numpy over its bytes."""

from __future__ import annotations

import string

import numpy as np

from megacpp_assets.contract.sources.curated import FIGURES
from megacpp_assets.contract.sources.quality_rules import RULES

_LETTERS = np.frombuffer(string.ascii_letters.encode(), dtype=np.uint8)
_DIGITS = np.frombuffer(string.digits.encode(), dtype=np.uint8)
_WHITE_SPACE = np.frombuffer(b" \t\r\n\v\f", dtype=np.uint8)


def figures_of(data: bytes) -> dict[str, int]:
    """Return the `FIGURES` of a text. Shares are parts of a thousand, rounded down, so that every machine gives the
    same.
    """
    counts = np.bincount(np.frombuffer(data, dtype=np.uint8), minlength=256)
    lines = data.splitlines()
    written = [line.strip() for line in lines if line.strip()]
    total = max(1, len(data))
    values = (
        len(lines),
        max(map(len, lines), default=0),
        sum(map(len, lines)) // max(1, len(lines)),
        int(counts[_LETTERS].sum()) * 1000 // total,
        int(counts[_DIGITS].sum()) * 1000 // total,
        int(counts[_WHITE_SPACE].sum()) * 1000 // total,
        len(set(written)) * 1000 // max(1, len(written)),
    )
    return dict(zip(FIGURES, values, strict=True))


def broken_rules(figures: dict[str, int]) -> list[str]:
    """Return the names of the quality rules that a text with these figures breaks, in the order of the table."""
    return [name for name, rule in RULES.items() if rule.broken_by(figures)]
