"""The processes that write a checkpoint. Each writes its shard into the folder that the first process publishes.

Their messages use a gloo group of their own on the host, so that training steps do not wait for them. Other nodes send
their shards to the first node, because they may share no disk with it. Nothing is pickled.
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
    """This process is writer `rank` of `count`. The ranks of `first_node` write directly into the published folder."""

    rank: int = 0
    count: int = 1
    first_node: range = field(default_factory=lambda: range(1))
    group: Any = None

    @property
    def nodes(self) -> int:
        """Return the number of machines. All run equally many processes."""
        return self.count // len(self.first_node)

    def agree(self, *, wanted: bool = False) -> bool:
        """Return on every process whether the first process needs the shards; only its `wanted` counts."""
        return bool(self._exchange({"wanted": wanted})[0]["wanted"])

    def write(self, folder: Path, files: Mapping[str, Fill]) -> list[FileEntry]:
        """Write this process's `files` durably; return the entries of the files that arrive in the first node's
        `folder`.

        The first node returns the entries of all processes, other nodes their own. If one process cannot write, it
        raises its own error, and all others raise `TrainingFailed`, which names it.
        """
        if self.rank in self.first_node:
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
        """Write `files`; return the entries of each process, in the order of ranks."""
        failed: Exception | None = None
        try:
            for name, fill in files.items():
                with publication.file(name) as pending:
                    fill(pending.path)
        except Exception as error:  # noqa: BLE001 - raised below, after the others have its answer, which they wait for
            failed = error
        reason = f"{type(failed).__name__}: {failed}"[:_LONGEST_REASON] if failed else ""
        answers = self._exchange({"failed": reason, "files": [asdict(entry) for entry in publication.entries]})
        if failed is not None:
            raise failed
        for rank, answer in enumerate(answers):
            if answer["failed"]:
                what = f"shard {rank + 1} of {self.count}"
                raise TrainingFailed(what, expected="written", found=answer["failed"], do="run it again")
        return [[FileEntry(**entry) for entry in answer["files"]] for answer in answers]

    def _exchange(self, mine: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """Send `mine` to all processes; return the messages of all, in the order of ranks."""
        if self.count == 1:
            return [mine]
        data = canonical_json(mine)
        sizes = [torch.zeros(1, dtype=torch.int64) for _ in range(self.count)]
        distributed.all_gather(sizes, torch.tensor([len(data)]), group=self.group)
        longest = max(int(size) for size in sizes)
        received = [torch.zeros(longest, dtype=torch.uint8) for _ in range(self.count)]
        distributed.all_gather(received, _bytes(data.ljust(longest)), group=self.group)
        return [json.loads(text.numpy().tobytes()) for text in received]

    def _send(self, file: Path) -> None:
        with file.open("rb") as source:
            while data := source.read(_SENT_BYTES):
                distributed.send(_bytes(data), 0, group=self.group)

    def _receive(self, folder: Path, written: Sequence[Sequence[FileEntry]]) -> None:
        """Receive the shards of other nodes into `folder`. `LineageGap` if a hash differs from the sender's."""
        publication = Publication(folder)
        for rank, entries in enumerate(written):
            for entry in entries if rank not in self.first_node else ():
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
