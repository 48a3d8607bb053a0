"""`corpus.lock` in a bucket: states under their hash, and one object that names the present state and all earlier ones.

That object is moved from the generation that was read. If another machine moved it first, the change is made again.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from megacpp_assets.contract.canonical import canonical_json, sha256_bytes
from megacpp_assets.contract.errors import LineageGap, LostRace
from megacpp_assets.storage.atomic import write_any
from megacpp_assets.storage.bucket.binding import binding_of
from megacpp_assets.storage.bucket.objects import Objects, open_objects
from megacpp_assets.storage.bucket.shared_files import push_recipes, push_registry
from megacpp_assets.storage.root.layout import LOCK_FILE, LOCK_HISTORY

POINTER: Final = "lock"
"""The object that names the present state."""
STATES: Final = "locks/"
_FORMAT: Final = 1
_LOG: Final = logging.getLogger(__name__)
Note = Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class LockState:
    """The lock of a bucket: the generation of the pointer, the hash of the present state, and (hash, note) of each
    earlier one. Without a lock, `generation` is 0.
    """

    generation: int = 0
    present: str = ""
    history: tuple[tuple[str, Note], ...] = ()

    def followed_by(self, sha256: str, note: Note) -> bytes:
        """Return the pointer's bytes after a change to the state of that hash."""
        history = (*self.history, (self.present, note)) if self.present else self.history
        earlier = [{"lock": state, "note": None if each is None else dict(each)} for state, each in history]
        return canonical_json({"format": _FORMAT, "lock": sha256, "history": earlier})


def pull_lock(root: Path) -> LockState:
    """Bring the lock of a cache and its history up to date. A bucket without a lock changes nothing."""
    location = binding_of(root)
    assert location is not None
    return pull_lock_into(open_objects(location), root)


def pull_lock_into(objects: Objects, root: Path) -> LockState:
    """Write the bucket's lock and its history to `root`, and return its state."""
    state = read_state(objects)
    for number, (sha256, note) in enumerate(state.history, 1):
        _write_state(objects, sha256, root / LOCK_HISTORY / f"{number:06d}.toml")
        note_file = root / LOCK_HISTORY / f"{number:06d}.json"
        if note is not None and not note_file.is_file():
            write_any(note_file, canonical_json(dict(note)))
    if state.present:
        _write_state(objects, state.present, root / LOCK_FILE)
    return state


def read_state(objects: Objects) -> LockState:
    """Read the pointer; `LineageGap` if it is malformed."""
    found = objects.read(POINTER)
    return LockState() if found is None else _parse(found.data, found.generation, objects.uri(POINTER))


def push_lock(root: Path, state: LockState, lock: bytes, note: Note) -> bool:
    """Make `lock` the present state after `state`; False if another machine has changed the lock since."""
    location = binding_of(root)
    assert location is not None
    objects = open_objects(location)
    # What a lock names must be in the bucket before it.
    push_recipes(objects, root)
    push_registry(objects, root)
    sha256 = sha256_bytes(lock)
    objects.create(f"{STATES}{sha256}", lock)
    try:
        objects.swap(POINTER, state.followed_by(sha256, note), state.generation)
    except LostRace as race:
        _LOG.warning("%s; the change is made again on the new state", race)
        return False
    return True


def read_lock_bytes(objects: Objects, sha256: str) -> bytes:
    """Read the state of that hash; `LineageGap` if the object is missing or has another hash."""
    name = f"{STATES}{sha256}"
    state = objects.read(name)
    found = "no such object" if state is None else f"sha256 {sha256_bytes(state.data)}"
    if state is None or found != f"sha256 {sha256}":
        do = "restore the object's earlier generation"
        raise LineageGap(objects.uri(name), expected=f"sha256 {sha256}", found=found, do=do)
    return state.data


def _write_state(objects: Objects, sha256: str, file: Path) -> None:
    if not file.is_file() or sha256_bytes(file.read_bytes()) != sha256:
        write_any(file, read_lock_bytes(objects, sha256))


def _parse(data: bytes, generation: int, where: str) -> LockState:
    try:
        raw = json.loads(data)
        if raw["format"] == _FORMAT:
            history = tuple((str(each["lock"]), each["note"]) for each in raw["history"])
            return LockState(generation, str(raw["lock"]), history)
        found = f"format {raw['format']}"
    except (ValueError, KeyError, TypeError) as error:
        found = f"{type(error).__name__}: {error}"
    do = "restore the object's earlier generation, or use the release that wrote it"
    raise LineageGap(where, expected=f"a lock of format {_FORMAT}", found=found, do=do)
