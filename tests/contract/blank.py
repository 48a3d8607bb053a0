"""Records whose values nobody chose, for tests that set only the columns that they are about."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def blank_record(schema: pa.Schema) -> dict[str, Any]:
    """A value of its type for each column of `schema`: an empty text or list, False or 0."""
    return {field.name: _blank(field.type) for field in schema}


def _blank(kind: pa.DataType) -> Any:
    if pa.types.is_string(kind):
        return ""
    if pa.types.is_list(kind):
        return []
    if pa.types.is_struct(kind):
        return blank_record(kind)
    return pa.scalar(0).cast(kind).as_py()
