"""Quality rules: those of published code corpora, as bounds on the figures of a file's text, and ours of its parse."""

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
        """Return whether a text with these figures breaks the rule."""
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

PARSER_RULES: Final = {
    "many_parse_errors": QualityRule("errors_in_1000_lines", "this index", most=50),
    "few_calls_resolved": QualityRule("resolved_calls", "this index", least=500),
}
"""Rules on what the parser met, reported for each parsed file; no recipe drops files by them. Of a file with fewer than
`LEAST_CALLS` calls, the second says nothing."""
LEAST_CALLS: Final = 10


def parser_figures(errors: int, lines: int, calls: int, resolved: int) -> dict[str, int]:
    """Return the figures of `PARSER_RULES`, in parts of a thousand, rounded down."""
    share = resolved * 1000 // calls if calls >= LEAST_CALLS else 1000
    return {"errors_in_1000_lines": errors * 1000 // max(1, lines), "resolved_calls": share}
