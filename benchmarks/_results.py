"""Results that are kept as lines of JSON, so that a benchmark of hours resumes after it was killed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class Results:
    """Lines of a file by their `key`, which names all that decides a line. A line that a kill cut off is dropped."""

    def __init__(self, file: Path) -> None:
        self._file = file
        kept, found = file.read_bytes().splitlines(keepends=True) if file.exists() else [], {}
        whole = [line for line in kept if line.endswith(b"\n")]
        if len(whole) < len(kept):
            file.write_bytes(b"".join(whole))
        for line in map(json.loads, whole):
            found[line["key"]] = line
        self._known: dict[str, dict[str, Any]] = found

    def get(self, key: str) -> dict[str, Any] | None:
        """The line of `key`."""
        return self._known.get(key)

    def add(self, line: dict[str, Any]) -> dict[str, Any]:
        """Keep a line; gives it back."""
        with self._file.open("a") as stream:
            stream.write(json.dumps(line) + "\n")
        self._known[line["key"]] = line
        return line
