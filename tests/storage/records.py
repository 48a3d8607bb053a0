"""Semantic records as JSON has them: columns are lists, so that they can be compared, changed and written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.jsonl import Line, json_lines, read_records


def plain_records(artifact: Artifact, budget: int) -> list[dict[str, Any]]:
    """Every record of `budget`."""
    return [
        {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in record.items()}
        for record in read_records(artifact, budget)
    ]


def read_shard(shard: Path, where: str) -> Iterator[dict[str, Any]]:
    """The records of one shard. `where` names its artifact in errors."""
    lines = enumerate(json_lines(shard, where), start=1)
    return (Line(data, f"{where} line {number}").record() for number, data in lines)
