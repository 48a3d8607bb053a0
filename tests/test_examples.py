"""A property test draws the same examples whatever was loaded before it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st


def drawn() -> list[int]:
    found: list[int] = []

    @given(st.integers())
    def property_test(value: int) -> None:
        found.append(value)

    property_test()
    return found


def test_examples_do_not_depend_on_the_modules_that_are_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hypothesis takes constants from the text of every loaded module that is not installed."""
    before = drawn()
    module = ModuleType("loaded_by_others")
    module.__file__ = str(tmp_path / "loaded_by_others.py")
    Path(module.__file__).write_text("\n".join(f"A{n} = {7_000_000 + n}" for n in range(100)))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert drawn() == before
