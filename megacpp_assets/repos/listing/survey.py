"""Examines each entry of a repository's trees once: it enforces the limits and keeps what listing the files needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.repos.git import RecordTooLong
from megacpp_assets.repos.licensing.licences import is_licence_file
from megacpp_assets.repos.limits import Tally
from megacpp_assets.repos.listing.selection import LanguageCount
from megacpp_assets.repos.submodules import MODULES_FILE, Submodule
from megacpp_assets.repos.tree import GITLINK, TreeEntry, tree_entries

LICENCE_FILES = 8
"""The number of licence files at the root that are read, in path order."""
_MODULES_BYTES = 1 << 20


@dataclass(slots=True)
class TreeSurvey:
    """What must be known of the whole repository before its files can be listed one by one."""

    languages: LanguageCount = field(default_factory=LanguageCount)
    licences: list[TreeEntry] = field(default_factory=list)
    submodules: list[Submodule] = field(default_factory=list)


class Surveyor:
    """Examines the tree of a repository, then the trees of its submodules."""

    def __init__(self, git_dir: Path, tally: Tally, *, links_wanted: bool) -> None:
        self.survey = TreeSurvey()
        self.links: dict[str, str] = {}
        """Path -> commit of the root tree's submodules, if submodules are wanted."""
        self.modules = ""
        """The blob of `.gitmodules`, if it exists and submodules are wanted."""
        self._git_dir = git_dir
        self._tally = tally
        self._links_wanted = links_wanted

    def look_at(self, commit: str) -> None:
        """Examine the repository's own tree. Raises `OverLimit`."""
        modules: TreeEntry | None = None
        for entry in self._entries(commit, ""):
            if is_licence_file(entry.mode, entry.path) and len(self.survey.licences) < LICENCE_FILES:
                self.survey.licences.append(entry)
            if self._links_wanted and entry.mode == GITLINK:
                self.links[entry.path] = entry.object_id
                self._tally.hold("submodules", len(self.links), "more")
            elif entry.path == MODULES_FILE:
                modules = entry
        if modules is not None and self.links:
            self.modules = _of_reasonable_size(modules).object_id

    def look_at_submodule(self, module: Submodule) -> None:
        """Examine the tree of a fetched submodule. Its own submodules are not fetched. Raises `OverLimit`."""
        for _ in self._entries(module.commit, f"{module.path}/"):
            pass
        self.survey.submodules.append(module)

    def _entries(self, commit: str, prefix: str) -> Iterator[TreeEntry]:
        entries = tree_entries(commit, prefix, self._git_dir, self._tally.limits.path_bytes)
        try:
            for entry in self._tally.counted(entries):
                self.survey.languages.add(entry.path)
                yield entry
        except RecordTooLong as error:
            raise self._tally.over("path_bytes", "a longer path") from error


def _of_reasonable_size(modules: TreeEntry) -> TreeEntry:
    if modules.bytes > _MODULES_BYTES:
        raise SpecError(
            MODULES_FILE,
            expected=f"at most {_MODULES_BYTES} bytes",
            found=f"{modules.bytes} bytes",
            do="add the repository without --submodules",
        )
    return modules
