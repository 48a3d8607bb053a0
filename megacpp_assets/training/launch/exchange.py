"""The place that the launching side and a job can both reach: a shared folder (`file://`) or a bucket (`gs://`).

Whole files by name, nothing else: neither side reaches the other, no port is open, no directory is listed. What is
written appears whole or not at all, and no more of a file is read than its reader asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import unquote, urlsplit

from megacpp_assets.contract.errors import LineageGap, OverLimit, SpecError
from megacpp_assets.storage.atomic import copy_any, write_any

RECORD_BYTES: Final = 64 << 20
"""The most that a record of an exchange may hold: metrics of long runs and manifests of many files stay far below."""

_PART_BYTES: Final = 1 << 20


class Exchange(Protocol):
    """Files by name, `a/b/c`. `Unanswered` where the place gives no answer now."""

    @property
    def uri(self) -> str:
        """Where it is, for both sides."""

    def read(self, name: str, limit: int = RECORD_BYTES) -> bytes | None:
        """All of a file, None if there is none; `OverLimit` for one of over `limit` bytes."""

    def write(self, name: str, data: bytes) -> None:
        """Put a small file there, over what is there."""

    def holds(self, name: str, size: int) -> bool:
        """Whether a file of that name and size is there."""

    def send(self, name: str, file: Path) -> None:
        """Put a copy of `file` there."""

    def fetch(self, name: str, file: Path, size: int) -> None:
        """Copy what is there to `file`; `LineageGap` if there is none or it is not of `size` bytes."""


def open_exchange(uri: str) -> Exchange:
    """The exchange at `uri`. `SpecError` for what is neither a folder nor a place in a bucket."""
    parts = urlsplit(uri)
    path = unquote(parts.path)
    if parts.scheme == "file" and not parts.netloc and path.strip("/"):
        return Folder(Path(path))
    if parts.scheme == "gs" and parts.netloc and not parts.query:
        from megacpp_assets.training.launch.bucket import open_bucket  # noqa: PLC0415  half a second, for who needs it

        return open_bucket(parts.netloc, path.strip("/"))
    raise SpecError("exchange", expected="file:///FOLDER or gs://BUCKET/FOLDER", found=uri)


@dataclass(frozen=True, slots=True)
class Folder:
    """An exchange on a file system that both sides have mounted."""

    folder: Path

    @property
    def uri(self) -> str:
        """`file:///...`."""
        return self.folder.as_uri()

    def read(self, name: str, limit: int = RECORD_BYTES) -> bytes | None:
        """See `Exchange`."""
        try:
            with (self.folder / name).open("rb") as file:
                data = file.read(limit + 1)
        except FileNotFoundError:
            return None
        if len(data) > limit:
            raise too_large(f"{self.uri}/{name}", limit)
        return data

    def write(self, name: str, data: bytes) -> None:
        """See `Exchange`."""
        write_any(self.folder / name, data)

    def holds(self, name: str, size: int) -> bool:
        """See `Exchange`."""
        file = self.folder / name
        return file.is_file() and file.stat().st_size == size

    def send(self, name: str, file: Path) -> None:
        """See `Exchange`."""
        copy_any(self.folder / name, file)

    def fetch(self, name: str, file: Path, size: int) -> None:
        """See `Exchange`."""
        source = self.folder / name
        if not self.holds(name, size):
            found = f"{source.stat().st_size} bytes" if source.is_file() else "none"
            raise LineageGap(f"{self.uri}/{name}", expected=f"a file of {size} bytes", found=found)
        with source.open("rb") as data, file.open("wb") as copy:
            left = size
            while left and (part := data.read(min(left, _PART_BYTES))):
                copy.write(part)
                left -= len(part)


def too_large(what: str, limit: int) -> OverLimit:
    """The error for a file that is longer than its reader would take."""
    return OverLimit(what, expected=f"at most {limit} bytes", found="more", do="look at who else writes there")
