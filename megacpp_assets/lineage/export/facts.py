"""The chain of a checkpoint, read from manifests alone. Every export is made from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from megacpp_assets.contract.manifest import Manifest
from megacpp_assets.lineage.differences import stage_number
from megacpp_assets.lineage.history import KnownManifest, ManifestHistory
from megacpp_assets.lineage.queries import CHECKPOINT


@dataclass(frozen=True, slots=True)
class Link:
    """An artifact of the chain: its path, and its manifest with the manifest's hash."""

    path: str
    sha256: str
    manifest: Manifest

    @property
    def bytes(self) -> int:
        """Total bytes of the artifact's data files."""
        return sum(entry.bytes for entry in self.manifest.files)

    @property
    def rows(self) -> int | None:
        """Total rows of the artifact's data files; None if no file has rows."""
        rows = [entry.rows for entry in self.manifest.files if entry.rows is not None]
        return sum(rows) if rows else None


@dataclass(frozen=True, slots=True)
class Chain:
    """The links from the sources to the checkpoint, sorted by stage, then by path. The checkpoint is the last link.

    Checkpoints of earlier phases, from which it resumes, come in the order of the phases.
    """

    links: tuple[Link, ...]

    @property
    def checkpoint(self) -> Link:
        """The checkpoint whose chain this is."""
        return self.links[-1]

    def of(self, stage: str) -> Iterator[Link]:
        """Return the links that a stage made."""
        return (link for link in self.links if link.manifest.stage == stage)

    @property
    def packed(self) -> Link:
        """The packed rows of the checkpoint's own phase. The chain also has those of the phases before."""
        partition = self.checkpoint.manifest.partition
        return next(link for link in self.of("packed_rows") if link.manifest.partition == partition)

    @property
    def tokenizer_commit(self) -> str:
        """The tokenizer commit that the checkpoint's manifest records; "" if it records none."""
        return str(self.checkpoint.manifest.config.get("tokenizer_commit", ""))


def read_chain(history: ManifestHistory, checkpoint: KnownManifest) -> Chain:
    """Return the chain of `checkpoint`. Raises `LineageGap`, which names the first missing manifest."""
    made = sorted(history.chain(checkpoint).values(), key=lambda each: _place(history, each))
    return Chain(tuple(Link(each.path, each.sha256, history.read(each)) for each in made))


def _place(history: ManifestHistory, made: KnownManifest) -> tuple[int, int, str]:
    """Return the sort key of a link. A checkpoint has a longer chain than each checkpoint that it resumes from."""
    phase = len(history.chain(made)) if made.stage == CHECKPOINT else 0
    return stage_number(made.stage), phase, made.path
