"""Copies a data root between a folder and a bucket, or between buckets. A copy that was interrupted continues.

The target is empty, or an earlier copy of the same root. An object or artifact of other content is never replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from google.api_core.exceptions import NotFound, PreconditionFailed

from megacpp_assets.contract.canonical import sha256_bytes
from megacpp_assets.contract.errors import BucketUnreachable, LineageGap, LostRace, SpecError
from megacpp_assets.contract.manifest import Manifest
from megacpp_assets.storage.artifact import Artifact, find_artifact, open_artifact
from megacpp_assets.storage.bucket.answers import AGAIN, translated
from megacpp_assets.storage.bucket.binding import Location
from megacpp_assets.storage.bucket.lock import POINTER, STATES, LockState, pull_lock_into, read_state
from megacpp_assets.storage.bucket.objects import ObjectInfo, Objects, open_objects
from megacpp_assets.storage.bucket.parallel import in_parallel
from megacpp_assets.storage.bucket.references import REFERENCES, read_manifest, read_reference, reference_of, seal
from megacpp_assets.storage.bucket.root import FORMAT_NAME, require_format
from megacpp_assets.storage.bucket.shared_files import MANIFESTS, pull_shared_files, push_recipes, push_registry
from megacpp_assets.storage.bucket.transfer import fetch_file, move_reference, upload
from megacpp_assets.storage.root.history import kept_manifest, kept_manifests
from megacpp_assets.storage.root.layout import LOCK_FILE
from megacpp_assets.storage.root.lock_file import lock_history, lock_notes, read_lock

_LAST: Final = (REFERENCES, STATES, POINTER, FORMAT_NAME)
"""Objects that name other objects are copied after these, in this order."""


def copy_to_bucket(root: Path, paths: Iterable[str], uri: str) -> Iterator[str]:
    """Store the artifacts at `paths` of the folder `root`, and its lock, at `uri`; yield each path that was copied.

    Raises:
        SpecError: the target has another artifact at a path, or another lock.
        LineageGap: an artifact of `root` is incomplete, or a file is not what its manifest says.
    """
    objects = open_objects(Location.parse(uri))
    require_format(objects)
    push_recipes(objects, root)
    push_registry(objects, root)
    for path in paths:
        artifact = open_artifact(root, path)
        present = read_reference(objects, path)
        if present is not None and present[0].manifest_sha256 == artifact.manifest.sha256:
            continue
        if present is not None:
            raise _other(objects.uri(reference_of(root, path, "").object_name))
        upload(objects, artifact)
        move_reference(objects, artifact, 0)
        yield path
    for sha256 in sorted(kept_manifests(root) - {name.removeprefix(MANIFESTS) for name in objects.list(MANIFESTS)}):
        path, manifest = kept_manifest(root, sha256)
        objects.create(f"{MANIFESTS}{sha256}", path.encode() + b"\n" + manifest)
    _push_whole_lock(objects, root)


def copy_from_bucket(uri: str, root: Path) -> Iterator[str]:
    """Copy the data root at `uri` into the folder `root`; yield the path of each artifact that was copied.

    Raises:
        SpecError: `root` has another artifact at a path, or another lock.
        LineageGap: an object is missing or has changed.
    """
    objects = open_objects(Location.parse(uri))
    require_format(objects, create=False)
    state = read_state(objects)
    if (root / LOCK_FILE).is_file() and sha256_bytes((root / LOCK_FILE).read_bytes()) != state.present:
        raise _other(str(root / LOCK_FILE))
    root.mkdir(parents=True, exist_ok=True)
    pull_shared_files(objects, root)
    for name in sorted(objects.list(REFERENCES)):
        path = name.removeprefix(REFERENCES)
        if _copy_artifact(objects, root, path):
            yield path
    pull_lock_into(objects, root)


def copy_between_buckets(source: str, target: str) -> Iterator[str]:
    """Copy every object at `source` to `target` within Google's storage; yield the name of each copied object.

    `SpecError` if the target has another object of the same name.
    """
    one, other = (open_objects(Location.parse(uri)) for uri in (source, target))
    require_format(one, create=False)
    other.require_bucket()
    present = other.list("")
    wanted = {name: entry for name, entry in one.list("").items() if name.split("/")[0] != "gc"}
    for name, entry in wanted.items():
        if name in present and not _is_same(present[name], entry):
            raise _other(other.uri(name))
    missing = [name for name in wanted if name not in present]
    for rank in range(len(_LAST) + 1):
        names = [name for name in missing if _rank(name) == rank]
        in_parallel(lambda name: _rewrite(one, other, name, wanted[name]), names)
        yield from names


def _copy_artifact(objects: Objects, root: Path, path: str) -> bool:
    """Copy one artifact: data first, the seal last. Return False if `root` has it already."""
    found = read_reference(objects, path)
    if found is None:
        return False
    reference, present = found[0], find_artifact(root, path)
    if present is not None and present.manifest.sha256 == reference.manifest_sha256 and present.damage() is None:
        return False
    if present is not None:
        raise _other(f"{root}/{path}")
    data, sha256 = read_manifest(objects, reference.manifest_sha256), reference.manifest_sha256
    manifest = Manifest.from_bytes(data, path)
    missing = [entry for entry in manifest.files if not (root / path / entry.name).is_file()]
    in_parallel(lambda entry: fetch_file(objects, sha256, entry, root / path / entry.name), missing)
    Artifact(root, path, manifest).verify()
    seal(root, reference, data)
    return True


def _push_whole_lock(objects: Objects, root: Path) -> None:
    """Store the lock of a folder with its history."""
    lock = read_lock(root)
    if not lock.datasets:
        return
    notes = lock_notes(root)
    states = [(number, earlier.to_bytes()) for number, earlier in lock_history(root)]
    for _, data in (*states, (0, lock.to_bytes())):
        objects.create(f"{STATES}{sha256_bytes(data)}", data)
    history = tuple((sha256_bytes(data), notes.get(number)) for number, data in states)
    # The pointer is written as after the last change of the history.
    before = LockState(0, history[-1][0], history[:-1]) if history else LockState()
    pointer = before.followed_by(sha256_bytes(lock.to_bytes()), history[-1][1] if history else None)
    try:
        objects.swap(POINTER, pointer, 0)
    except LostRace as race:
        raise _other(objects.uri(POINTER)) from race


def _rewrite(one: Objects, other: Objects, name: str, entry: ObjectInfo) -> None:
    """Copy an object without downloading it; `LineageGap` if the copy has another CRC32C."""
    source = one.bucket.blob(one.full_name(name))
    target = other.bucket.blob(other.full_name(name))
    request = {"timeout": one.patience.answer, "retry": one.patience.retry()}
    with translated(one.uri(name)):
        try:
            token, _, _ = target.rewrite(source, if_generation_match=0, **request)
            while token is not None:
                token, _, _ = target.rewrite(source, token=token, if_generation_match=0, **request)
        except PreconditionFailed:
            pass  # the answer to an earlier try was lost, or another copy runs: the bytes are compared below
        except NotFound as error:
            expected = "the object that was listed"
            raise BucketUnreachable(one.uri(name), expected=expected, found="no such object", do=AGAIN) from error
    copied = other.describe(name)
    if copied is None or not _is_same(copied, entry):
        actual = "no such object" if copied is None else f"CRC32C {copied.crc32c}"
        raise LineageGap(other.uri(name), expected=f"CRC32C {entry.crc32c}", found=actual, do=AGAIN)


def _rank(name: str) -> int:
    """Return the place of an object in the order of copying. Objects that others name come first."""
    return next((rank for rank, prefix in enumerate(_LAST, 1) if name.startswith(prefix)), 0)


def _is_same(one: ObjectInfo, other: ObjectInfo) -> bool:
    return (one.size, one.crc32c) == (other.size, other.crc32c)


def _other(where: str) -> SpecError:
    do = "copy to an empty folder, or continue the copy of the same root"
    return SpecError(where, expected="nothing, or the same as in the source", found="another", do=do)
