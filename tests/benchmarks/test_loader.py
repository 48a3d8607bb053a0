"""The benchmark of the loader: peers get the same arrays as ours, and a line is printed for each set and peer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import _row_peers
import loader as bench
import numpy as np
import pytest
from numpy.typing import NDArray


def _in_memory(_folder: Path, rows: Iterator[_row_peers.Row]) -> _row_peers.Take:
    held = list(rows)

    def take(numbers: NDArray[np.int64]) -> _row_peers.Row:
        return {name: np.stack([held[number][name] for number in numbers]) for name in held[0]}

    return take


def test_a_line_for_each_set_of_columns_and_for_a_peer_with_the_same_rows(
    one_core: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "ROWS", 8)
    monkeypatch.setattr(bench, "ITERS", 2)
    monkeypatch.setattr(_row_peers, "PEERS", {"memory": ("numpy", _in_memory)})
    bench.main(["--runs", "1"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["peer_name"] for line in lines] == [None, None, "memory"]
    assert all(line["ours"] > 0 for line in lines)
