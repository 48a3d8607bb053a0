"""Invariants of `commits`: objects belong to the pinned history, and each seen commit is listed or left out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from megacpp_assets.contract.step import CheckResult
from megacpp_assets.quality.shared.table import Check, Verdict, fail_all, run_checks
from megacpp_assets.storage.artifact import Artifact

_ADDRESS: Final = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+|(?m:^\s*[a-z]+(?:-[a-z]+)*-by:)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _History:
    """The artifact's commits as its checks read them.

    `foreign` has listed commits that are no ancestors of the pinned one; `missing` has blobs of listed changes that git
    lacks; `unknown` has denied commits that are not in the history that was read.
    """

    stats: dict[str, Any]
    pinned: str
    found: str
    commits: Sequence[Any]
    foreign: list[str]
    missing: list[str]
    unknown: list[str]


def check(artifact: Artifact) -> list[CheckResult]:
    """Return the results of all checks, in the order of `CHECKS`."""
    from megacpp_assets.repos.git import GitFailed

    try:
        return run_checks(CHECKS, _read(artifact))
    except GitFailed as error:
        return fail_all(CHECKS, f"no readable repository: {error}")


def _read(artifact: Artifact) -> _History:
    from megacpp_assets.commits.log import HISTORY_REF, blob_sizes
    from megacpp_assets.contract.sources.commit import COMMITS_LIST, load_commit
    from megacpp_assets.contract.sources.source_file import OBJECTS
    from megacpp_assets.repos.git import git
    from megacpp_assets.storage.jsonl import json_lines

    git_dir = artifact.directory / OBJECTS
    commits = [load_commit(line) for line in json_lines(artifact.file(COMMITS_LIST), artifact.path)]
    denied = artifact.manifest.config["history"].get("denied_commits", [])
    known = set(git("rev-list", HISTORY_REF, git_dir=git_dir).decode().split())
    blobs = {blob for commit in commits for change in commit.changes for blob in change.sides if blob}
    return _History(
        stats=dict(artifact.manifest.stats),
        pinned=str(artifact.manifest.config["commit"]),
        found=git("rev-parse", "--verify", f"{HISTORY_REF}^{{commit}}", git_dir=git_dir).decode().strip(),
        commits=commits,
        foreign=[commit.commit for commit in commits if commit.commit not in known],
        unknown=[entry for entry in denied if entry.partition(":")[2] not in known],
        missing=sorted(blobs - blob_sizes(git_dir, sorted(blobs)).keys()),
    )


def _pinned(history: _History) -> Verdict:
    return Verdict(history.found == history.pinned, f"{history.found}, pinned is {history.pinned}")


def _of_history(history: _History) -> Verdict:
    return Verdict(not history.foreign, f"{len(history.foreign)} other commits, first {history.foreign[:1]}")


def _whole(history: _History) -> Verdict:
    return Verdict(not history.missing, f"{len(history.missing)} missing: {history.missing[:3]}")


def _counted(history: _History) -> Verdict:
    left_out = sum(history.stats["commits_left_out"].values())
    listed, seen = len(history.commits), history.stats["commits_seen"]
    return Verdict(listed > 0 and listed + left_out == seen, f"{listed} listed and {left_out} left out of {seen}")


def _denied_known(history: _History) -> Verdict:
    return Verdict(not history.unknown, f"{len(history.unknown)} that are not: {', '.join(history.unknown)}")


def _no_persons(history: _History) -> Verdict:
    named = [commit.commit for commit in history.commits if _ADDRESS.search(f"{commit.subject}\n{commit.body}")]
    return Verdict(not named, f"{len(named)} messages with an address, first {named[:1]}")


CHECKS: Final = (
    Check("commit_is_the_pinned_one", "the commit that corpus.lock pinned", _pinned),
    Check("commits_are_of_the_history", "only ancestors of the pinned commit, and itself", _of_history),
    Check("objects_are_whole", "both blobs of every listed change", _whole),
    Check(
        "every_commit_is_counted",
        "commits seen = listed + left out by rule, at least one listed",
        _counted,
        recipe="[history]",
    ),
    # Only a warning: with fewer commits than the whole history, a denied one may be older.
    Check(
        "denied_commits_are_known",
        "each entry of history.denied_commits in the history that was read",
        _denied_known,
        blocking=False,
        recipe="history.denied_commits",
    ),
    Check("messages_name_no_address", "no mail address and no trailer of a person in a message", _no_persons),
)
