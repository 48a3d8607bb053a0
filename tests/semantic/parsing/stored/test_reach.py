"""What is reported about a change: the units parsed again, and the changed header that most units include."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from megacpp_assets.semantic.parsing.stored.reach import reach_of
from megacpp_assets.semantic.parsing.stored.unit_cache import Memory
from megacpp_assets.storage.caching.cache import Cache

FIRST = {"core.h": "1", "rare.h": "1", "same.h": "1", "a.cc": "1"}


def remembering(store: Cache) -> Memory:
    """Of a run that parsed three units and found two known."""
    return Memory(store, reused=2, parsed=3, included=Counter({"core.h": 3, "same.h": 3, "rare.h": 1, "new.h": 2}))


@pytest.mark.parametrize(
    ("now", "header"),
    [
        ({"core.h": "2"}, ("core.h", 3)),
        ({"rare.h": "2"}, ("rare.h", 1)),
        ({"core.h": "2", "rare.h": "2", "new.h": "1"}, ("core.h", 3)),
        ({"new.h": "1"}, ("new.h", 2)),
        ({"a.cc": "2"}, None),
        ({}, None),
    ],
)
def test_the_changed_header_that_most_units_include_is_named(
    tmp_path: Path, now: dict[str, str], header: tuple[str, int] | None
) -> None:
    store = Cache(tmp_path)
    assert reach_of(remembering(store), "lib", FIRST) == {"units_parsed": 3, "units_reused": 2}
    reach_of(remembering(store), "other", dict.fromkeys(FIRST, "9"))
    found = reach_of(remembering(store), "lib", FIRST | now)
    named = (found.get("changed_header"), found.get("changed_header_units"))
    assert named == (header or (None, None))


def test_indexing_a_reference_again_names_the_same_header(tmp_path: Path) -> None:
    store = Cache(tmp_path)
    reach_of(remembering(store), "lib", FIRST)
    now = FIRST | {"core.h": "2"}
    found = [reach_of(remembering(store), "lib", now) for _ in range(3)]
    assert [counts.get("changed_header") for counts in found] == ["core.h"] * 3
    assert reach_of(remembering(store), "lib", FIRST | {"rare.h": "2"})["changed_header"] == "core.h"
