"""An exchange on a file system that both machines have mounted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.launch.protocol.exchange import RECORD_BYTES, too_large
from megacpp_assets.storage.atomic import copy_any, write_any

_PART_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class SharedFolder:
    """The exchange in `folder`. The methods are those of `Exchange`."""

    folder: Path

    @property
    def uri(self) -> str:
        """`file:///…`."""
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
        """See `Exchange`. A file that grows meanwhile is cut at `size` bytes; its hash then differs."""
        source = self.folder / name
        if not self.holds(name, size):
            found = f"{source.stat().st_size} bytes" if source.is_file() else "none"
            raise LineageGap(f"{self.uri}/{name}", expected=f"a file of {size} bytes", found=found)
        with source.open("rb") as data, file.open("wb") as copy:
            left = size
            while left and (part := data.read(min(left, _PART_BYTES))):
                copy.write(part)
                left -= len(part)
