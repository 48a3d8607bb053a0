"""Fetches the history of a pin into a bare repository of its own, and lists its commits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from megacpp_assets.commits.collect import Collected, CommitRules, collect, numbered, with_blobs
from megacpp_assets.commits.log import HISTORY_REF, SINCE_REF, RawCommit, blob_sizes, read_log, shallow_commits
from megacpp_assets.contract.errors import SourcePinMismatch, SpecError
from megacpp_assets.contract.lock.corpus_lock import RepoPin
from megacpp_assets.contract.recipe.documents import SourcesRecipe
from megacpp_assets.contract.recipe.history import HistoryRecipe
from megacpp_assets.repos.fetch import canonicalise, fetch_reference
from megacpp_assets.repos.git import git

_PACKING: Final = ("--window=10", "--depth=50")
"""Versions of one file differ by a few lines. Stored as differences, fmt's history takes a tenth of the space."""
_TOLERATED: Final = (
    "badDateOverflow", "badEmail", "badTimezone", "extraHeaderEntry", "missingEmail", "missingNameBeforeEmail",
    "missingSpaceBeforeDate", "missingSpaceBeforeEmail", "multipleAuthors", "nullSha1", "zeroPaddedDate",
    "zeroPaddedFilemode",
)  # fmt: skip
"""Formal faults of old commits in real projects, which do no harm."""


@dataclass(frozen=True, slots=True)
class HistoryRequest:
    """One pin, its data root and limits, the wanted history, and the folder for its objects."""

    pin: RepoPin
    root: Path
    limits: SourcesRecipe
    recipe: HistoryRecipe
    git_dir: Path


@dataclass(frozen=True, slots=True)
class CollectedHistory:
    """The listed commits, the counts of what was left out, and facts about the repository."""

    collected: Collected
    facts: dict[str, Any]


def fetch_history(request: HistoryRequest) -> CollectedHistory:
    """Fetch and list the history of a pin.

    Raises what `fetch_reference` raises, and `SpecError` with the counts by rule if no change is left.
    """
    _fetch(request)
    git_dir, recipe = request.git_dir, request.recipe
    log = list(read_log(git_dir, recipe))
    shallow = shallow_commits(git_dir)
    prefix = f"{request.pin.name}:"
    denied = frozenset(each.removeprefix(prefix) for each in recipe.denied_commits if each.startswith(prefix))
    found = collect(log, CommitRules(recipe, denied, shallow))
    sizes = blob_sizes(git_dir, found.blobs)
    found = with_blobs(found, sizes, recipe.file_bytes)
    if not found.commits:
        raise _empty(request.pin, found)
    found = replace(found, commits=numbered(found.commits, _renames(log)))
    blobs = found.blobs
    facts: dict[str, Any] = {
        "blobs": len(blobs),
        "blob_bytes": sum(sizes[blob] for blob in blobs),
        "shallow_commits": len(shallow),
    }
    if recipe.since_tag:
        facts["since_commit"] = git("rev-parse", SINCE_REF, git_dir=git_dir).decode().strip()
    return CollectedHistory(found, facts)


def _fetch(request: HistoryRequest) -> None:
    pin, recipe, git_dir = request.pin, request.recipe, request.git_dir
    git("init", "--bare", "--quiet", "--object-format=sha1", str(git_dir))
    for fault in _TOLERATED:
        git("config", f"fetch.fsck.{fault}", "ignore", git_dir=git_dir)
    extent = (f"--depth={recipe.most_commits + 1}",) if recipe.most_commits else ("--update-shallow",)
    fetch = partial(fetch_reference, pin.url, root=request.root, git_dir=git_dir)
    fetch(pin.git_ref, pin.commit, keep=HISTORY_REF, extent=extent)
    if recipe.since_tag:
        try:
            fetch(f"refs/tags/{recipe.since_tag}", "", keep=SINCE_REF)
        except SourcePinMismatch as error:
            raise SpecError(
                f"history.since {recipe.since_tag!r}",
                expected="a tag that every repository of the recipe has, or a date",
                found=f"no such tag of {pin.name} at {pin.url}",
                do="correct history.since of the recipe; a date such as 2024-01-31 fits every repository",
            ) from error
    canonicalise(git_dir, *_PACKING)


def _renames(log: list[RawCommit]) -> list[tuple[str, str]]:
    return [(change.old_path, change.path) for each in log for change in each.changes if change.status == "R"]


def _empty(pin: RepoPin, found: Collected) -> SpecError:
    counts = ", ".join(f"{rule} {count}" for rule, count in sorted(found.commits_left_out.items())) or "no commits"
    return SpecError(
        f"history of {pin.partition.key}",
        expected="at least one commit with a C or C++ change",
        found=f"none of {found.seen} commits: {counts}",
        do="widen [history] in the recipe, or take the dataset versions out of its phases",
    )
