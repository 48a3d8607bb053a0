"""Reads published artifacts. Nothing is opened without a verified `_COMPLETE`, and no directory is listed."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from megacpp_assets.contract.canonical import sha256_bytes, sha256_file
from megacpp_assets.contract.columns import COMPLETE_FILE, MANIFEST_FILE
from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.contract.manifest import FileEntry, InputRef, Manifest
from megacpp_assets.storage.bucket.binding import is_stored
from megacpp_assets.storage.caching.seen import FileState, Seen, now_ns, read_seen, settled, state_of, write_seen
from megacpp_assets.storage.remote import fetch

_HASH: Final = re.compile(r"[0-9a-f]{64}")
_SHOWN: Final = 70
"""The most characters of a malformed seal that an error shows."""
Finding = tuple[str, str, str]
"""(file relative to the data root, expected, found)."""


@dataclass(frozen=True, slots=True)
class Examined:
    """An artifact that was read whole: its path below the root, its files and bytes, and what is wrong with it."""

    path: str
    files: int
    bytes: int
    problems: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Artifact:
    """A complete folder of a data root, with its manifest."""

    root: Path
    path: str
    manifest: Manifest

    @property
    def directory(self) -> Path:
        """The absolute path of the artifact."""
        return self.root / self.path

    @property
    def reference(self) -> InputRef:
        """The reference by which the manifest of a later stage names this artifact."""
        return InputRef(self.path, self.manifest.sha256)

    def file(self, name: str) -> Path:
        """Return the path of the data file `name`; `LineageGap` if it is not in the manifest or its bytes differ."""
        return self._whole([self.manifest.file(name)])[0]

    def files(self, suffix: str, prefix: str = "") -> list[Path]:
        """Return the data files whose names start with `prefix` and end with `suffix`, in manifest order.

        `LineageGap` as for `file`.
        """
        entries = self.manifest.files
        return self._whole([each for each in entries if each.name.startswith(prefix) and each.name.endswith(suffix)])

    def folder(self, name: str) -> Path:
        """Return the path of the folder `name`; `LineageGap` if a data file below it differs from the manifest."""
        self._whole([entry for entry in self.manifest.files if entry.name.startswith(f"{name}/")])
        return self.directory / name

    def problems(self) -> Iterator[Finding]:
        """Yield each data file that differs from the manifest. Every file is read to its end."""
        try:
            fetch(self, self.manifest.files)
        except LineageGap as gap:
            yield gap.what, str(gap.expected), str(gap.found)
        yield from self._examine(self.manifest.files, {})

    def damage(self) -> Finding | None:
        """Return the first data file that differs from the manifest, or None.

        A file whose inode, size and times are unchanged since it was last read whole is not read again. A file that a
        cache lacks is not damaged if its bucket holds the artifact.
        """
        return next(self._examine(self.expected_files(), self._seen()), None)

    def expected_files(self) -> Sequence[FileEntry]:
        """Return the data files that must be on this machine: all, unless a bucket has them (see storage/bucket)."""
        entries = self.manifest.files
        if is_stored(self.root, self.path, self.manifest.sha256):
            return [entry for entry in entries if (self.directory / entry.name).exists()]
        return entries

    def fetched(self) -> Artifact:
        """Return this artifact once all its data files are on this machine. Their bytes are not compared."""
        fetch(self, self.manifest.files)
        return self

    def verify(self) -> Artifact:
        """Read every file and return this artifact; `LineageGap` names the first file that has changed."""
        return self._reject(self.problems())

    def _whole(self, entries: Sequence[FileEntry]) -> list[Path]:
        fetch(self, entries)
        self._reject(self._examine(entries, self._seen()))
        return [self.directory / entry.name for entry in entries]

    def _reject(self, findings: Iterator[Finding]) -> Artifact:
        for name, expected, found in findings:
            raise LineageGap(name, expected=expected, found=found, do="restore the file or rerun its stage")
        return self

    def _seen(self) -> Seen:
        return read_seen(self.root, self.path, self.manifest.sha256)

    def _examine(self, entries: Sequence[FileEntry], trusted: Seen) -> Iterator[Finding]:
        """Yield the findings. If the caller reads all of them, the intact files are remembered."""
        seen = dict(trusted)
        for entry in entries:
            state, difference = _look(self.directory / entry.name, entry, seen.pop(entry.name, None))
            if difference is not None:
                yield f"{self.path}/{entry.name}", *difference
            elif state is not None:
                seen[entry.name] = state
        if seen != trusted:
            write_seen(self.root, self.path, self.manifest.sha256, seen)


def open_artifact(root: Path, path: str) -> Artifact:
    """Open the artifact at `path` of `root`; `LineageGap` if it is missing, incomplete or its manifest has changed."""
    directory = root / path
    complete, manifest = directory / COMPLETE_FILE, directory / MANIFEST_FILE
    if not complete.is_file() or not manifest.is_file():
        do = "megacpp run with the recipe and repositories of its dataset makes it"
        raise LineageGap(path, expected=f"a directory with {COMPLETE_FILE}", found="none", do=do)
    data = manifest.read_bytes()
    expected, found = complete.read_text(encoding="ascii", errors="replace").strip(), sha256_bytes(data)
    if not _HASH.fullmatch(expected):
        what = "an empty file" if not expected else repr(expected[:_SHOWN])
        do = "megacpp run makes the artifact again"
        raise LineageGap(f"{path}/{COMPLETE_FILE}", expected=f"the sha256 of {MANIFEST_FILE}", found=what, do=do)
    if expected != found:
        raise LineageGap(
            f"{path}/{MANIFEST_FILE}", expected=f"sha256 {expected}", found=f"sha256 {found}", do="rerun the stage"
        )
    return Artifact(root, path, Manifest.from_bytes(data, f"{path}/{MANIFEST_FILE}"))


def find_artifact(root: Path, path: str) -> Artifact | None:
    """Do the same as `open_artifact`, but return None if the artifact is missing or damaged."""
    try:
        return open_artifact(root, path)
    except LineageGap:
        return None


def _look(file: Path, entry: FileEntry, trusted: FileState | None) -> tuple[FileState | None, tuple[str, str] | None]:
    """Return the state of an intact `file` if it can be relied on later, or else (expected, found)."""
    if not file.is_file():
        return None, (f"{entry.bytes} bytes", "no such file")
    started, before = now_ns(), state_of(file)
    if before.size != entry.bytes:
        return None, (f"{entry.bytes} bytes", f"{before.size} bytes")
    if before == trusted:
        return before, None
    try:
        found = f"sha256 {sha256_file(file)}"
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        found = "a disk that cannot read the file"
    if found != f"sha256 {entry.sha256}":
        return None, (f"sha256 {entry.sha256}", found)
    return (before if settled(before, state_of(file), started) else None), None
