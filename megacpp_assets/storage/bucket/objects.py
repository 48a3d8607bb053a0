"""Objects in a folder of a bucket: whole reads, writes under a generation, files with CRC32C. Requests are retried.

A write states the generation that it replaces (0: the object must be missing). A lost acknowledgement makes the retry
of a write fail that condition, so the object is read back: if it has the same bytes, the write succeeded.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, Final

import google_crc32c
import requests
from google.api_core.exceptions import NotFound, PreconditionFailed
from google.auth.exceptions import DefaultCredentialsError
from google.cloud import storage

from megacpp_assets.contract.errors import EnvironmentLacks, LineageGap, LostRace
from megacpp_assets.storage.bucket.answers import AGAIN, LOGIN, Patience, no_bucket, translated
from megacpp_assets.storage.bucket.binding import Location

_CHECKSUM: Final = "crc32c"
_TYPE: Final = "application/octet-stream"
_BLOCK: Final = 1 << 20
_TRIES: Final = 3
PATIENCE = Patience()


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """An object as the bucket describes it. `crc32c` is in base64; `updated` is by the bucket's clock."""

    size: int
    crc32c: str
    generation: int
    updated: datetime

    @staticmethod
    def of(blob: Any) -> ObjectInfo:
        """Return the entry of a blob whose metadata are loaded."""
        return ObjectInfo(int(blob.size), str(blob.crc32c), int(blob.generation), blob.updated)


@dataclass(frozen=True, slots=True)
class StoredObject:
    """The bytes of an object, and how the bucket describes them."""

    data: bytes
    entry: ObjectInfo

    @property
    def generation(self) -> int:
        """The generation that has these bytes."""
        return self.entry.generation


def open_objects(location: Location) -> Objects:
    """Return the objects at `location`; one client a process. `EnvironmentLacks` if there are no credentials."""
    return _open(location, os.environ.get("STORAGE_EMULATOR_HOST", ""), PATIENCE)


def objects_of(location: Location, client: Any) -> Objects:
    """Return the objects at `location` through `client`, a client of Google Cloud Storage."""
    return Objects(location, client.bucket(location.bucket), PATIENCE)


@lru_cache(maxsize=8)
def _open(location: Location, _emulator: str, patience: Patience) -> Objects:
    try:
        client = storage.Client()
    except (DefaultCredentialsError, OSError) as error:
        raise EnvironmentLacks(location.uri, expected="credentials", found="none", do=LOGIN) from error
    return Objects(location, client.bucket(location.bucket), patience)


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects below `location`. Names are relative to its folder."""

    location: Location
    bucket: Any
    patience: Patience

    def uri(self, name: str) -> str:
        """Return the URI of the object `name`."""
        return f"{self.location.uri}/{name}"

    def require_bucket(self) -> None:
        """Raise `BucketUnreachable` if the bucket does not exist."""
        with translated(self.location.uri):
            if not self.bucket.exists(**self._request):
                raise no_bucket(self.location.bucket)

    def read(self, name: str) -> StoredObject | None:
        """Return the object `name`, or None if it is missing. Its bytes belong to the returned generation."""
        with translated(self.uri(name)):
            found: StoredObject | None = self.patience.retry()(lambda: self._read(name))()
            return found

    def describe(self, name: str) -> ObjectInfo | None:
        """Return how the bucket describes the object, or None if it is missing."""
        with translated(self.uri(name)):
            blob = self.bucket.get_blob(self.full_name(name), **self._request)
        return None if blob is None else ObjectInfo.of(blob)

    def list(self, prefix: str) -> dict[str, ObjectInfo]:
        """Return every object whose name starts with `prefix`."""
        skip = len(self.full_name(""))
        with translated(self.uri(prefix)):
            try:
                blobs = self.bucket.client.list_blobs(self.bucket, prefix=self.full_name(prefix), **self._request)
                return {blob.name[skip:]: ObjectInfo.of(blob) for blob in blobs}
            except NotFound as error:
                raise no_bucket(self.location.bucket) from error

    def swap(self, name: str, data: bytes, generation: int) -> ObjectInfo:
        """Write `data` if the object has `generation`, and return the new entry; `LostRace` if it has another."""
        blob = self._blob(name)
        with translated(self.uri(name)):
            try:
                blob.upload_from_string(
                    data, _TYPE, if_generation_match=generation, checksum=_CHECKSUM, **self._request
                )
                return ObjectInfo.of(blob)
            except NotFound as error:
                raise no_bucket(self.location.bucket) from error
            except PreconditionFailed as error:
                found = self.read(name)
                if found is not None and found.data == data:
                    return found.entry
                raise self._lost(name, generation, found.entry if found else None) from error

    def create(self, name: str, data: bytes) -> None:
        """Write an object whose name decides its bytes. An existing one is left as it is."""
        for left in reversed(range(_TRIES)):
            try:
                self.swap(name, data, 0)
                return
            except LostRace:
                if self.describe(name) is not None:
                    return
                if not left:  # missing each time, and yet not to be created
                    raise

    def put_file(self, name: str, file: Path, crc32c: str, generation: int) -> None:
        """Upload `file` over the object of `generation`; `LostRace` if the object has another one, and other bytes."""
        blob = self._blob(name)
        with translated(self.uri(name)):
            try:
                blob.upload_from_filename(
                    str(file), _TYPE, if_generation_match=generation, checksum=_CHECKSUM, **self._request
                )
                now = ObjectInfo.of(blob)
            except NotFound as error:
                raise no_bucket(self.location.bucket) from error
            except PreconditionFailed as error:
                found = self.describe(name)
                if found is None or (found.size, found.crc32c) != (file.stat().st_size, crc32c):
                    raise self._lost(name, generation, found) from error
                return
        if now.crc32c != crc32c:
            raise LineageGap(self.uri(name), expected=f"CRC32C {crc32c}", found=f"CRC32C {now.crc32c}", do=AGAIN)

    def download(self, name: str, open_target: Callable[[], IO[bytes]]) -> bool:
        """Write the object to the file that `open_target` opens for each try; return False if the object is missing."""

        def once() -> None:
            with open_target() as target:
                self._blob(name).download_to_file(
                    target, checksum=_CHECKSUM, timeout=self.patience.answer, retry=None, single_shot_download=True
                )

        with translated(self.uri(name)):
            try:
                self.patience.retry()(once)()
            except NotFound:
                return False
        return True

    def delete(self, name: str, generation: int) -> bool:
        """Delete the object if it has `generation`; return False if it has another. A missing one counts as deleted."""
        with translated(self.uri(name)):
            try:
                self._blob(name).delete(if_generation_match=generation, **self._request)
            except NotFound:
                return True
            except PreconditionFailed:
                return False
        return True

    def full_name(self, name: str) -> str:
        """Return the name of the object `name` in the bucket."""
        return f"{self.location.folder}/{name}"

    def _read(self, name: str) -> StoredObject | None:
        blob = self.bucket.get_blob(self.full_name(name), timeout=self.patience.answer, retry=None)
        if blob is None:
            return None
        entry = ObjectInfo.of(blob)
        try:
            data = blob.download_as_bytes(checksum=_CHECKSUM, timeout=self.patience.answer, retry=None)
        except NotFound:
            return None
        if crc32c_of(data) != entry.crc32c:  # it was replaced between the two requests; a retry repeats both
            raise requests.ConnectionError(f"{self.uri(name)} changed while it was read")
        return StoredObject(data, entry)

    @property
    def _request(self) -> dict[str, Any]:
        return {"timeout": self.patience.answer, "retry": self.patience.retry()}

    def _blob(self, name: str) -> Any:
        return self.bucket.blob(self.full_name(name))

    def _lost(self, name: str, generation: int, found: ObjectInfo | None) -> LostRace:
        has = "no such object" if found is None else f"generation {found.generation}"
        do = f"another machine changed it; {AGAIN}"
        return LostRace(self.uri(name), expected=f"generation {generation}", found=has, do=do)


def crc32c_of(data: bytes) -> str:
    """Return the CRC32C of `data` as the bucket writes it: four bytes in base64."""
    return _in_base64(google_crc32c.value(data))


def crc32c_of_file(file: Path) -> str:
    """Return the CRC32C of a file as the bucket writes it."""
    value = 0
    with file.open("rb") as source:
        while block := source.read(_BLOCK):
            value = google_crc32c.extend(value, block)
    return _in_base64(value)


def _in_base64(crc32c: int) -> str:
    return base64.b64encode(crc32c.to_bytes(4, "big")).decode("ascii")
