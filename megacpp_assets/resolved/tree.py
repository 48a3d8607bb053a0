"""A scratch folder with the tree of one commit after another: the files that a compiler or a plan may read."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from megacpp_assets.commits.log import NO_OBJECT
from megacpp_assets.contract.sources import file_policy
from megacpp_assets.contract.sources.languages import IF_INCLUDED, suffix_of
from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.repos.listing.selection import LanguageCount, source_file
from megacpp_assets.repos.tree import TreeEntry
from megacpp_assets.semantic.tree.build_files import describes_build
from megacpp_assets.semantic.tree.folder import is_plain
from megacpp_assets.storage.git_objects import BlobReader
from megacpp_assets.windows.trees import TreeChange

_REGULAR: Final = "100"
_FILE: Final = "100644"


def compiled_change(mode: str, blob: str, path: str) -> list[TreeChange]:
    """Return the change of a file that a compiler or a plan may read, also of vendored files. Links are left out."""
    wanted = is_plain(path) and (
        bool(source_file(TreeEntry(_FILE, blob, 1, path), "c++", "").language)
        or describes_build(path)
        or suffix_of(path) in IF_INCLUDED
    )
    if not wanted:
        return []
    return [TreeChange(path, blob if blob != NO_OBJECT and mode.startswith(_REGULAR) else "")]


@dataclass(slots=True)
class ScratchTree:
    """The files below `folder`: path -> blob and size. `left_out` are the paths that could not be written."""

    folder: Path
    files: dict[str, tuple[str, int]] = field(default_factory=dict)
    left_out: set[str] = field(default_factory=set)
    _bytes: int = 0

    def apply(self, changes: Iterable[TreeChange], blobs: BlobReader) -> bool:
        """Apply changes; return whether files were added or removed. Raises `LineageGap` for a missing blob."""
        listed = list(changes)
        before = self.files.keys() | set()
        for path, _ in listed:
            self._remove(path)
        for path, blob in listed:
            if blob:
                self._write(path, blob, blobs.read(blob))
        return self.files.keys() != before

    def _remove(self, path: str) -> None:
        self.left_out.discard(path)
        known = self.files.pop(path, None)
        if known is None:
            return
        self._bytes -= known[1]
        (self.folder / path).unlink()
        for parent in list(Path(path).parents)[:-1]:
            try:
                (self.folder / parent).rmdir()
            except OSError:  # the folder has other files
                return

    def _write(self, path: str, blob: str, data: bytes) -> None:
        target = self.folder / path
        # On a file system that ignores case two paths may be one file.
        with suppress(FileExistsError, NotADirectoryError, IsADirectoryError):
            if self._bytes + len(data) <= file_policy.TREE_BYTES:
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("xb") as file:
                    file.write(data)
                self.files[path] = blob, len(data)
                self._bytes += len(data)
                return
        self.left_out.add(path)

    def sources(self) -> list[SourceFile]:
        """Return the files in path order, for the plan of a parse."""
        languages = LanguageCount()
        for path in self.files:
            languages.add(path)
        return [
            source_file(TreeEntry(_FILE, blob, size, path), languages.of_headers, "")
            for path, (blob, size) in sorted(self.files.items(), key=lambda entry: entry[0].encode())
        ]
