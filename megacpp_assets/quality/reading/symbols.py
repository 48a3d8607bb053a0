"""Checks the symbol table of a semantic artifact: every definition is in a document, and every id has a name.

A large repository has millions of rows, with locals among them. They stay in Arrow; only the rows that a rule needs
become Python objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from megacpp_assets.semantic.documents.lost import Ranges, holds, merged
from megacpp_assets.semantic.graph.symbol_rows import MACRO, NAMESPACE
from megacpp_assets.semantic.labels.symbol_names import symbol_id


def lost_definitions(symbols: pa.Table, placed: Mapping[str, Ranges]) -> list[str]:
    """Return definitions that no `placed` range of their file contains. Ranges that touch are joined first.

    Namespaces are left out, which are larger than any document, and macros, as an include guard is in no document.
    """
    ranges = {path: merged(found) for path, found in placed.items()}
    in_documents = pc.invert(pc.is_in(symbols["kind"], pa.array([MACRO, NAMESPACE])))
    columns = ["qualified_name", "filepath", "byte_start", "byte_end"]
    definitions = symbols.filter(pc.and_(symbols["definition"], in_documents)).select(columns)
    return [
        f"{name} ({path}:{start})"
        for name, path, start, end in _rows(definitions)
        if not holds(ranges.get(path, []), start, end)
    ]


def unnamed_symbols(symbols: pa.Table, used: Iterable[int]) -> Iterator[str]:
    """Yield a problem for each id of `used` without a row, and for each row whose id is not the hash of its name."""
    ids = np.array(sorted(used), dtype=np.int64)
    missing = ids[~np.isin(ids, symbols["symbol_id"].to_numpy())]
    yield from (f"{number} has no row" for number in missing.tolist())
    named = symbols.group_by(["symbol_id", "qualified_name"], use_threads=False).aggregate([])
    for number, name in _rows(named):
        if symbol_id(name) != number:
            yield f"{number} is not the id of {name}"


def _rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    """Yield the rows as tuples. Dictionaries would take twice as long."""
    for batch in table.to_batches():
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
