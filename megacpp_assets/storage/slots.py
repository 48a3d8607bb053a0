"""Slots of a resource, counted over all processes at work on a data root: each is a lock, free when its holder dies."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from megacpp_assets.storage.locks import holder, open_lock, taken


@dataclass(slots=True)
class SlotLocks:
    """The slots of the data root `root` as one run sees them: `counts` says how many each resource has.

    Runs that count differently take from the same ones: the first slots are everybody's.
    """

    root: Path
    counts: Mapping[str, int]
    _held: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Lock of a slot -> whom this run took it for, and the descriptor that keeps it."""

    def take(self, resource: str, who: str) -> bool:
        """Whether there was a slot for `who`, which then has it until it is given back."""
        for lock in self._locks(resource):
            if lock in self._held:
                continue
            descriptor = open_lock(self.root, lock)
            if taken(descriptor, fcntl.LOCK_EX, who):
                self._held[lock] = (who, descriptor)
                return True
            os.close(descriptor)
        return False

    def give_back(self, who: str) -> None:
        """Free what was taken for `who`, if anything was."""
        for lock, (name, descriptor) in list(self._held.items()):
            if name == who:
                del self._held[lock]
                os.close(descriptor)

    def held_elsewhere(self, resource: str) -> str:
        """How many slots there are and which other runs have some of them; "" where none has."""
        locks = self._locks(resource)
        others = [_last_word(self.root, lock) for lock in locks if lock not in self._held]
        return f"{len(locks)} in all, taken by {', '.join(others)}" if others else ""

    def _locks(self, resource: str) -> list[str]:
        return [f"slot__{resource}__{number}" for number in range(self.counts[resource])]


def _last_word(root: Path, lock: str) -> str:
    descriptor = open_lock(root, lock)
    try:
        return holder(descriptor)
    finally:
        os.close(descriptor)
