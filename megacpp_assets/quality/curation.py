"""Invariants of `curated_files`: a row per file, valid licences, a reason per dropped file, finds inside files, and a
place of each benchmark item.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from megacpp_assets.contract.sources.file_policy import COPY, POLICY
from megacpp_assets.contract.step import CheckResult
from megacpp_assets.quality.reading.upstream import input_of
from megacpp_assets.quality.shared.table import Check, Verdict, run_checks
from megacpp_assets.storage.artifact import Artifact

CLASSIFIED_PER_CENT: Final = 95


@dataclass(frozen=True, slots=True)
class _Curated:
    """The rows of the tables, the paths of the files selected by `pinned_repos`, and the manifest's statistics.

    `detector` is the licence detector of the recipe; "" if the recipe names none. `scorer` says whether it names one.
    """

    rows: list[dict[str, Any]]
    finds: list[dict[str, Any]]
    answers: list[dict[str, Any]]
    selected: list[str]
    stats: Mapping[str, Any]
    detector: str
    scorer: bool


def check(artifact: Artifact) -> list[CheckResult]:
    """Return the results of all checks, in the order of `CHECKS`.

    Raises `LineageGap` if the pinned repository is missing.
    """
    from megacpp_assets.contract.sources.curated import ANSWERS_FILE, DECISIONS_FILE, FINDS_FILE
    from megacpp_assets.storage.git_objects import source_files
    from megacpp_assets.storage.parquet import read_table

    names = (DECISIONS_FILE, FINDS_FILE, ANSWERS_FILE)
    rows, finds, answers = (read_table(artifact.file(name)).to_pylist() for name in names)
    selected = [file.path for file in source_files(input_of(artifact, "pinned_repos")) if not file.skipped]
    manifest = artifact.manifest
    detector = str(manifest.config["detector"])
    scorer = bool(manifest.config["scorer"])
    return run_checks(CHECKS, _Curated(rows, finds, answers, selected, manifest.stats, detector, scorer))


def _listed(curated: _Curated) -> Verdict:
    paths = [row["filepath"] for row in curated.rows]
    return Verdict(paths == curated.selected, f"{len(paths)} rows for {len(curated.selected)} files")


def _expressions(curated: _Curated) -> Verdict:
    from megacpp_assets.repos.licensing.licences import UNKNOWN
    from megacpp_assets.repos.licensing.spdx import is_spdx_expression

    names = {row["license"] for row in curated.rows} - {UNKNOWN}
    wrong = sorted(name for name in names if not is_spdx_expression(name))
    return Verdict(not wrong, f"{len(wrong)} invalid: {wrong[:3]}" if wrong else f"{len(names)} expressions")


def _reasoned(curated: _Curated) -> Verdict:
    wrong = [
        row["filepath"]
        for row in curated.rows
        if (row["decision"] == "drop") != (row["reason"] in POLICY and bool(row["detail"]))
    ]
    return Verdict(not wrong, f"{len(wrong)} files break the rule: {wrong[:3]}" if wrong else "all files")


def _counted(curated: _Curated) -> Verdict:
    dropped = Counter(row["reason"] for row in curated.rows if row["decision"] == "drop")
    counts = {
        "files": len(curated.rows),
        "files_dropped": dropped.total(),
        "dropped_by_reason": dict(sorted(dropped.items())),
        "licenses": dict(sorted(Counter(row["license"] for row in curated.rows).items())),
        "finds": len(curated.finds),
        "finds_by_rule": dict(sorted(Counter(row["rule"] for row in curated.finds).items())),
        "benchmark_places": len(curated.answers),
        "benchmark_places_masked": sum(row["masked"] for row in curated.answers),
        "files_by_rule": dict(sorted(Counter(rule for row in curated.rows for rule in row["rules"]).items())),
    }
    scores = [row["quality_score"] for row in curated.rows if row["quality_score"] is not None]
    counts |= {
        "files_scored": len(scores),
        "shared_copies_found": sum(row["shared_cluster"] != "" for row in curated.rows),
        "shared_clusters": len({row["shared_cluster"] for row in curated.rows} - {""}),
    }
    wrong = [name for name, value in counts.items() if curated.stats.get(name) != value]
    return Verdict(not wrong, f"different in the manifest: {', '.join(wrong)}" if wrong else "equal")


def _apart(curated: _Curated) -> Verdict:
    # The table is sorted by file and offset, so comparing each find with the one before it in its file is enough.
    sizes = {row["filepath"]: row["bytes"] for row in curated.rows}
    last: dict[str, int] = {}
    wrong = 0
    for row in curated.finds:
        path, start, end = row["filepath"], row["byte_start"], row["byte_end"]
        wrong += not last.get(path, 0) <= start < end <= sizes.get(path, 0)
        last[path] = end
    return Verdict(
        not wrong, f"{wrong} of {len(curated.finds)} finds break the rule" if wrong else f"{len(curated.finds)} finds"
    )


def _placed(curated: _Curated) -> Verdict:
    sizes = {row["filepath"]: row["bytes"] for row in curated.rows}
    named = {(row["filepath"], item) for row in curated.rows for item in row["benchmarks"]}
    placed = {(row["filepath"], row["item"]) for row in curated.answers}
    outside = sum(not 0 <= row["byte_start"] < row["byte_end"] <= sizes[row["filepath"]] for row in curated.answers)
    wrong = len(named ^ placed) + outside
    return Verdict(not wrong, f"{wrong} break the rule" if wrong else f"{len(named)} items in files")


def _scored(curated: _Curated) -> Verdict:
    scored = sum(row["quality_score"] is not None for row in curated.rows)
    by_score = sum(dict(curated.stats["files_by_score"]).values())
    if not curated.scorer:
        return Verdict(scored == 0, "the recipe names no scorer")
    return Verdict(0 < scored == by_score, f"{scored} files have a score, {by_score} are counted")


def _one_stays(curated: _Curated) -> Verdict:
    kept = {row["filepath"] for row in curated.rows if row["decision"] == "keep"}
    copies = [row for row in curated.rows if row["reason"] == COPY]
    lost = [row["filepath"] for row in copies if row["detail"] not in kept]
    return Verdict(
        not lost,
        f"{len(lost)} dropped copies without a kept file: {lost[:3]}" if lost else f"{len(copies)} copies dropped",
    )


def _kept(curated: _Curated) -> Verdict:
    kept = sum(row["decision"] == "keep" for row in curated.rows)
    dropped = Counter(row["reason"] for row in curated.rows if row["decision"] != "keep")
    reasons = ", ".join(f"{reason} {count}" for reason, count in dropped.most_common())
    because = f"; dropped because of: {reasons}" if reasons and not kept else ""
    return Verdict(kept > 0, f"{kept} of {len(curated.rows)}{because}")


def _classified(curated: _Curated) -> Verdict:
    files, done = (int(curated.stats[name]) for name in ("files_with_head", "files_head_classified"))
    if not curated.detector:
        return Verdict(True, f"{files} licence heads are not classified: the recipe names no detector")
    return Verdict(done * 100 >= CLASSIFIED_PER_CENT * files, f"{done} of {files} by {curated.detector}")


CHECKS: Final = (
    Check("every_file_has_a_row", "a row for each C or C++ file of the commit, in path order", _listed),
    Check("licences_are_expressions", "a valid SPDX expression or NOASSERTION for each file", _expressions),
    Check(
        "dropped_files_have_a_reason", "a known reason and a detail for each dropped file, and for no other", _reasoned
    ),
    Check("counts_agree", "the manifest's counts equal to the table's", _counted),
    Check("finds_are_apart", "each find inside its file, ascending, not overlapping", _apart),
    Check("answers_have_places", "places inside its file for each benchmark item of a file", _placed),
    Check(
        "scores_are_counted", "a count for each file with a score, and scores where the recipe names a scorer", _scored
    ),
    Check("a_copy_stays", "a kept file for each dropped copy", _one_stays),
    Check("files_are_kept", "at least one file", _kept, recipe="[curation]"),
    Check(
        "licence_heads_are_classified",
        f"an expression for {CLASSIFIED_PER_CENT} % of the licence heads, where the recipe names a detector",
        _classified,
        False,
    ),
)
