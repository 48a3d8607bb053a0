"""Reads both sides of each hunk back from a v3 document, and restores one version of the file from the other one.

Only the record is read: its text, the runs of its changes, its constituents and its chunks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import REMOVED_OP

HUNK_NAME: Final = "hunk "
"""The prefix of the names of chunks that are hunks."""


@dataclass(frozen=True, slots=True)
class HunkSides:
    """Both sides of a hunk.

    `first_byte` is the offset of its first line, in the version before if `first_removed`, else in the version after.
    """

    pre: bytes
    post: bytes
    first_byte: int
    first_removed: bool


def unrender(record: Mapping[str, Any]) -> list[HunkSides]:
    """Return the hunks of a v3 record in order."""
    runs = _runs(record[c.CHANGES])
    chunks = [chunk for chunk in record[c.CHUNK_BOUNDARIES] if chunk["name"].startswith(HUNK_NAME)]
    return [_sides(list(_lines(record, runs, chunk["char_offset"], chunk["char_end"]))) for chunk in chunks]


def other_side(hunks: Sequence[HunkSides], data: bytes, *, forward: bool) -> bytes | None:
    """Return the version after the commit for `data` before it (`forward`), or the version before for `data` after it.

    Return None if a hunk is not at its place in `data`.
    """
    found: list[bytes] = []
    done = shift = 0
    for hunk in hunks:
        mine, other = (hunk.pre, hunk.post) if forward else (hunk.post, hunk.pre)
        # `shift` is the difference of lengths so far. It converts an offset of one side to one of the other side.
        start = hunk.first_byte if hunk.first_removed == forward else hunk.first_byte - shift
        if start < done or data[start : start + len(mine)] != mine:
            return None
        found += [data[done:start], other]
        done = start + len(mine)
        shift += len(other) - len(mine)
    return b"".join([*found, data[done:]])


_Line = tuple[bytes, int, bool, bool]
"""Text, offset in its version, whether the side before has it, whether the side after has it."""


def _sides(lines: Sequence[_Line]) -> HunkSides:
    before = b"".join(text for text, _, pre, _ in lines if pre)
    after = b"".join(text for text, _, _, post in lines if post)
    return HunkSides(before, after, lines[0][1], not lines[0][3])


def _lines(
    record: Mapping[str, Any], runs: Sequence[tuple[int, int, int, int]], begin: int, end: int
) -> Iterator[_Line]:
    """Yield the parts from files in the text [begin, end), split where the edit changes."""
    for part in record[c.CONSTITUENTS]:
        if not begin <= part["char_start"] < end:
            continue
        byte = part["byte_start"]
        for start, stop, inserted, operation in runs:
            low, high = max(start, part["char_start"]), min(stop, part["char_end"])
            if low < high:
                data = record[c.TEXT][low:high].encode()
                yield data, byte, not inserted, operation != REMOVED_OP
                byte += len(data)


def _runs(changes: Sequence[Sequence[int]]) -> list[tuple[int, int, int, int]]:
    """Return (first character, character after the last, mask after, edit operation) of each run."""
    found, start = [], 0
    for count, _, post, _, operation in changes:
        found.append((start, start + count, post, operation))
        start += count
    return found
