"""Reads every object that a reference of a bucket leads to, and compares it with its manifest. It stores nothing."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from typing import Any

from megacpp_assets.contract.columns import MANIFEST_FILE
from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.contract.manifest import FileEntry, Manifest
from megacpp_assets.storage.artifact import Examined, Finding
from megacpp_assets.storage.bucket.binding import Location
from megacpp_assets.storage.bucket.lock import POINTER, read_lock_bytes, read_state
from megacpp_assets.storage.bucket.objects import Objects, open_objects
from megacpp_assets.storage.bucket.parallel import in_parallel
from megacpp_assets.storage.bucket.references import REFERENCES, artifact_object, read_manifest, read_reference
from megacpp_assets.storage.bucket.root import require_format


def examine_bucket(uri: str) -> Iterator[Examined]:
    """Yield the lock, and each artifact in the order of paths, with what is wrong with it. Every byte is downloaded.

    Raises as `open_root` does, but not for a changed object. An artifact of several paths is read once.
    """
    objects = open_objects(Location.parse(uri))
    require_format(objects, create=False)
    yield _examine_lock(objects)
    known: dict[str, Examined] = {}
    for name in sorted(objects.list(REFERENCES)):
        path = name.removeprefix(REFERENCES)
        try:
            found = read_reference(objects, path)
        except LineageGap as gap:
            yield Examined(path, 0, 0, (_finding(gap),))
            continue
        if found is None:
            continue  # removed since it was listed
        sha256 = found[0].manifest_sha256
        if sha256 not in known:
            known[sha256] = _examine_artifact(objects, path, sha256)
            yield known[sha256]
        else:
            yield Examined(path, 0, 0, known[sha256].problems)


def _examine_lock(objects: Objects) -> Examined:
    size, files, problems = 0, 0, []
    try:
        state = read_state(objects)
        names = [sha256 for sha256, _ in state.history] + [state.present] * bool(state.present)
        for sha256 in names:
            size, files = size + len(read_lock_bytes(objects, sha256)), files + 1
    except LineageGap as gap:
        problems.append(_finding(gap))
    return Examined(POINTER, files, size, tuple(problems))


def _examine_artifact(objects: Objects, path: str, sha256: str) -> Examined:
    try:
        name = objects.uri(artifact_object(sha256, MANIFEST_FILE))
        entries = Manifest.from_bytes(read_manifest(objects, sha256), name).files
    except LineageGap as gap:
        return Examined(path, 0, 0, (_finding(gap),))
    problems: list[Finding] = []
    in_parallel(lambda entry: problems.extend(_differences(objects, sha256, entry)), entries)
    return Examined(path, len(entries), sum(entry.bytes for entry in entries), tuple(sorted(problems)))


def _differences(objects: Objects, manifest_sha256: str, entry: FileEntry) -> Iterator[Finding]:
    name, read = artifact_object(manifest_sha256, entry.name), [_Sink()]

    def begin() -> Any:
        read.append(_Sink())
        return read[-1]

    is_there = objects.download(name, begin)
    found = f"sha256 {read[-1].sha256.hexdigest()}" if is_there else "no such object"
    if found != f"sha256 {entry.sha256}":
        yield objects.uri(name), f"sha256 {entry.sha256}", found


def _finding(gap: LineageGap) -> Finding:
    return gap.what, str(gap.expected), str(gap.found)


class _Sink(io.RawIOBase):
    """Hashes what is written to it."""

    def __init__(self) -> None:
        self.sha256 = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.sha256.update(data)
        return len(data)
