from __future__ import annotations

import json
import random
import sys

import pytest

from benchmarks import semantic_memory

_SIZES = (1, 3)


@pytest.mark.parametrize("shape", ["llvm", "linux"])
def test_equal_seeds_give_equal_trees_and_others_give_other_trees(shape: str) -> None:
    make = semantic_memory._SHAPES[shape]
    first, again, other = (list(make(20, random.Random(seed))) for seed in (0, 0, 1))
    assert first == again
    assert [path for path, _ in first] == [path for path, _ in other]
    assert first != other


def test_each_size_prints_its_peak_and_the_growth_from_the_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["semantic_memory.py", "--shape", "linux", "--units", *map(str, _SIZES)])
    semantic_memory.main()
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["units"], second["units"]) == _SIZES
    assert 0 < first["characters"] < second["characters"]
    assert first["parent_peak_bytes"] > 1 << 20
    added = second["parent_peak_bytes"] - first["parent_peak_bytes"]
    per_character = added / (second["characters"] - first["characters"])
    assert second["bytes_per_added_character"] == round(per_character, 1)
    assert "bytes_per_added_character" not in first
