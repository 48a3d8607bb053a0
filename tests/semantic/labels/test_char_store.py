from __future__ import annotations

from pathlib import Path

import numpy as np
import orjson
import pytest

from megacpp_assets.contract import columns as c
from megacpp_assets.semantic.labels import char_store
from megacpp_assets.semantic.labels.char_store import CharStore, Part
from megacpp_assets.semantic.labels.paint import CHAR_DTYPE

FILES = (40, 0, 25)
PARTS = (Part(0, 0, 3, 9), Part(6, 0, 9, 9), Part(8, 2, 0, 25), Part(33, 0, 3, 9))
SIZE = 41


def _store(folder: Path) -> CharStore:
    store = CharStore(folder)
    random = np.random.default_rng(7)
    for number, size in enumerate(FILES):
        chars = np.zeros(size, dtype=CHAR_DTYPE)
        for name in c.PAINTED_COLUMNS:
            chars[name] = random.integers(0, np.iinfo(CHAR_DTYPE[name]).max, size, endpoint=True)
        store.put(number, chars)
    return store.seal()


@pytest.mark.parametrize("kept", [0, 150, 1 << 20], ids=["none kept", "some kept", "all kept"])
def test_the_json_of_parts_is_that_of_their_characters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    monkeypatch.setattr(char_store, "_KEPT_BYTES", kept)
    store = _store(tmp_path)
    for parts in (PARTS, PARTS[2:], PARTS):
        chars = store.joined(SIZE, parts)
        arrays = [orjson.loads(text) for text in store.arrays(SIZE, parts)]
        assert arrays == [chars[name].tolist() for name in c.PAINTED_COLUMNS]
    assert store.slice(2, 5, 7).tolist() == chars[13:15].tolist()
