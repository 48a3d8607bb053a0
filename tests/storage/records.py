"""Semantic records as JSON has them: columns are lists, so that they can be compared, changed and written."""

from __future__ import annotations

from typing import Any

import numpy as np

from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.jsonl import read_records


def plain_records(artifact: Artifact, budget: int) -> list[dict[str, Any]]:
    """Every record of `budget`."""
    return [
        {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in record.items()}
        for record in read_records(artifact, budget)
    ]
