"""The processes that write a checkpoint, each its shard, into the folder that the first of them publishes.

What they tell each other goes through a group of their own, on the host, so that the steps of the training beside it do
not wait. A node that has a disk of its own sends its shards to the first node; nothing is pickled on the way.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor, distributed

from megacpp_assets.contract.canonical import canonical_json
from megacpp_assets.contract.errors import LineageGap, TrainingFailed
from megacpp_assets.contract.manifest import FileEntry
from megacpp_assets.storage.publish import Publication

_SENT_BYTES: Final = 16 << 20
_LONGEST_REASON: Final = 500

Fill = Callable[[Path], None]
"""Writes a file."""


@dataclass(frozen=True, slots=True)
class Writers:
    """This process is number `rank` of `count`; those of `beside` write where the first one publishes."""

    rank: int = 0
    count: int = 1
    beside: range = field(default_factory=lambda: range(1))
    group: Any = None

    @property
    def nodes(self) -> int:
        """On how many machines they run, as many on each."""
        return self.count // len(self.beside)

    def agree(self, *, wanted: bool = False) -> bool:
        """Whether the first process, which says so, wants the shards of a checkpoint now."""
        return bool(self._told({"wanted": wanted})[0]["wanted"])

    def write(self, folder: Path, files: Mapping[str, Fill]) -> list[FileEntry]:
        """Write this process's `files`, durably; what all have written, once it lies in the first one's `folder`.

        Where one cannot, all raise: that one its own error, the others `TrainingFailed`, which names it.
        """
        if self.rank in self.beside:
            written = self._written(Publication(folder), files)
            if self.rank == 0:
                self._receive(folder, written)
            return [entry for entries in written for entry in entries]
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".shards-", dir=folder.parent) as own:
            mine = self._written(Publication(Path(own)), files)[self.rank]
            for entry in mine:
                self._send(Path(own) / entry.name)
            return mine

    def _written(self, publication: Publication, files: Mapping[str, Fill]) -> list[list[FileEntry]]:
        """What each process has written, in their order."""
        failed: Exception | None = None
        try:
            for name, fill in files.items():
                with publication.file(name) as pending:
                    fill(pending.path)
        except Exception as error:  # noqa: BLE001 - raised below: the others wait for an answer
            failed = error
        reason = f"{type(failed).__name__}: {failed}"[:_LONGEST_REASON] if failed else ""
        answers = self._told({"failed": reason, "files": [asdict(entry) for entry in publication.entries]})
        if failed is not None:
            raise failed
        for rank, answer in enumerate(answers):
            if answer["failed"]:
                what = f"shard {rank + 1} of {self.count}"
                raise TrainingFailed(what, expected="written", found=answer["failed"], do="run it again")
        return [[FileEntry(**entry) for entry in answer["files"]] for answer in answers]

    def _told(self, mine: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """What each process says, in their order."""
        if self.count == 1:
            return [mine]
        data = canonical_json(mine)
        sizes = [torch.zeros(1, dtype=torch.int64) for _ in range(self.count)]
        distributed.all_gather(sizes, torch.tensor([len(data)]), group=self.group)
        longest = max(int(size) for size in sizes)
        heard = [torch.zeros(longest, dtype=torch.uint8) for _ in range(self.count)]
        distributed.all_gather(heard, _bytes(data.ljust(longest)), group=self.group)
        return [json.loads(text.numpy().tobytes()) for text in heard]

    def _send(self, file: Path) -> None:
        with file.open("rb") as source:
            while data := source.read(_SENT_BYTES):
                distributed.send(_bytes(data), 0, group=self.group)

    def _receive(self, folder: Path, written: Sequence[Sequence[FileEntry]]) -> None:
        """What the processes of other nodes send."""
        publication = Publication(folder)
        for rank, entries in enumerate(written):
            for entry in entries if rank not in self.beside else ():
                with publication.file(entry.name) as pending, pending.path.open("wb") as file:
                    for first in range(0, entry.bytes, _SENT_BYTES):
                        part = torch.empty(min(_SENT_BYTES, entry.bytes - first), dtype=torch.uint8)
                        distributed.recv(part, rank, group=self.group)
                        file.write(part.numpy().data)
                if (found := publication.entries[-1].sha256) != entry.sha256:
                    where = f"{entry.name} of process {rank + 1}"
                    raise LineageGap(where, expected=f"sha256 {entry.sha256}", found=f"sha256 {found}")


def _bytes(data: bytes) -> Tensor:
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)
