"""Garbage collection: the artifacts in a bucket that no reference names are removed after a grace period.

An upload rewrites its manifest when it begins and again before its reference (transfer.py). So an artifact whose
manifest is older than the grace period is not being stored. Its manifest is removed first, under its generation: an
upload that begins later finds no manifest, and then trusts none of the files that are left.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from megacpp_assets.contract.columns import MANIFEST_FILE
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.storage.bucket.binding import Location
from megacpp_assets.storage.bucket.objects import ObjectInfo, Objects, open_objects
from megacpp_assets.storage.bucket.parallel import in_parallel
from megacpp_assets.storage.bucket.references import ARTIFACTS, REFERENCES, artifact_object, read_reference
from megacpp_assets.storage.bucket.root import require_format
from megacpp_assets.storage.bucket.transfer import TRUSTED, rewrite

SHORTEST_GRACE: Final = 2 * TRUSTED
_CLOCK: Final = "gc"
"""An object that is written to read the bucket's clock."""


@dataclass(frozen=True, slots=True)
class Unreferenced:
    """An artifact that no reference names: its objects by name, and when the newest of them was written."""

    manifest_sha256: str
    objects: dict[str, ObjectInfo]
    updated: datetime

    @property
    def bytes(self) -> int:
        """The size of all its objects."""
        return sum(entry.size for entry in self.objects.values())


def open_collection(uri: str, grace: timedelta) -> Objects:
    """Return the objects of the data root at `uri`; `SpecError` if `grace` is too short for uploads that are running.

    Raises otherwise as `open_root` does.
    """
    if grace < SHORTEST_GRACE:
        hours = SHORTEST_GRACE / timedelta(hours=1)
        do = "uploads of other machines rely on it"
        raise SpecError("grace period", expected=f"{hours:g} hours or more", found=f"{grace}", do=do)
    objects = open_objects(Location.parse(uri))
    require_format(objects, create=False)
    return objects


def find_unreferenced(objects: Objects, grace: timedelta) -> Iterator[Unreferenced]:
    """Yield each artifact that no reference names and that was written before the grace period, by the bucket's clock.

    `LineageGap` if a reference is malformed: what it names is unknown.
    """
    now = _bucket_time(objects)
    # Artifacts are listed before references: one that gets its reference between the two listings is kept.
    by_hash: dict[str, dict[str, ObjectInfo]] = {}
    for name, entry in objects.list(ARTIFACTS).items():
        by_hash.setdefault(name.removeprefix(ARTIFACTS).partition("/")[0], {})[name] = entry
    named = _named_manifests(objects)
    for sha256, entries in sorted(by_hash.items()):
        updated = max(entry.updated for entry in entries.values())
        if sha256 not in named and now - updated >= grace:
            yield Unreferenced(sha256, entries, updated)


def remove(objects: Objects, found: Unreferenced) -> bool:
    """Remove the artifact, its manifest first; return False if an upload has begun since it was found."""
    manifest = artifact_object(found.manifest_sha256, MANIFEST_FILE)
    first = found.objects.get(manifest)
    if first is None:
        # An earlier removal was interrupted, or an upload begins now, which has written the manifest again.
        if objects.describe(manifest) is not None:
            return False
    elif not objects.delete(manifest, first.generation):
        return False
    rest = {name: entry for name, entry in found.objects.items() if name != manifest}
    in_parallel(lambda each: objects.delete(each[0], each[1].generation), rest.items())
    return True


def _named_manifests(objects: Objects) -> set[str]:
    named: set[str] = set()

    def read(name: str) -> None:
        found = read_reference(objects, name.removeprefix(REFERENCES))
        if found is not None:
            named.add(found[0].manifest_sha256)

    in_parallel(read, objects.list(REFERENCES))
    return named


def _bucket_time(objects: Objects) -> datetime:
    """Return the time by the bucket's clock: that of this machine may be wrong by hours."""
    # Different bytes each time, or a lost race would return the old entry.
    _, now = rewrite(objects, _CLOCK, lambda before: str(before.generation if before else 0).encode())
    return now.updated
