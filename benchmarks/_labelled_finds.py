"""Finds in real libraries that a person read and labelled: `labelled_finds.csv`.

A record is a library with its commit, the path of a file, the rule, the sha256 of the line without white space around
it, and whether the find is one. No line is stored, because a line may have the address of a person.
"""

from __future__ import annotations

import csv
import hashlib
import os
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from megacpp_assets.curation.secrets import finds_of
from megacpp_assets.storage.git_objects import git_environment

RECORDS = Path(__file__).with_name("labelled_finds.csv")

SETS = ("first", "later", "last")


class Label(NamedTuple):
    """`library` is OWNER/NAME@COMMIT, `right` is "yes" or "no", `set` one of `SETS`.

    The rules were corrected by what each set showed, before the libraries of the next one were read.
    """

    library: str
    path: str
    rule: str
    line_sha256: str
    right: str
    set: str


class Counted(NamedTuple):
    """Labels of one rule: `found` are those that the rules find now, and `lost` the right ones that they do not."""

    right: int
    wrong: int
    found_right: int
    found_wrong: int

    @property
    def precision(self) -> float:
        """Share of the finds that are right."""
        return self.found_right / max(1, self.found_right + self.found_wrong)


def labels() -> list[Label]:
    """Return every record, in the order of the file."""
    with RECORDS.open(newline="", encoding="ascii") as file:
        return [Label(*row) for row in list(csv.reader(file))[1:]]


def judged(records: list[Label]) -> tuple[dict[str, Counted], int]:
    """Return the counts by rule, and the number of records whose library is not in `MEGACPP_GIT_MIRROR`."""
    by_library: dict[str, list[Label]] = defaultdict(list)
    for record in records:
        by_library[record.library].append(record)
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    unread = 0
    for library, members in by_library.items():
        git_dir = mirror_of(library)
        if git_dir is None:
            unread += len(members)
            continue
        found = set(_found(git_dir, library, sorted({member.path for member in members})))
        for member in members:
            is_found = (member.path, member.rule, member.line_sha256) in found
            is_wrong = member.right != "yes"
            counts[member.rule][is_wrong] += 1
            counts[member.rule][2 + is_wrong] += is_found
    return {rule: Counted(*count) for rule, count in sorted(counts.items())}, unread


def mirror_of(library: str) -> str | None:
    """Return the git directory of OWNER/NAME@COMMIT; None where it is not there."""
    owner, name = library.partition("@")[0].split("/")
    path = os.environ.get("MEGACPP_GIT_MIRROR", "").format(owner=owner, name=name)
    return path if path and Path(path).is_dir() else None


def finds_in(git_dir: str, library: str, path: str) -> Iterator[tuple[str, str, str]]:
    """Yield (rule, sha256 of its line, sha256 of the find) of each find in a file of a library."""
    command = ["git", "--git-dir", git_dir, "cat-file", "blob", f"{library.rpartition('@')[2]}:{path}"]
    data = subprocess.run(command, capture_output=True, check=True, env=git_environment()).stdout
    lines = data.split(b"\n")
    for find in finds_of(data):
        yield find.rule, hashlib.sha256(lines[find.line - 1].strip()).hexdigest(), find.sha256


def _found(git_dir: str, library: str, paths: list[str]) -> Iterator[tuple[str, str, str]]:
    for path in paths:
        yield from ((path, rule, line) for rule, line, _ in finds_in(git_dir, library, path))
