"""What is decided about each file of a commit, and the counts that the manifest has of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from megacpp_assets.contract.recipe.curation import DROP as DROP_FILES
from megacpp_assets.contract.recipe.curation import DROP_EXACT, MASK, REPLACE, REPORT, CurationRecipe
from megacpp_assets.contract.sources import file_policy
from megacpp_assets.contract.sources.curated import DROP, KEEP
from megacpp_assets.curation.benchmarks import Benchmarks
from megacpp_assets.curation.copies import CopiedFile, clusters, stays
from megacpp_assets.curation.copies_list import SharedCopy
from megacpp_assets.curation.licensing.licences import Licences
from megacpp_assets.curation.licensing.policy import LicencePolicy
from megacpp_assets.curation.survey import Survey, Surveyed

Row = dict[str, Any]
BELOW, NOT_BELOW = "below the least score", "not below the least score"


class _Reason(NamedTuple):
    """Why a file is dropped, a word of the file policy, and what that rests on; both are "" where it is kept."""

    word: str = ""
    detail: str = ""


def decisions(
    survey: Survey, near: Sequence[tuple[str, str]], shared: Sequence[SharedCopy], recipe: CurationRecipe
) -> list[Row]:
    """Return a row of `DECISIONS` for each file, in path order; `near` are pairs of nearly equal contents.

    `shared` are the lines about this repository of lists of copies across repositories.
    """
    elsewhere = {(copy.path, copy.blob): copy for copy in shared}
    policy = LicencePolicy(recipe.licenses_allowed, recipe.licenses_denied)
    reasons = {each.file.path: _own_reason(each, survey.licences, policy, recipe) for each in survey.files}
    copied = [CopiedFile(each.file.path, each.file.blob) for each in survey.files]
    named = clusters(copied, near)
    reasons |= _shared_dropped([file for file in copied if not reasons[file.path].word], elsewhere, recipe)
    reasons |= _copies_dropped([file for file in copied if not reasons[file.path].word], named, recipe)
    return [
        {
            **_row(each, survey.licences, reasons[each.file.path]),
            "cluster": named.get(each.file.path, ""),
            "shared_cluster": copy.cluster if (copy := elsewhere.get((each.file.path, each.file.blob))) else "",
        }
        for each in survey.files
    ]


def find_rows(survey: Survey, recipe: CurationRecipe) -> list[Row]:
    """Return a row of `FINDS` for each secret and personal datum, by path and position."""
    return [
        {
            "filepath": each.file.path,
            "blob": each.file.blob,
            "rule": find.rule,
            "line": find.line,
            "byte_start": find.start,
            "byte_end": find.end,
            "sha256": find.sha256,
            "replaced": recipe.secrets == REPLACE,
        }
        for each in survey.files
        for find in each.finds
    ]


def answer_rows(survey: Survey, recipe: CurationRecipe) -> list[Row]:
    """Return a row of `ANSWERS` for each place of a benchmark item, by path and position."""
    return [
        {
            "filepath": each.file.path,
            "blob": each.file.blob,
            "item": answer.item,
            "line": line,
            "byte_start": answer.start,
            "byte_end": answer.end,
            "masked": recipe.benchmark_action == MASK,
        }
        for each in survey.files
        for answer, line in each.answers
    ]


def totals(rows: Sequence[Mapping[str, Any]], finds: Sequence[Mapping[str, Any]], licences: Licences) -> dict[str, Any]:
    """Return files and bytes that are kept and dropped, by reason, licence and rule; licence heads, clusters
    and finds.
    """
    dropped = [row for row in rows if row["decision"] == DROP]
    return {
        "files": len(rows),
        "files_kept": len(rows) - len(dropped),
        "files_dropped": len(dropped),
        "bytes_dropped": sum(row["bytes"] for row in dropped),
        "dropped_by_reason": counted(row["reason"] for row in dropped),
        "licenses": counted(row["license"] for row in rows),
        "license_sources": counted(row["license_source"] for row in rows),
        "files_with_head": licences.own_heads,
        "distinct_heads": licences.distinct_heads,
        "files_head_classified": sum(row["license_source"] == "head" for row in rows),
        "invalid_spdx_tags": licences.invalid_tags,
        "files_by_rule": counted(rule for row in rows for rule in row["rules"]),
        "clusters": len({row["cluster"] for row in rows} - {""}),
        "files_in_clusters": sum(row["cluster"] != "" for row in rows),
        "finds": len(finds),
        "finds_replaced": sum(row["replaced"] for row in finds),
        "finds_by_rule": counted(row["rule"] for row in finds),
    }


def score_totals(rows: Sequence[Mapping[str, Any]], least: float) -> dict[str, Any]:
    """Return files that the recipe's scorer judged, by whether their score is below `least`."""
    scores = [row["quality_score"] for row in rows if row["quality_score"] is not None]
    return {
        "files_scored": len(scores),
        "files_by_score": counted(BELOW if score < least else NOT_BELOW for score in scores),
    }


def shared_totals(rows: Sequence[Mapping[str, Any]], shared: Sequence[SharedCopy]) -> dict[str, int]:
    """Listed copies, those that the commit has, their clusters, and those that it lacks or has with another text."""
    found = [row for row in rows if row["shared_cluster"]]
    return {
        "shared_copies_listed": len(shared),
        "shared_copies_found": len(found),
        "shared_clusters": len({row["shared_cluster"] for row in found}),
        "shared_copies_outdated": len(shared) - len(found),
    }


def benchmark_totals(
    rows: Sequence[Mapping[str, Any]], answers: Sequence[Mapping[str, Any]], benchmarks: Benchmarks
) -> dict[str, Any]:
    """Items that were looked for and that were too short for it, items found, files that hold one, and their places."""
    return {
        "benchmark_items": len(benchmarks.names),
        "benchmark_items_too_short": benchmarks.short,
        "benchmark_items_found": len({item for row in rows for item in row["benchmarks"]}),
        "files_with_benchmarks": sum(bool(row["benchmarks"]) for row in rows),
        "benchmark_places": len(answers),
        "benchmark_places_masked": sum(row["masked"] for row in answers),
        "files_by_benchmark": counted(item.partition(":")[0] for row in rows for item in row["benchmarks"]),
    }


def counted(words: Iterable[str]) -> dict[str, int]:
    """Return how often each word comes, by word."""
    return dict(sorted(Counter(words).items()))


def _own_reason(each: Surveyed, licences: Licences, policy: LicencePolicy, recipe: CurationRecipe) -> _Reason:
    """Return why a file is dropped whatever other files there are."""
    expression = licences.of(each.file.path).expression
    if not policy.permits(expression):
        return _Reason(file_policy.LICENCE, expression)
    broken = [name for name in each.rules if name in recipe.quality_rules]
    if broken:
        return _Reason(file_policy.QUALITY, ", ".join(broken))
    if recipe.scorer_action == DROP_FILES and each.score is not None and each.score < recipe.least_score:
        return _Reason(file_policy.QUALITY, f"score {each.score:g} below {recipe.least_score:g}")
    drops = recipe.benchmark_action == DROP_FILES and each.benchmarks
    return _Reason(file_policy.BENCHMARK, each.benchmarks[0]) if drops else _Reason()


def _copies_dropped(
    files: Sequence[CopiedFile], named: Mapping[str, str], recipe: CurationRecipe
) -> dict[str, _Reason]:
    """Return path -> reason of the files that are dropped as copies of one that stays, of `files` that nothing
    else drops.
    """
    groups: dict[str, list[CopiedFile]] = defaultdict(list)
    for file in files if recipe.copies != REPORT else ():
        groups[file.blob if recipe.copies == DROP_EXACT else named.get(file.path, file.blob)].append(file)
    return {
        file.path: _Reason(file_policy.COPY, first.path)
        for group in groups.values()
        for first in [stays(group)]
        for file in group
        if file != first
    }


def _shared_dropped(
    files: Iterable[CopiedFile], elsewhere: Mapping[tuple[str, str], SharedCopy], recipe: CurationRecipe
) -> dict[str, _Reason]:
    """Return path -> reason of the files of which the copy of another repository stays."""
    if recipe.shared_copy_action == REPORT:
        return {}
    found = ((file.path, elsewhere.get((file.path, file.blob))) for file in files)
    return {path: _Reason(file_policy.SHARED_COPY, copy.stays) for path, copy in found if copy and copy.stays}


def _row(each: Surveyed, licences: Licences, reason: _Reason) -> Row:
    file, licence = each.file, licences.of(each.file.path)
    return {
        "filepath": file.path,
        "blob": file.blob,
        "bytes": file.bytes,
        "license": licence.expression,
        "license_source": licence.source,
        "license_evidence": licence.evidence,
        "license_detector": licence.detector,
        **each.figures,
        "rules": list(each.rules),
        "quality_score": each.score,
        "benchmarks": list(each.benchmarks),
        "decision": DROP if reason.word else KEEP,
        "reason": reason.word,
        "detail": reason.detail,
    }
