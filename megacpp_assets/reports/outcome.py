"""The result of one node of the dbt project."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_GOOD: Final = frozenset({"success", "pass", "no-op"})
_WARNED: Final = "warn"


@dataclass(frozen=True, slots=True)
class DbtOutcome:
    """The result of a model, a test or a freshness check. `table` holds the rows that failed a test."""

    kind: str
    name: str
    status: str
    message: str
    rows: int
    table: str

    @property
    def good(self) -> bool:
        """Whether it neither failed nor warned."""
        return self.status in _GOOD

    @property
    def warned(self) -> bool:
        """Whether it warned."""
        return self.status == _WARNED
