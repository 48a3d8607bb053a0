"""Compares a release of a repository with the one that mixtures read, to find data that was lost or has shifted.

If upstream renames a folder, or the parser misses a header, every document is still valid, but half of them are
missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from megacpp_assets.contract.recipe.documents import PromotionRecipe
from megacpp_assets.contract.step import CheckResult
from megacpp_assets.quality.shared.table import Check, Verdict, run_checks
from megacpp_assets.storage.artifact import Artifact

_SHOWN = 3
_FIRST: Final = "no earlier release to compare with"


@dataclass(frozen=True)
class ReferenceArtifacts:
    """The artifacts of one reference of a repository."""

    semantic: Artifact
    enriched: Artifact

    @property
    def stats(self) -> Mapping[str, Any]:
        """The statistics of the enriched artifact."""
        return self.enriched.manifest.stats

    @property
    def name(self) -> str:
        """The name of the repository, without the reference."""
        return self.enriched.manifest.partition.partition("@")[0]

    @property
    def bytes_per_token(self) -> float:
        """UTF-8 bytes of text per token, over all documents."""
        return float(self.stats["text_bytes"] / max(1, self.stats["tokens"]))

    @cached_property
    def shares(self) -> Mapping[str, float]:
        """The share of the tokens in each category, 0 to 1."""
        tokens = {name: entry["tokens"] for name, entry in self.stats["categories"].items()}
        whole = max(1, sum(tokens.values()))
        return {name: count / whole for name, count in tokens.items()}

    @cached_property
    def empty(self) -> set[str]:
        """The token columns with the same value everywhere, and the edge columns without an edge."""
        from megacpp_assets.quality.reading.release import empty_columns

        return empty_columns(self.enriched)


@dataclass(frozen=True, slots=True)
class ReleaseComparison:
    """A release, the release that mixtures read now (None if there is none), and the allowed differences."""

    new: ReferenceArtifacts
    earlier: ReferenceArtifacts | None
    limits: PromotionRecipe


def compare(comparison: ReleaseComparison) -> list[CheckResult]:
    """Return the results of `CHECKS`, in their order."""
    return run_checks(CHECKS, comparison)


def _amount(name: str) -> Any:
    """Return a judge that compares the statistic `name` of both releases."""

    def judge(comparison: ReleaseComparison) -> Verdict:
        new = comparison.new.stats[name]
        if comparison.earlier is None:
            return Verdict(new > 0, f"{new:,}; {_FIRST}")
        before, limits = comparison.earlier.stats[name], comparison.limits
        holds = new > 0 and limits.least_share * before <= new <= limits.most_share * before
        return Verdict(holds, f"{new:,}, {before:,} before: {new / max(1, before):.3f} times as many")

    return judge


def _columns(comparison: ReleaseComparison) -> Verdict:
    if comparison.earlier is None:
        return Verdict(True, _FIRST)
    lost = sorted(comparison.new.empty - comparison.earlier.empty)
    return Verdict(not lost, ", ".join(lost) or "no column lost its values")


def _categories(comparison: ReleaseComparison) -> Verdict:
    if comparison.earlier is None:
        return Verdict(True, _FIRST)
    new, before = comparison.new.shares, comparison.earlier.shares
    moved = {name: new.get(name, 0.0) - before.get(name, 0.0) for name in sorted(new.keys() | before.keys())}
    # Each token that moves leaves one category and enters another, so the sum counts it twice.
    shift = sum(map(abs, moved.values())) / 2
    most = max(moved, key=lambda name: abs(moved[name]))
    return Verdict(
        shift <= comparison.limits.category_shift, f"{shift:.3f} of the tokens; {most} by {moved[most]:+.3f}"
    )


def _bytes_per_token(comparison: ReleaseComparison) -> Verdict:
    new = comparison.new.bytes_per_token
    if comparison.earlier is None:
        return Verdict(True, f"{new:.3f}; {_FIRST}")
    before = comparison.earlier.bytes_per_token
    shift = abs(new - before) / before if before else 1.0
    return Verdict(shift <= comparison.limits.bytes_per_token_shift, f"{new:.3f}, {before:.3f} before")


def _failed_units(comparison: ReleaseComparison) -> Verdict:
    from megacpp_assets.quality.reading.release import failed_files

    failed = failed_files(comparison.new.semantic)
    listed = comparison.limits.failed_units
    unlisted = [path for path in failed if f"{comparison.new.name}:{path}" not in listed]
    named = ", ".join(f"{path} ({failed[path]})" for path in unlisted[:_SHOWN])
    return Verdict(not unlisted, f"{len(failed)} failed, {len(unlisted)} of them not listed {named}".strip())


CHECKS: Final = (
    Check(
        "documents_hold", "documents within promotion.least_share and most_share of those before", _amount("documents")
    ),
    Check("tokens_hold", "tokens within promotion.least_share and most_share of those before", _amount("tokens")),
    Check("bytes_hold", "bytes within promotion.least_share and most_share of those before", _amount("text_bytes")),
    Check("columns_hold", "no column that had values before and has none now", _columns),
    Check("categories_hold", "at most promotion.category_shift of the tokens in other categories", _categories),
    Check(
        "bytes_per_token_hold",
        "bytes per token that differ by at most the share promotion.bytes_per_token_shift",
        _bytes_per_token,
    ),
    Check("failed_units_listed", "every file that failed listed in promotion.failed_units", _failed_units),
)
