"""Reading what was published: nothing is opened without a verified `_COMPLETE`, and no directory is ever listed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from megacpp_assets.contract.canonical import sha256_bytes, sha256_file
from megacpp_assets.contract.columns import COMPLETE_FILE, MANIFEST_FILE
from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.contract.manifest import InputRef, Manifest


@dataclass(frozen=True, slots=True)
class Artifact:
    """A complete directory under the data root: its place and its manifest."""

    root: Path
    path: str
    manifest: Manifest

    @property
    def directory(self) -> Path:
        """Absolute place of the artifact."""
        return self.root / self.path

    @property
    def reference(self) -> InputRef:
        """How a downstream manifest names this artifact."""
        return InputRef(self.path, self.manifest.sha256)

    def file(self, name: str) -> Path:
        """Path of the data file `name`, which the manifest must list."""
        return self.directory / self.manifest.file(name).name

    def files(self, suffix: str) -> list[Path]:
        """Data files whose name ends with `suffix`, in manifest order."""
        return [self.directory / entry.name for entry in self.manifest.files if entry.name.endswith(suffix)]

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """(file, expected, found) for each data file whose size or sha256 is not the manifest's."""
        for entry in self.manifest.files:
            file = self.directory / entry.name
            name = f"{self.path}/{entry.name}"
            if not file.is_file():
                yield name, f"{entry.bytes} bytes", "no such file"
            elif file.stat().st_size != entry.bytes:
                yield name, f"{entry.bytes} bytes", f"{file.stat().st_size} bytes"
            elif (found := sha256_file(file)) != entry.sha256:
                yield name, f"sha256 {entry.sha256}", f"sha256 {found}"

    def verify(self) -> Artifact:
        """This artifact, or `LineageGap` naming the first file that changed since it was published."""
        for name, expected, found in self.problems():
            raise LineageGap(name, expected=expected, found=found, do="restore the file or rerun its stage")
        return self


def open_artifact(root: Path, path: str) -> Artifact:
    """Open the artifact at `path` under `root`; `LineageGap` if it is absent, incomplete or its manifest changed."""
    directory = root / path
    complete, manifest = directory / COMPLETE_FILE, directory / MANIFEST_FILE
    if not complete.is_file() or not manifest.is_file():
        raise LineageGap(
            path, expected=f"a directory with {COMPLETE_FILE}", found="none", do="run the stage that makes it"
        )
    data = manifest.read_bytes()
    expected, found = complete.read_text(encoding="ascii", errors="replace").strip(), sha256_bytes(data)
    if expected != found:
        raise LineageGap(
            f"{path}/{MANIFEST_FILE}", expected=f"sha256 {expected}", found=f"sha256 {found}", do="rerun the stage"
        )
    return Artifact(root, path, Manifest.from_bytes(data, f"{path}/{MANIFEST_FILE}"))


def find_artifact(root: Path, path: str) -> Artifact | None:
    """As `open_artifact`, but None where there is none or it is damaged."""
    try:
        return open_artifact(root, path)
    except LineageGap:
        return None
