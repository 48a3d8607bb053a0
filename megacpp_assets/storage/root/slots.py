"""Slots of resources, counted over all processes on a data root. Each slot is a lock, so a killed holder frees it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from megacpp_assets.storage.root.locks import holder, open_lock, try_lock


@dataclass(slots=True)
class SlotLocks:
    """The slots of a data root. `counts` is the number of slots of each resource.

    Runs with different counts share the slots with the lowest numbers.
    """

    root: Path
    counts: Mapping[str, int]
    _held: dict[str, tuple[str, int]] = field(default_factory=dict)
    """The lock of a slot -> the task that holds it, and the descriptor of the lock."""

    def take(self, resource: str, who: str) -> bool:
        """Take a slot for `who` and return True, or return False if none is free."""
        for lock in self._locks(resource):
            if lock in self._held:
                continue
            descriptor = open_lock(self.root, lock)
            if try_lock(descriptor, fcntl.LOCK_EX, who):
                self._held[lock] = (who, descriptor)
                return True
            os.close(descriptor)
        return False

    def release(self, who: str) -> None:
        """Free the slots of `who`."""
        for lock, (name, descriptor) in list(self._held.items()):
            if name == who:
                del self._held[lock]
                os.close(descriptor)

    def held_elsewhere(self, resource: str) -> str:
        """Return a text with the number of slots and the other runs that hold some; "" if no other run does."""
        locks = self._locks(resource)
        holders = (_holder_of(self.root, lock) for lock in locks if lock not in self._held)
        others = [name for name in holders if name]
        return f"{len(locks)} in all, held by {', '.join(others)}" if others else ""

    def _locks(self, resource: str) -> list[str]:
        return [f"slot__{resource}__{number}" for number in range(self.counts[resource])]


def _holder_of(root: Path, lock: str) -> str:
    """Return the name of the process that holds the lock; "" if it is free, though its file names the last holder."""
    descriptor = open_lock(root, lock)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return holder(descriptor)
    else:
        return ""
    finally:
        os.close(descriptor)
