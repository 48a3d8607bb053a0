"""Invariants of `commit_documents`: texts equal the blobs, differences give both file versions back, counts add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.step import CheckResult
from megacpp_assets.quality.reading.upstream import input_of
from megacpp_assets.quality.shared.table import Check, Verdict, run_checks
from megacpp_assets.storage.artifact import Artifact

if TYPE_CHECKING:
    from megacpp_assets.contract.sources.commit import Change
    from megacpp_assets.versions.files import FileVersions

Record = Mapping[str, Any]


Rule = Callable[["VersionScan", str, Record], bool]
"""Whether a record of a version keeps to it."""


@dataclass(slots=True)
class VersionScan:
    """The findings of one pass over the records.

    `documents` and `ids` count by dataset version. `broken` maps a rule to the ids of the records that break it.
    `sides` maps a file's name to the splits that have documents of it.
    """

    stats: Mapping[str, Any]
    changes: Mapping[tuple[str, str], Change]
    files: FileVersions
    rules: Mapping[str, Rule]
    documents: Counter[str] = field(default_factory=Counter)
    ids: Counter[tuple[str, str]] = field(default_factory=Counter)
    broken: dict[str, list[str]] = field(default_factory=dict)
    sides: dict[str, set[str]] = field(default_factory=dict)

    def read(self, version: str, record: Record) -> None:
        """Apply all rules to one record and count it."""
        self.documents[version] += 1
        self.ids[version, record[c.DOC_ID]] += 1
        for name, rule in self.rules.items():
            if not rule(self, version, record):
                self.broken.setdefault(name, []).append(record[c.DOC_ID])
        change = self.changes.get((record[c.COMMIT], record[c.FILEPATH]))
        for name in change.names if change else ():
            self.sides.setdefault(name, set()).add(record[c.SPLIT])


def check(artifact: Artifact) -> list[CheckResult]:
    """Return the results of all checks, in the order of `CHECKS`.

    Raises `LineageGap` if an upstream artifact is missing.
    """
    return run_checks(CHECKS, scan_of(artifact, _RULES))


def scan_of(artifact: Artifact, rules: Mapping[str, Rule]) -> VersionScan:
    """Apply `rules` to every record of documents of commits.

    Raises `LineageGap` if an upstream artifact is missing.
    """
    from megacpp_assets.contract.sources.commit import COMMITS_LIST, load_commit
    from megacpp_assets.storage.budgets import budgets_of
    from megacpp_assets.storage.git_objects import blob_reader
    from megacpp_assets.storage.jsonl import json_lines, read_records
    from megacpp_assets.versions.files import FileVersions

    commits = input_of(artifact, "commits")
    listed = map(load_commit, json_lines(commits.file(COMMITS_LIST), commits.path))
    changes = {(commit.commit, change.path): change for commit in listed for change in commit.changes}
    with blob_reader(commits) as blobs:
        files = FileVersions(blobs, int(artifact.manifest.config["history"]["file_bytes"]))
        scan = VersionScan(artifact.manifest.stats, changes, files, rules)
        for version in budgets_of(artifact):
            for record in read_records(artifact, version):
                scan.read(str(version), record)
    return scan


def is_of_a_listed_change(scan: VersionScan, version: str, record: Record) -> bool:
    """Return whether a listed commit changed the file of the record."""
    return (record[c.COMMIT], record[c.FILEPATH]) in scan.changes


def stretches_are_blobs(scan: VersionScan, version: str, record: Record) -> bool:
    """Return whether each stretch of a file is the bytes of its blob."""
    text = record[c.TEXT]
    return bool(record[c.CONSTITUENTS]) and all(
        scan.files.get(part["blob"]).data[part["byte_start"] : part["byte_end"]]
        == text[part["char_start"] : part["char_end"]].encode()
        for part in record[c.CONSTITUENTS]
    )


def _sides_come_back(scan: VersionScan, version: str, record: Record) -> bool:
    """Return whether a v3 record turns the version before into the version after, and back.

    A v2 record has whole files, which `_stretches_are_blobs` compares; here only its change must be listed.
    """
    from megacpp_assets.versions.text.unrender import other_side, unrender

    change = scan.changes.get((record[c.COMMIT], record[c.FILEPATH]))
    if not version.startswith("v3") or change is None:
        return change is not None
    hunks = unrender(record)
    pre, post = (scan.files.get(blob).data for blob in change.sides)
    return other_side(hunks, pre, forward=True) == post and other_side(hunks, post, forward=False) == pre


def changes_cover_text(scan: VersionScan, version: str, record: Record) -> bool:
    """Return whether each character has a change run and a role."""
    lengths = sum(run[0] for run in record[c.CHANGES]), len(record[c.ROLES])
    return lengths == (len(record[c.TEXT]),) * 2


_RULES: Final[Mapping[str, Rule]] = {
    "listed_change": is_of_a_listed_change,
    "stretches": stretches_are_blobs,
    "sides": _sides_come_back,
    "lengths": changes_cover_text,
}


def rule_verdict(name: str) -> Callable[[VersionScan], Verdict]:
    """Return the judge of a check: no record breaks the rule `name`."""

    def judge(scan: VersionScan) -> Verdict:
        broken = scan.broken.get(name, [])
        found = f"{len(broken)} of {scan.documents.total()} records break the rule, first {broken[:1]}"
        return Verdict(not broken, found if broken else f"all {scan.documents.total()} records")

    return judge


def documents_recorded(scan: VersionScan) -> Verdict:
    """Return whether each set has as many documents as the statistics say."""
    recorded = {version: stats["documents"] for version, stats in scan.stats["budgets"].items()}
    found = dict.fromkeys(recorded, 0) | dict(scan.documents)
    return Verdict(recorded == found, f"{found}, {recorded} in the statistics")


def none_empty(scan: VersionScan) -> Verdict:
    """Return whether each set has documents. Those without are named, with what left their documents out."""
    from megacpp_assets.versions.spools import rules_and_keys

    empty = [
        f"none of {name}, left out: {rules_and_keys(stats['left_out']) or 'nothing'}"
        for name, stats in scan.stats["budgets"].items()
        if not scan.documents[name]
    ]
    return Verdict(not empty, "; ".join(empty) or f"{dict(scan.documents)}")


def unique_ids(scan: VersionScan) -> Verdict:
    """Return whether no document id is repeated in a set."""
    repeated = sum(count - 1 for count in scan.ids.values())
    return Verdict(not repeated, f"{repeated} repeated")


def one_side(scan: VersionScan) -> Verdict:
    """Return whether the documents of each file are all on one side of the hold-out."""
    mixed = sorted(name for name, sides in scan.sides.items() if len(sides) > 1)
    return Verdict(not mixed, f"{len(mixed)} files in both splits, first {mixed[:1]}")


CHECKS: Final = (
    Check("documents_are_counted", "as many documents of each version as the statistics say", documents_recorded),
    # Only a warning: mixtures take the documents of other repositories.
    Check("has_documents", "at least one document of each version", none_empty, blocking=False, recipe="[history]"),
    Check("document_ids_unique", "no document id twice in a version", unique_ids),
    Check(
        "documents_are_of_listed_changes", "a listed commit and a file that it changed", rule_verdict("listed_change")
    ),
    Check("stretches_are_blobs", "each stretch of a file is the bytes of its blob", rule_verdict("stretches")),
    Check("sides_come_back", "a v3 document turns each version of its file into the other", rule_verdict("sides")),
    Check("changes_cover_text", "a change run and a role for every character", rule_verdict("lengths")),
    Check("one_side_of_the_hold_out", "all documents of a file's history train, or all validate", one_side),
)
