"""Selects the listed commits from the log of a repository. Rules leave commits and changes out; each is counted by
rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from megacpp_assets.commits.log import NO_OBJECT, RawChange, RawCommit
from megacpp_assets.commits.messages import clean_message
from megacpp_assets.commits.rules import (
    DENIED,
    MASS_CHANGE,
    MERGE,
    NO_CODE,
    PARENT_MISSING,
    rule_of_path,
    rule_of_subject,
)
from megacpp_assets.contract.recipe.history import HistoryRecipe
from megacpp_assets.contract.sources.commit import NO_BLOB, Change, Commit
from megacpp_assets.repos.listing.selection import LanguageCount, source_file
from megacpp_assets.repos.tree import TreeEntry

NO_MODE = "000000"
MISSING_BLOB = "missing blob"
TOO_LARGE = "over the size limit"
SAME_CONTENT = "no content changed"


@dataclass(slots=True)
class Collected:
    """The listed commits, newest first, and counts of what was left out, by rule, of commits and of changes."""

    commits: list[Commit] = field(default_factory=list)
    seen: int = 0
    commits_left_out: Counter[str] = field(default_factory=Counter)
    changes_left_out: Counter[str] = field(default_factory=Counter)
    messages_changed: Counter[str] = field(default_factory=Counter)
    """What was removed from messages, or replaced there, by rule."""

    @property
    def blobs(self) -> list[str]:
        """Return every blob that a listed change names, once, in the order of the commits."""
        sides = (
            blob for each in self.commits for change in each.changes for blob in (change.blob_pre, change.blob_post)
        )
        return [blob for blob in dict.fromkeys(sides) if blob]


@dataclass(frozen=True, slots=True)
class CommitRules:
    """The recipe, its denied commits of this repository, and the commits whose parents were not fetched."""

    recipe: HistoryRecipe
    denied: Collection[str] = ()
    shallow: Collection[str] = ()

    def of_commit(self, raw: RawCommit, subject: str) -> str:
        """Return the name of the rule that leaves out the whole commit; "" if none does."""
        if raw.commit in self.denied:
            return DENIED
        if len(raw.parents) > 1:
            return MERGE
        if raw.commit in self.shallow:
            return PARENT_MISSING
        return rule_of_subject(subject)


def collect(log: Iterable[RawCommit], rules: CommitRules) -> Collected:
    """Return the commits of `log` that no rule leaves out, with their C and C++ changes. Blobs are not examined yet."""
    raw = list(log)
    found = Collected(seen=len(raw))
    languages = LanguageCount()
    for path in {change.path for each in raw for change in each.changes}:
        languages.add(path)
    for each in raw:
        message = clean_message(each.message)
        rule = rules.of_commit(each, message.subject)
        if not rule:
            changes = list(_changes(each.changes, languages.of_headers, rules.recipe.paths, found.changes_left_out))
            rule = NO_CODE if not changes else MASS_CHANGE if len(changes) > rules.recipe.most_files else ""
        if rule:
            found.commits_left_out[rule] += 1
            continue
        times = (each.author_time, each.commit_time)
        found.messages_changed.update(message.changed)
        found.commits.append(Commit(each.commit, each.parents, *times, message.subject, message.body, tuple(changes)))
    return found


def _changes(
    raw: Sequence[RawChange], header_language: str, paths: Sequence[str], left_out: Counter[str]
) -> Iterator[Change]:
    for change in raw:
        pre, rule_pre = _side(change.mode_pre, change.blob_pre, change.old_path, header_language)
        post, rule_post = _side(change.mode_post, change.blob_post, change.path, header_language)
        rule = rule_of_path(change.path, paths) if pre or post else rule_post or rule_pre
        if not rule and pre == post:
            rule = SAME_CONTENT
        if rule:
            left_out[rule] += 1
            continue
        status = "A" if not pre else "D" if not post else "R" if change.path != change.old_path else "M"
        old_path = change.old_path if status in "RD" else change.path
        path = change.path if post else old_path
        language = source_file(TreeEntry(change.mode_post, post, 1, path), header_language, "").language
        yield Change(status, path, old_path, pre, post, language, (), 0)


def _side(mode: str, blob: str, path: str, header_language: str) -> tuple[str, str]:
    """Return the blob of one side if it is a C or C++ file, else "" and the reason."""
    if mode == NO_MODE or blob == NO_OBJECT:
        return NO_BLOB, ""
    reason = source_file(TreeEntry(mode, blob, 1, path), header_language, "").skipped
    return (NO_BLOB, reason) if reason else (blob, "")


def with_blobs(found: Collected, sizes: dict[str, int], most_bytes: int) -> Collected:
    """Return `found` without changes of which a side is missing or above `most_bytes`."""

    def rule_of(change: Change) -> str:
        sides = [sizes.get(blob) for blob in change.sides if blob]
        if None in sides:
            return MISSING_BLOB
        return TOO_LARGE if any(size > most_bytes for size in sides if size is not None) else ""

    kept: list[Commit] = []
    commits_left_out, changes_left_out = found.commits_left_out.copy(), found.changes_left_out.copy()
    for commit in found.commits:
        verdicts = [rule_of(change) for change in commit.changes]
        changes_left_out.update(filter(None, verdicts))
        changes = tuple(change for change, rule in zip(commit.changes, verdicts, strict=True) if not rule)
        if changes:
            kept.append(replace(commit, changes=changes))
        else:
            commits_left_out[NO_CODE] += 1
    return Collected(kept, found.seen, commits_left_out, changes_left_out, found.messages_changed)


def numbered(commits: Sequence[Commit], renames: Iterable[tuple[str, str]]) -> list[Commit]:
    """Add to `commits` (newest first) the names of each file and the position of each change in the file's history.

    `renames` are pairs of paths that a commit renamed. Both are names of one file.
    """
    names = _name_groups(renames)
    places: Counter[str] = Counter()
    numbered_commits = []
    for commit in reversed(commits):
        changes = []
        for change in commit.changes:
            group = names.get(change.path, (change.path,))
            changes.append(replace(change, names=group, file_index=places[group[0]]))
            places[group[0]] += 1
        numbered_commits.append(replace(commit, changes=tuple(changes)))
    return numbered_commits[::-1]


def _name_groups(renames: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Return path -> all paths that renames connect with it, itself included, sorted."""
    parent: dict[str, str] = {}

    def root(path: str) -> str:
        while parent.setdefault(path, path) != path:
            path = parent[path] = parent[parent[path]]
        return path

    for old, new in renames:
        parent[root(old)] = root(new)
    groups: dict[str, list[str]] = {}
    for path in sorted(parent):
        groups.setdefault(root(path), []).append(path)
    return {path: tuple(group) for group in groups.values() for path in group}
