"""Records which bucket a local folder caches, and which artifacts the bucket has. It imports no Google library."""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from megacpp_assets.contract.canonical import canonical_json, sha256_bytes
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.storage.atomic import write_any

BINDING: Final = ".bucket"
"""The folder of a cache that names its bucket and records what the bucket holds."""
CACHE_VARIABLE: Final = "MEGACPP_CACHE_ROOT"
_URI_FILE: Final = "uri"
_BUCKET_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")


@dataclass(frozen=True, slots=True)
class Location:
    """A folder of a bucket."""

    bucket: str
    folder: str

    @property
    def uri(self) -> str:
        """`gs://BUCKET/FOLDER`."""
        return f"gs://{self.bucket}/{self.folder}"

    @staticmethod
    def parse(uri: str) -> Location:
        """Parse `gs://BUCKET/FOLDER`; `SpecError` for anything else."""
        parts = urlsplit(uri)
        folder = parts.path.strip("/")
        plain = not any(name in ("", ".", "..") for name in folder.split("/"))
        if parts.scheme == "gs" and parts.netloc and not _BUCKET_NAME.fullmatch(parts.netloc):
            expected = "gs://BUCKET/FOLDER with a BUCKET of 3 or more lower-case letters, digits, '-', '_' and '.'"
            raise SpecError(f"bucket of {uri}", expected=expected, found=repr(parts.netloc), do="correct the name")
        if parts.scheme != "gs" or not parts.netloc or not plain or parts.query or parts.fragment:
            do = "name a bucket and a folder in it"
            raise SpecError(f"data root {uri}", expected="gs://BUCKET/FOLDER", found=uri, do=do)
        return Location(parts.netloc, folder)


@dataclass(frozen=True, slots=True)
class Record:
    """A cached reference of the bucket: its generation, and the manifest that it names."""

    generation: int
    manifest_sha256: str


def cache_folder(location: Location) -> Path:
    """Return the folder that caches `location` on this machine: below MEGACPP_CACHE_ROOT, else ~/.cache/megacpp."""
    base = Path(os.environ.get(CACHE_VARIABLE) or "~/.cache/megacpp").expanduser().resolve()
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", f"{location.bucket}__{location.folder}")
    return base / f"{plain[:80]}__{sha256_bytes(location.uri.encode())[:8]}"


def bind(root: Path, location: Location) -> None:
    """Make `root` the cache of `location`."""
    if binding_of(root) != location:
        write_any(root / BINDING / _URI_FILE, location.uri.encode())


def binding_of(root: Path) -> Location | None:
    """Return the location that `root` caches, or None if `root` is an ordinary data root."""
    try:
        return Location.parse((root / BINDING / _URI_FILE).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None


def is_stored(root: Path, path: str, manifest_sha256: str) -> bool:
    """Return whether the bucket's reference for `path` names this manifest. False for an ordinary data root."""
    record = read_record(root, path)
    return record is not None and record.manifest_sha256 == manifest_sha256


def record_file(root: Path, path: str) -> Path:
    """Return the file with the record of the reference for `path`. Its modification time is the last use."""
    return root / BINDING / "references" / f"{path}.json"


def read_record(root: Path, path: str) -> Record | None:
    """Return the record of the reference for `path`, or None if the bucket is not known to have one."""
    try:
        return Record(**json.loads(record_file(root, path).read_bytes()))
    except (FileNotFoundError, NotADirectoryError, ValueError, TypeError):
        return None


def write_record(root: Path, path: str, record: Record) -> None:
    """Record what the bucket's reference for `path` names now."""
    write_any(record_file(root, path), canonical_json(asdict(record)))


def recorded_paths(root: Path) -> list[str]:
    """Return the paths of all recorded references, sorted."""
    folder = root / BINDING / "references"
    return sorted(file.relative_to(folder).as_posix().removesuffix(".json") for file in folder.rglob("[!.]*.json"))
