"""Opens a data root in a bucket: its cache on this machine, with lock, manifests and receipts up to date."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from megacpp_assets.contract.canonical import canonical_json
from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.storage.artifact import find_artifact
from megacpp_assets.storage.bucket.binding import (
    Location,
    bind,
    binding_of,
    cache_folder,
    read_record,
    record_file,
    recorded_paths,
)
from megacpp_assets.storage.bucket.eviction import trim
from megacpp_assets.storage.bucket.lock import pull_lock_into
from megacpp_assets.storage.bucket.objects import Objects, objects_of, open_objects
from megacpp_assets.storage.bucket.parallel import in_parallel
from megacpp_assets.storage.bucket.references import REFERENCES, pull_reference
from megacpp_assets.storage.bucket.shared_files import pull_shared_files
from megacpp_assets.storage.root.locks import in_turn

FORMAT_NAME: Final = "root"
_FORMAT: Final = canonical_json({"format": 1})


def open_root(uri: str) -> Path:
    """Return the cache of the data root `gs://BUCKET/FOLDER`, up to date with the bucket. Data files follow when read.

    Raises:
        SpecError: `uri` is malformed.
        EnvironmentLacks: there are no credentials, or access is denied.
        BucketUnreachable: the bucket does not exist or does not answer.
        LineageGap: the folder has another format, or an object was changed.
    """
    location = Location.parse(uri)
    objects, root = open_objects(location), cache_folder(location)
    require_format(objects)
    root.mkdir(parents=True, exist_ok=True)
    bind(root, location)
    _pull_all(objects, root)
    return root


def refresh(root: Path, client: Any) -> int:
    """Bring a cache up to date through `client`, a client of Google's; return how many references changed.

    Raises as `open_root` does.
    """
    location = binding_of(root)
    assert location is not None
    return _pull_all(objects_of(location, client), root)


def require_format(objects: Objects, *, create: bool = True) -> None:
    """Raise `LineageGap` unless the folder is a data root of this format. With `create` an empty folder becomes one."""
    found = objects.read(FORMAT_NAME)
    if found is None:
        objects.require_bucket()
        if create:
            objects.create(FORMAT_NAME, _FORMAT)
            found = objects.read(FORMAT_NAME)
    if found is None or found.data != _FORMAT:
        actual = "no such object" if found is None else repr(found.data[:80])
        do = "name another folder, or use the release that wrote it"
        raise LineageGap(objects.uri(FORMAT_NAME), expected=_FORMAT.decode().strip(), found=actual, do=do)


def _pull_all(objects: Objects, root: Path) -> int:
    with in_turn(root, "bucket", writes=True):
        pull_lock_into(objects, root)
        changed = pull_references(objects, root)
        pull_shared_files(objects, root)
        trim(root)
        return changed


def pull_references(objects: Objects, root: Path) -> int:
    """Pull every reference that is new or was moved; return their number. A path without one counts as not stored."""
    listed = {name.removeprefix(REFERENCES): entry for name, entry in objects.list(REFERENCES).items()}
    for path in recorded_paths(root):
        if path not in listed:
            record_file(root, path).unlink(missing_ok=True)
    changed = [path for path, entry in listed.items() if not _is_known(root, path, entry.generation)]
    in_parallel(lambda path: pull_reference(objects, root, path), changed)
    return len(changed)


def adopt(root: Path, path: str) -> None:
    """Install the artifact at `path` if another machine has stored one since the last pull."""
    location = binding_of(root)
    assert location is not None
    pull_reference(open_objects(location), root, path)


def _is_known(root: Path, path: str, generation: int) -> bool:
    record = read_record(root, path)
    return record is not None and record.generation == generation and find_artifact(root, path) is not None
