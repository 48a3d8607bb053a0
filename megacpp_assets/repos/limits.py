"""Limits of one repository from the recipe. An error names the limit that a repository exceeds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from megacpp_assets.contract.errors import OverLimit
from megacpp_assets.contract.recipe.documents import SourcesRecipe
from megacpp_assets.repos.tree import TreeEntry

_SHOWN = 200
"""Characters of a stranger's path that an error shows."""


def over_limit(repository: str, limits: SourcesRecipe, name: str, found: str) -> OverLimit:
    """Return the error for what goes over the limit `name`."""
    return OverLimit(
        f"repository {repository}",
        expected=f"{name} of at most {getattr(limits, name):,}",
        found=found,
        do=f"raise {name} in section [sources] of the recipe, or leave the repository out",
    )


@dataclass(slots=True)
class Tally:
    """What a repository's trees have come to so far, submodules included."""

    repository: str
    limits: SourcesRecipe
    entries: int = 0
    total_bytes: int = 0

    def counted(self, entries: Iterator[TreeEntry]) -> Iterator[TreeEntry]:
        """Yield the same entries; `OverLimit` at the first that goes over a limit."""
        for entry in entries:
            self.entries += 1
            self.total_bytes += entry.bytes
            self.hold("entries", self.entries, "more")
            self.hold("path_depth", entry.path.count("/") + 1, entry.path)
            self.hold("blob_bytes", entry.bytes, f"{entry.bytes:,} in {entry.path}")
            self.hold("total_bytes", self.total_bytes, f"{self.total_bytes:,} in the first {self.entries:,} entries")
            yield entry

    def hold(self, name: str, value: int, found: str) -> None:
        """Raise `OverLimit` with what was `found` if `value` is above the limit `name`."""
        if value > getattr(self.limits, name):
            raise self.over(name, found)

    def over(self, name: str, found: str) -> OverLimit:
        """Return the error for going over the limit `name`."""
        shown = found.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        return over_limit(self.repository, self.limits, name, shown[:_SHOWN])
