"""The manifest: the files of a published artifact, and the manifests of its inputs. Lineage is part of the data."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from megacpp_assets.contract.canonical import canonical_json, sha256_bytes
from megacpp_assets.contract.errors import LineageGap

FORMAT = 1


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One data file: `name` relative to the artifact, size in bytes, sha256 in hexadecimal, rows if it has any."""

    name: str
    bytes: int
    sha256: str
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class InputRef:
    """An input of an artifact: its `path` relative to the data root, and the sha256 of its manifest."""

    path: str
    manifest_sha256: str


@dataclass(frozen=True)
class Manifest:
    """Everything about a published artifact. It has no time, host or absolute path, so equal work gives equal bytes.

    `version` is the stage's code version; it is "" in a manifest that an earlier release wrote.
    """

    stage: str
    partition: str
    fingerprint: str
    config: Mapping[str, Any]
    inputs: tuple[InputRef, ...]
    files: tuple[FileEntry, ...]
    stats: Mapping[str, Any] = field(default_factory=dict)
    version: str = ""

    def to_bytes(self) -> bytes:
        """Canonical JSON bytes, as stored in `manifest.json`."""
        return canonical_json({"format": FORMAT, **asdict(self)})

    @cached_property
    def sha256(self) -> str:
        """Identity of the artifact: the hash of its stored bytes."""
        return sha256_bytes(self.to_bytes())

    def file(self, name: str) -> FileEntry:
        """Return the entry called `name`; `LineageGap` if the manifest has none."""
        for entry in self.files:
            if entry.name == name:
                return entry
        raise LineageGap(f"manifest of {self.stage} {self.partition}", expected=f"a file {name}", found="none")

    @staticmethod
    def from_bytes(data: bytes, where: str) -> Manifest:
        """Parse `manifest.json`; `LineageGap` naming `where` if it is not one of ours."""
        with ours(where):
            raw = json.loads(data)
            require_format(raw.pop("format"))
            raw["inputs"] = tuple(InputRef(**entry) for entry in raw["inputs"])
            raw["files"] = tuple(FileEntry(**entry) for entry in raw["files"])
            manifest = Manifest(**raw)
        vars(manifest)["sha256"] = sha256_bytes(data)  # its identity is that of the stored bytes
        return manifest


@contextmanager
def ours(where: str) -> Iterator[None]:
    """Convert errors of the block, which parses a manifest, to a `LineageGap` that names `where`."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        expected = f"a manifest of format {FORMAT}"
        raise LineageGap(where, expected=expected, found=str(error), do="rerun the stage") from error


def require_format(number: object) -> None:
    """Raise `ValueError` unless `number` is the format of manifests that can be read."""
    if number != FORMAT:
        raise ValueError("another format")
