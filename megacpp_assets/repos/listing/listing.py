"""The list of a repository's files, written as its trees are read: memory stays at one file and one word per blob."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from megacpp_assets.contract.lock.corpus_lock import RepoPin
from megacpp_assets.contract.sources.source_file import SourceFile, dump_files
from megacpp_assets.repos.licensing.licences import HEAD_BYTES, TEXT_BYTES, UNKNOWN, file_licence, repository_licence
from megacpp_assets.repos.listing.heads import BlobHeads, blob_heads
from megacpp_assets.repos.listing.selection import source_file
from megacpp_assets.repos.listing.survey import TreeSurvey
from megacpp_assets.repos.submodules import Submodule
from megacpp_assets.repos.tree import whole_tree

_LICENCES_NAMED = 1000
"""How many different licences the statistics name; a stranger may write another into each file."""


@dataclass(slots=True)
class Listing:
    """Statistics of a list of files; of selected files, but for their number."""

    files: int = 0
    source_files: int = 0
    source_bytes: int = 0
    headers: int = 0
    licenses: set[str] = field(default_factory=set)
    submodules: list[Submodule] = field(default_factory=list)

    def add(self, file: SourceFile) -> None:
        """Count one file of the list."""
        self.files += 1
        if not file.skipped:
            self.source_files += 1
            self.source_bytes += file.bytes
            self.headers += file.header
            if len(self.licenses) < _LICENCES_NAMED:
                self.licenses.add(file.license)

    def as_stats(self) -> dict[str, Any]:
        """For the manifest; submodules only where there are any."""
        stats = {"files": self.files, "source_files": self.source_files, "source_bytes": self.source_bytes}
        stats |= {"headers": self.headers}
        recorded = {"submodules": [asdict(module) for module in self.submodules]} if self.submodules else {}
        return {**stats, "licenses": sorted(self.licenses), **recorded}


def list_files(pin: RepoPin, survey: TreeSurvey, git_dir: Path, path_bytes: int, output: Path) -> Listing:
    """Write the file list of `pin`, fetched into `git_dir` and surveyed, to `output`."""
    listing = Listing(submodules=survey.submodules)
    with blob_heads(git_dir, pin.partition.key) as heads, output.open("wb") as lines:
        license_id = pin.license
        if license_id == UNKNOWN:
            license_id = repository_licence(
                heads.read(entry.object_id, entry.bytes, TEXT_BYTES) for entry in survey.licences
            )
        tree = whole_tree(pin.commit, survey.submodules, git_dir, path_bytes)
        language = survey.languages.of_headers
        for file in _with_file_licences((source_file(entry, language, license_id) for entry in tree), heads):
            listing.add(file)
            lines.write(dump_files([file]))
    return listing


def _with_file_licences(files: Iterator[SourceFile], heads: BlobHeads) -> Iterator[SourceFile]:
    """Yield each file, with the SPDX id of its own head where that has one. A blob is read once, whatever names
    it has.
    """
    known: dict[bytes, str] = {}
    for file in files:
        if file.skipped:
            yield file
            continue
        blob = bytes.fromhex(file.blob)
        if blob not in known:
            known[blob] = file_licence(heads.read(file.blob, file.bytes, HEAD_BYTES))
        yield replace(file, license=known[blob]) if known[blob] else file
