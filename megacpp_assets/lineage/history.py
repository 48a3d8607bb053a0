"""The history of a data root: the graph of its manifests by their hashes, from each artifact to its inputs.

The manifests sealed on the disk and those kept in the history folder are the source of truth. Reading ten thousand of
them takes a second, so a cache entry holds what was read. A seal whose state has changed is read again.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from megacpp_assets.contract.canonical import sha256_bytes
from megacpp_assets.contract.columns import COMPLETE_FILE, MANIFEST_FILE
from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.contract.manifest import InputRef, Manifest, ours, require_format
from megacpp_assets.storage.caching.cache import Cache
from megacpp_assets.storage.root.history import kept_manifest, kept_manifests
from megacpp_assets.storage.root.layout import ARTIFACT_DEPTHS, lineage_cache_path
from megacpp_assets.storage.root.locks import LOCKS_DIRECTORY

_ENTRY: Final = sha256_bytes(b"history 2")
"""The key of the only cache entry. The number changes with the entry's format, or if stored rows may be wrong."""
_COMMIT_KEYS: Final = {"pinned_repos": ("config", "commit"), "tokenizer": ("stats", "commit")}

State = list[int]
"""Inode, size in bytes, modification time and change time (both in ns) of a seal."""


@dataclass(frozen=True, slots=True)
class KnownManifest:
    """A manifest of the history: its hash, the path of its artifact, its stage and partition, and its inputs.

    `commit` is set for a repository and for a tokenizer; for all other stages it is "".
    """

    sha256: str
    path: str
    stage: str
    partition: str
    commit: str
    inputs: tuple[InputRef, ...]


@dataclass(frozen=True, slots=True)
class ManifestHistory:
    """The manifests of a data root by hash. `on_disk` maps each sealed artifact's path to the hash of its manifest."""

    root: Path
    rows: Mapping[str, list[Any]]
    on_disk: Mapping[str, str]

    def find(self, sha256: str) -> KnownManifest:
        """Return the manifest with this hash. Raises `LineageGap` if the history lacks it."""
        if sha256 not in self.rows:
            raise _missing(sha256)
        path, stage, partition, commit, inputs = self.rows[sha256]
        return KnownManifest(sha256, path, stage, partition, commit, tuple(InputRef(*entry) for entry in inputs))

    def of_stage(self, stage: str) -> Iterator[KnownManifest]:
        """Return every manifest of a stage, replaced ones included."""
        return (self.find(sha256) for sha256, row in self.rows.items() if row[1] == stage)

    def is_on_disk(self, made: KnownManifest) -> bool:
        """Return whether the artifact with this manifest is still at its path, not replaced and not removed."""
        return self.on_disk.get(made.path) == made.sha256

    def read(self, made: KnownManifest) -> Manifest:
        """Return the whole manifest, from the disk or from the history folder.

        The artifact may have been replaced since the history was read. Raises `LineageGap` if its manifest is gone.
        """
        sha256, data = _sealed(self.root, made.path)
        if sha256 != made.sha256:
            try:
                _, data = kept_manifest(self.root, made.sha256)
            except FileNotFoundError:
                raise _missing(made.sha256) from None
        return Manifest.from_bytes(data, made.path)

    def chain(self, made: KnownManifest) -> dict[str, KnownManifest]:
        """Return `made` and all its direct and indirect inputs, by hash.

        Raises `LineageGap`, which names the first missing manifest.
        """
        reached = {made.sha256: made}
        queue = [made]
        while queue:
            for entry in queue.pop().inputs:
                if entry.manifest_sha256 not in reached:
                    found = self._input(entry)
                    reached[found.sha256] = found
                    queue.append(found)
        return reached

    def made_from(self, sources: Iterable[str], *, without: str = "") -> set[str]:
        """Return hashes of all manifests that were made, directly or not, from the manifests with the hashes `sources`.

        Paths through a manifest of the stage `without` do not count.
        """
        users: dict[str, list[str]] = defaultdict(list)
        for sha256, row in self.rows.items():
            for entry in row[4]:
                users[entry[1]].append(sha256)
        found: set[str] = set()
        queue = list(sources)
        while queue:
            for user in users.get(queue.pop(), ()):
                if user not in found and self.rows[user][1] != without:
                    found.add(user)
                    queue.append(user)
        return found

    def missing(self) -> dict[str, str]:
        """Return the hash and path of every input whose manifest is neither sealed on the disk nor kept."""
        inputs = (entry for row in self.rows.values() for entry in row[4])
        return {sha256: path for path, sha256 in inputs if sha256 not in self.rows}

    def _input(self, entry: InputRef) -> KnownManifest:
        try:
            return self.find(entry.manifest_sha256)
        except LineageGap as gap:
            raise LineageGap(f"{entry.path}: {gap}") from gap


def read_history(root: Path) -> ManifestHistory:
    """Return the history of `root`. Only its cache is written.

    Raises `LineageGap` if a kept manifest does not have the hash that names it.
    """
    cached = _read_cache(root)
    states, rows = cached["states"], cached["rows"]
    new_states, found = {}, dict(rows)
    for path, state in _seals(root):
        known = states.get(path)
        if known is not None and known[0] == state:
            new_states[path] = known
            continue
        sha256, manifest = _sealed(root, path)
        if sha256:
            new_states[path] = [state, sha256]
            # Another process may replace the artifact now, so its manifest is read only once.
            found[sha256] = found.get(sha256) or _row(path, manifest)
    on_disk = {path: sha256 for path, (_, sha256) in new_states.items()}
    wanted = dict.fromkeys([*kept_manifests(root), *on_disk.values()])
    kept = {sha256: found.get(sha256) or _row(*kept_manifest(root, sha256)) for sha256 in wanted}
    if new_states != states or kept.keys() != rows.keys():
        _write_cache(root, {"states": new_states, "rows": kept})
    return ManifestHistory(root, kept, on_disk)


def _missing(sha256: str) -> LineageGap:
    do = "put it back from a copy of the data root, or run again what was made from it"
    return LineageGap(f"manifest {sha256}", expected="sealed on the disk, or kept", found="neither", do=do)


def _seals(root: Path) -> Iterator[tuple[str, State]]:
    """Yield (path, state of the seal) of every artifact on the disk. Folders inside an artifact are not listed."""
    for folder, depth in ARTIFACT_DEPTHS.items():
        for path in _below(root, folder, depth):
            with suppress(OSError):
                stat = os.stat(f"{root}/{path}/{COMPLETE_FILE}")
                yield path, [stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]


def _below(root: Path, path: str, depth: int) -> Iterator[str]:
    try:
        names = sorted(os.listdir(f"{root}/{path}"))
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names:
        if depth == 1:
            yield f"{path}/{name}"
        else:
            yield from _below(root, f"{path}/{name}", depth - 1)


def _sealed(root: Path, path: str) -> tuple[str, bytes]:
    """Return the hash in a seal, and the manifest that has this hash.

    Both are empty if a file is missing or the hashes differ, as during a replacement.
    """
    try:
        sha256 = (root / path / COMPLETE_FILE).read_text(encoding="ascii", errors="replace").strip()
        manifest = (root / path / MANIFEST_FILE).read_bytes()
    except FileNotFoundError:
        return "", b""
    return (sha256, manifest) if sha256_bytes(manifest) == sha256 else ("", b"")


def _row(path: str, data: bytes) -> list[Any]:
    """Return the row of the manifest `data`: path, stage, partition, commit, and (path, hash) of each input."""
    # A `Manifest` object would hold an entry per file. Building those entries costs more than all the rest.
    with ours(path):
        manifest = orjson.loads(data)
        require_format(manifest["format"])
        section, key = _COMMIT_KEYS.get(manifest["stage"], ("", ""))
        commit = manifest[section].get(key, "") if section else ""
        inputs = [[entry["path"], entry["manifest_sha256"]] for entry in manifest["inputs"]]
        return [path, manifest["stage"], manifest["partition"], commit, inputs]


def _read_cache(root: Path) -> dict[str, Any]:
    entry = Cache(root / lineage_cache_path()).peek(_ENTRY)
    return orjson.loads(entry) if entry else {"states": {}, "rows": {}}  # type: ignore[no-any-return]


def _write_cache(root: Path, facts: Mapping[str, Any]) -> None:
    # A copy of some folders of a data root has no folder of locks: nothing is written there.
    # A data root on a read-only disk can still be read, so a failed write is ignored.
    if (root / LOCKS_DIRECTORY).is_dir():
        with suppress(OSError):
            Cache(root / lineage_cache_path()).put(_ENTRY, orjson.dumps(facts))
