"""Which commits of a repository become documents, and how: the section `[history]` of a recipe."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Final

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.key import key, require_allowed
from megacpp_assets.contract.recipe.ranges import at_least, between

_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_TAG: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+/-]{0,199}")
_DENIED_COMMIT: Final = re.compile(r"[A-Za-z0-9._+-]+:[0-9a-f]{40}")
_DENIED_SYMBOL: Final = re.compile(r"[A-Za-z0-9._+-]+:[^:]+:.+")


@dataclass(frozen=True, slots=True)
class HistoryRecipe:
    """Which commits become documents of the dataset versions v2 to v5, and how those are written."""

    since: str = key(
        "",
        'Only later commits are used; "" is the whole history.',
        allowed='"", a date (2024-01-31), or a tag that every repository of the recipe has',
    )
    most_commits: int = key(
        1000, "Number of newest commits that are read; 0 reads all.", allowed=at_least(0), unit="commits"
    )
    first_parent: bool = key(True, "Follow only the first parent of a merge.", allowed="true or false")
    paths: tuple[str, ...] = key(
        (),
        "Shell patterns of whole paths. Only changes of these files are used; empty allows every path.",
        allowed="a list of globs",
    )
    most_files: int = key(
        50,
        "A commit that changes more C or C++ files than this is left out as a mass change.",
        allowed=at_least(1),
        unit="files",
    )
    file_bytes: int = key(1_000_000, "A larger version of a file is left out.", allowed=at_least(1), unit="bytes")
    patch_bytes: int = key(100_000, "A larger difference is left out of v3.", allowed=at_least(1), unit="bytes")
    context_lines: int = key(3, "Unchanged lines around each hunk of v3.", allowed=at_least(0), unit="lines")
    full_file: bool = key(
        False, "After the hunks of v3, write the whole file as the commit left it.", allowed="true or false"
    )
    drift: float = key(
        0.7,
        "A file version of v2 is left out if its lines have at least this Jaccard similarity with the last kept "
        "version of the file.",
        allowed=between(0, 1),
    )
    most_windows: int = key(
        20,
        "Largest number of functions of one commit that get a window of v4 or v5, in order of path and place.",
        allowed=at_least(1),
        unit="functions",
    )
    most_parsed: int = key(
        3,
        "For v5: largest number of files that are parsed to find callers and definitions, besides the files that a "
        "commit changes.",
        allowed=at_least(0),
        unit="files per commit",
    )
    denied_commits: tuple[str, ...] = key(
        (),
        "Commits of which no document is made, such as commits with the answers of a benchmark.",
        allowed="a list of NAME:COMMIT, with repositories of this recipe",
    )
    denied_symbols: tuple[str, ...] = key(
        (),
        "Symbols that make no document. Neither their definitions nor changes of these in commits are used.",
        allowed="a list of NAME:PATH:SYMBOL, with repositories of this recipe",
    )

    def __post_init__(self) -> None:
        require_allowed(self, "history")
        if self.since and not self.since_date and not _TAG.fullmatch(self.since):
            raise SpecError("history.since", expected="YYYY-MM-DD or a tag", found=repr(self.since))
        _require_day(self.since_date)
        shapes = {"denied_commits": (_DENIED_COMMIT, "NAME:COMMIT of 40 hexadecimal digits")}
        shapes |= {"denied_symbols": (_DENIED_SYMBOL, "NAME:PATH:SYMBOL")}
        for name, (shape, expected) in shapes.items():
            for entry in getattr(self, name):
                if not shape.fullmatch(entry):
                    raise SpecError(f"history.{name}", expected=expected, found=repr(entry))

    def denied_symbols_of(self, repository: str) -> tuple[tuple[str, str], ...]:
        """Return the (path, symbol) that are denied in `repository`."""
        entries = (entry.split(":", 2) for entry in self.denied_symbols)
        return tuple((path, symbol) for name, path, symbol in entries if name == repository)

    @property
    def since_date(self) -> str:
        """`since` if it is a date, else ""."""
        return self.since if _DATE.fullmatch(self.since) else ""

    @property
    def since_tag(self) -> str:
        """`since` if it is a tag, else ""."""
        return "" if self.since_date else self.since


def _require_day(text: str) -> None:
    """Raise `SpecError` unless `text` is "" or a day of the calendar."""
    try:
        date.fromisoformat(text or "2000-01-01")
    except ValueError as error:
        raise SpecError("history.since", expected="a day of the calendar, or a tag", found=repr(text)) from error
