"""The releases of a repository: the tags of its upstream that match the catalogue's pattern, sorted by version."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from packaging.version import InvalidVersion, Version

from megacpp_assets.contract.errors import OverLimit, SpecError
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.repos.catalogue import CatalogueEntry
from megacpp_assets.repos.upstream.references import PEELED, remote_references

MOST_RELEASES: Final = 20_000
"""Each tag is parsed, sorted and kept. LLVM has 400."""
_TAGS = "refs/tags/"


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag and the commit that it names now."""

    name: str
    commit: str

    @property
    def git_ref(self) -> str:
        """The full name of the tag at the source."""
        return f"{_TAGS}{self.name}"


def upstream_tags(entry: CatalogueEntry, root: Path) -> tuple[Tag, ...]:
    """Return the tags of `entry` that match its pattern and can name a partition, by version.

    `OverLimit` for more than `MOST_RELEASES`; raises what `remote_references` raises.
    """
    pattern, commits = re.compile(entry.tags), dict[str, str]()
    for git_ref, commit in remote_references(entry.url, root, "--tags"):
        name = git_ref.removeprefix(_TAGS).removesuffix(PEELED)
        if pattern.fullmatch(name) and _names_a_partition(f"{entry.name}@{name}"):
            commits[name] = commit  # the line with the commit that a tag points to comes last
            if len(commits) > MOST_RELEASES:
                raise OverLimit(
                    f"releases of {entry.name}",
                    expected=f"at most {MOST_RELEASES:,} tags that match {entry.tags}",
                    found="more",
                    do="say what is a release in tags of its catalogue entry, a regular expression",
                )
    return tuple(Tag(name, commits[name]) for name in sorted(commits, key=version_order))


def version_order(tag: str) -> tuple[Version, str]:
    """Return the sort key of a tag: the version after its letters, pre-releases before the release; then the name.

    A tag without a version comes first.
    """
    digits = re.search(r"\d.*", tag)
    try:
        return Version(digits[0].replace("_", ".") if digits else ""), tag
    except InvalidVersion:
        numbers = re.findall(r"\d+", tag)
        return Version(".".join(numbers) or "0.dev0"), tag


def _names_a_partition(key: str) -> bool:
    try:
        RepoRef.parse(key)
    except SpecError:
        return False
    return True
