"""The order of callers around a target."""

from __future__ import annotations

import pytest

from megacpp_assets.windows.window import shared_folders


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        ("a.cc", "b.cc", 0),
        ("src/a.cc", "b.cc", 0),
        ("src/a.cc", "src/b.cc", 1),
        ("src/deep/deeper/a.cc", "src/b.cc", 1),
        ("src/a.cc", "src/deep/deeper/b.cc", 1),
        ("src/deep/a.cc", "src/flat/b.cc", 1),
        ("test/deep/a.cc", "src/deep/b.cc", 0),
    ],
)
def test_folders_below_the_common_one_do_not_count(one: str, other: str, shared: int) -> None:
    assert shared_folders(one, other) == shared
