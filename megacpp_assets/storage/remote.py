"""The functions for a data root in a bucket that the rest of the package uses.

In an ordinary data root they do nothing.

Google's client takes half a second to load, so it is imported only for a root in a bucket.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from megacpp_assets.contract.manifest import FileEntry
from megacpp_assets.storage.bucket.binding import binding_of, is_stored

if TYPE_CHECKING:
    from megacpp_assets.storage.artifact import Artifact
    from megacpp_assets.storage.bucket.lock import LockState

SCHEME = "gs://"


def open_root(uri: str) -> Path:
    """Return the cache on this machine of the data root at `uri`, up to date with the bucket."""
    from megacpp_assets.storage.bucket.root import open_root as open_bucket_root

    return open_bucket_root(uri)


def is_cache(root: Path) -> bool:
    """Return whether `root` is the cache of a bucket."""
    return binding_of(root) is not None


def shown_root(root: Path) -> str:
    """Return how a user names `root`: the URI of the bucket that it caches, else its path."""
    location = binding_of(root)
    return str(root) if location is None else location.uri


def fetch(artifact: Artifact, entries: Sequence[FileEntry]) -> None:
    """Fetch those of `entries` that a cache lacks; `LineageGap` names an object that is missing or has changed."""
    if binding_of(artifact.root) is not None:
        from megacpp_assets.storage.bucket.transfer import fetch as fetch_from_bucket

        fetch_from_bucket(artifact, entries)


def store(artifact: Artifact) -> None:
    """Store a checked artifact of a cache in its bucket; `LostRace` if another machine stored a different one."""
    if binding_of(artifact.root) is not None:
        from megacpp_assets.storage.bucket.transfer import store as store_in_bucket

        store_in_bucket(artifact)


def adopt(root: Path, path: str) -> None:
    """Install what another machine has stored at `path` since the root was opened."""
    if binding_of(root) is not None:
        from megacpp_assets.storage.bucket.root import adopt as adopt_from_bucket

        adopt_from_bucket(root, path)


def lacks(artifact: Artifact) -> bool:
    """Return whether `artifact` is in a cache and missing in its bucket."""
    root = artifact.root
    return binding_of(root) is not None and not is_stored(root, artifact.path, artifact.manifest.sha256)


def pull_lock(root: Path) -> LockState | None:
    """Bring `corpus.lock` of a cache up to date and return its state in the bucket; None for an ordinary root."""
    if binding_of(root) is None:
        return None
    from megacpp_assets.storage.bucket.lock import pull_lock as pull_from_bucket

    return pull_from_bucket(root)


def push_lock(root: Path, state: LockState | None, lock: bytes, note: Mapping[str, Any] | None) -> bool:
    """Replace `state` by `lock` in the bucket; False if another machine was first. True for an ordinary root."""
    if state is None:
        return True
    from megacpp_assets.storage.bucket.lock import push_lock as push_to_bucket

    return push_to_bucket(root, state, lock, note)
