"""The exchange: storage that the launching machine and the job can both reach.

An exchange holds whole files by name and nothing else. Neither machine connects to the other, no port is open, and no
directory is listed. A written file appears whole or not at all. A reader reads no more bytes than it asked for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Protocol

from megacpp_assets.contract.errors import OverLimit

RECORD_BYTES: Final = 64 << 20
"""The largest record that a reader accepts. Metrics of long runs and large manifests stay far below."""


class Exchange(Protocol):
    """Files by name, such as `a/b/c`. Every method raises `Unanswered` if the storage gives no answer now."""

    @property
    def uri(self) -> str:
        """The address of the exchange, the same for both machines."""

    def read(self, name: str, limit: int = RECORD_BYTES) -> bytes | None:
        """Return the whole file, or None if it is missing; `OverLimit` if it has more than `limit` bytes."""

    def write(self, name: str, data: bytes) -> None:
        """Write a small file, and replace an existing one."""

    def holds(self, name: str, size: int) -> bool:
        """Return whether a file of that name and size (bytes) exists."""

    def send(self, name: str, file: Path) -> None:
        """Copy the local `file` to the exchange."""

    def fetch(self, name: str, file: Path, size: int) -> None:
        """Copy a file of the exchange to the local `file`; `LineageGap` if it is missing or not of `size` bytes."""


def too_large(name: str, limit: int) -> OverLimit:
    """Return the error for a file that is longer than its reader accepts."""
    return OverLimit(name, expected=f"at most {limit} bytes", found="more", do="check who else writes there")
