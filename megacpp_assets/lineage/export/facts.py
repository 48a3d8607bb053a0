"""A checkpoint and everything behind it, from the manifests alone: what every export is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from megacpp_assets.contract.manifest import Manifest
from megacpp_assets.lineage.differences import stage_number
from megacpp_assets.lineage.history import History, Made


@dataclass(frozen=True, slots=True)
class Link:
    """An artifact of the chain."""

    path: str
    sha256: str
    manifest: Manifest

    @property
    def bytes(self) -> int:
        """Of its data files."""
        return sum(entry.bytes for entry in self.manifest.files)

    @property
    def rows(self) -> int | None:
        """Of its data files, where they have any."""
        rows = [entry.rows for entry in self.manifest.files if entry.rows is not None]
        return sum(rows) if rows else None


@dataclass(frozen=True, slots=True)
class Chain:
    """The links from the sources to the checkpoint, which is the last; in the order of stages, then of paths."""

    links: tuple[Link, ...]

    @property
    def checkpoint(self) -> Link:
        """What the chain is of."""
        return self.links[-1]

    def of(self, stage: str) -> Iterator[Link]:
        """The links of a stage."""
        return (link for link in self.links if link.manifest.stage == stage)

    @property
    def packed(self) -> Link:
        """The rows that it was trained on."""
        return next(self.of("packed_rows"))

    @property
    def tokenizer_commit(self) -> str:
        """The tokenizer that the checkpoint names."""
        return str(self.checkpoint.manifest.config.get("tokenizer_commit", ""))


def read_chain(history: History, checkpoint: Made) -> Chain:
    """The chain of `checkpoint`; `LineageGap` naming the first manifest that is missing."""
    made = sorted(history.chain(checkpoint).values(), key=lambda each: (stage_number(each.stage), each.path))
    return Chain(tuple(Link(each.path, each.sha256, history.read(each)) for each in made))
