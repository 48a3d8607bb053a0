"""Reads the entries of a JSON compile database one at a time, so that a file of any size costs the memory of one
entry.

Malformed entries are skipped. If a limit ends the reading, or the text is not JSON, `Reading.reason` says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import ijson  # type: ignore[import-untyped]

from megacpp_assets.semantic.commands.database.windows import posix_path

MAX_BYTES = 64 << 20
MAX_ENTRIES = 200_000
MAX_ENTRY_BYTES = 8 << 20
"""Bytes of one entry's arguments: 64 times the longest command line of Linux."""

MAX_NESTING = 64
_CHUNK_BYTES = 4 << 20
"""Bytes read at once. For a long string the parser starts its search again with each piece, so pieces are large."""
_STARTS, _ENDS = frozenset({"start_map", "start_array"}), frozenset({"end_map", "end_array"})


class Entry(NamedTuple):
    """One entry: a command line, or its arguments with the compiler's name, as written.

    Paths are POSIX paths, whatever system wrote them.
    """

    directory: str
    file: str
    command: str | tuple[str, ...]


class Reading:
    """Reads the entries of the database at `path`. After each pass, `reason` says why it ended early, or is "".

    `malformed`: the text is not JSON. This may show after many entries, which then do not count.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.reason = ""
        self.malformed = False

    def __iter__(self) -> Iterator[Entry]:
        if self._path.stat().st_size > MAX_BYTES:
            self.reason = f"more than {MAX_BYTES:,} bytes"
            return
        try:
            yield from self._entries()
        except (ijson.JSONError, UnicodeDecodeError, ArithmeticError) as error:
            self.reason, self.malformed = f"no JSON: {type(error).__name__}", True

    def _entries(self) -> Iterator[Entry]:
        with self._path.open("rb") as file:
            for number, item in enumerate(_items(ijson.basic_parse(file, use_float=True, buf_size=_CHUNK_BYTES))):
                if number == MAX_ENTRIES:
                    self.reason = f"more than {MAX_ENTRIES:,} entries; the others are not read"
                    return
                entry = _entry(item)
                if entry is not None:
                    yield entry


def _items(events: Iterable[tuple[str, Any]]) -> Iterator[Any]:
    """Yield the items of the outermost list. The memory of `ijson.items` grows with the square of the nesting."""
    depth = 0
    item = ijson.ObjectBuilder()
    for event, value in events:
        depth -= event in _ENDS
        if depth:
            item.event(event, value)
        elif event not in ("start_array", "end_array"):
            raise ijson.JSONError("no list")
        depth += event in _STARTS
        if depth > MAX_NESTING:
            raise ijson.JSONError("nested too deeply")
        if depth == 1 and event != "start_array":
            yield item.value
            item = ijson.ObjectBuilder()


def _entry(item: Any) -> Entry | None:
    if not isinstance(item, dict):
        return None
    directory, file, command = (item.get(name) for name in ("directory", "file", "arguments"))
    if command is None:
        command = item.get("command")
    elif isinstance(command, list) and all(isinstance(argument, str) for argument in command):
        command = tuple(command)
    if not isinstance(directory, str) or not isinstance(file, str) or not isinstance(command, (str, tuple)):
        return None
    if isinstance(command, str) and item.get("arguments") is not None:
        return None
    return (
        Entry(posix_path(directory), posix_path(file), command) if sum(map(len, command)) <= MAX_ENTRY_BYTES else None
    )
