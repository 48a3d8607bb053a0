"""What the symbol table of a semantic artifact promises its readers: no definition lost, no id without a name."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from megacpp_assets.semantic.symbol_names import symbol_id
from megacpp_assets.semantic.symbol_rows import MACRO, NAMESPACE

Row = Mapping[str, Any]
Ranges = list[tuple[int, int]]


def lost_definitions(symbols: Iterable[Row], placed: Mapping[str, Ranges]) -> list[str]:
    """Definitions that lie in none of their file's `placed` ranges, joined where those touch.

    A namespace is larger than any document, and an include guard belongs to none.
    """
    merged = {path: _merged(found) for path, found in placed.items()}
    return [
        f"{row['qualified_name']} ({row['filepath']}:{row['byte_start']})"
        for row in symbols
        if row["definition"]
        and row["kind"] not in (MACRO, NAMESPACE)
        and not _holds(merged.get(row["filepath"], []), row["byte_start"], row["byte_end"])
    ]


def nameless(symbols: Sequence[Row], used: Iterable[int]) -> Iterator[str]:
    """Ids of `used` without a row, and rows whose id is not their name's."""
    known = {row["symbol_id"] for row in symbols}
    yield from (f"{number} has no row" for number in sorted(set(used) - known))
    for row in symbols:
        if symbol_id(row["qualified_name"]) != row["symbol_id"]:
            yield f"{row['symbol_id']} is not the id of {row['qualified_name']}"


def _merged(ranges: Iterable[tuple[int, int]]) -> Ranges:
    result: Ranges = []
    for start, end in sorted(ranges):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return result


def _holds(ranges: Ranges, start: int, end: int) -> bool:
    index = bisect_right(ranges, (start, 1 << 62)) - 1
    return index >= 0 and ranges[index][1] >= end
