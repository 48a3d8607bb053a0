"""Quality rules of published code corpora, as bounds on the figures of a file's text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class QualityRule:
    """A file breaks the rule where its `figure` is below `least` or above `most`; `source` says who uses the rule."""

    figure: str
    source: str
    least: int = 0
    most: int = 1 << 62

    def broken_by(self, figures: Mapping[str, int]) -> bool:
        """Whether a text with these figures breaks the rule."""
        return not self.least <= figures[self.figure] <= self.most


RULES: Final = {
    "few_lines": QualityRule("lines", "OpenCoder", least=10),
    "many_lines": QualityRule("lines", "OpenCoder", most=100_000),
    "long_line": QualityRule("longest_line", "StarCoder, OpenCoder", most=1000),
    "short_mean_line": QualityRule("mean_line", "OpenCoder", least=5),
    "long_mean_line": QualityRule("mean_line", "StarCoder, OpenCoder", most=100),
    "few_letters": QualityRule("letters", "StarCoder", least=250),
    "fewer_than_half_letters": QualityRule("letters", "OpenCoder", least=500),
    "many_digits": QualityRule("digits", "OpenCoder", most=200),
    "much_white_space": QualityRule("white_space", "OpenCoder", most=500),
    "repeated_lines": QualityRule("distinct_lines", "OpenCoder and the reference corpus", least=300),
}
"""By name. Shares are in parts of a thousand."""
