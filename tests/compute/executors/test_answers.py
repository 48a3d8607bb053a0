"""Answers of workers: what they may hold comes back equal, and nothing else is made of their bytes."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.compute.executors.answers import pack, unpack
from megacpp_assets.contract.errors import EnvironmentLacks, SchemaViolation
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.semantic.commands.plan import Unit
from megacpp_assets.semantic.parsing.planning import Plan

PLAIN = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text() | st.binary()
)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(VALUES)
def test_values_come_back_equal_and_of_the_same_types(value: object) -> None:
    found = unpack(pack(value))
    assert repr(found) == repr(value)


@pytest.mark.parametrize("value", [{1, 2}, frozenset({"a"}), Counter("abca"), "\udc80", {3: (4,)}])
def test_sets_counts_and_undecodable_text_come_back(value: object) -> None:
    found = unpack(pack(value))
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype="<u4").reshape(2, 3)[:, ::2],
        np.zeros(0, "<i8"),
        np.array(7, "<f4"),
        np.array([(1, 2)], dtype=[("kind", "u1"), ("place", "<u4")]),
    ],
)
def test_arrays_come_back_and_can_be_written_to(array: Any) -> None:
    found = unpack(pack(array))
    assert found.dtype == array.dtype and found.tolist() == array.tolist()
    found.fill(0)


def test_records_and_expected_errors_come_back() -> None:
    plan = Plan([Unit("a.cpp", ("-x", "c++"), "guessed", header=False)], [], "", frozenset({"b"}))
    assert unpack(pack((plan, RepoRef("fmt", "11.0.0")))) == (plan, RepoRef("fmt", "11.0.0"))
    error = EnvironmentLacks("a scheduler", expected="one", found="none", do="start it")
    found = unpack(pack(error))
    assert type(found) is EnvironmentLacks and found.lines() == error.lines()


@pytest.mark.parametrize("value", [Path("a"), object(), len, np.array([object()]), ValueError("a")])
def test_what_answers_may_not_hold_is_rejected_when_packed(value: object) -> None:
    with pytest.raises(TypeError, match="an answer has no "):
        pack([value])


class _Opens:
    """A pickle of it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[str, str]]:
        return open, (str(self.path), "w")


def test_a_pickle_is_no_answer_and_is_not_executed(tmp_path: Path) -> None:
    with pytest.raises(SchemaViolation, match="the answer of a worker"):
        unpack(pickle.dumps(_Opens(tmp_path / "made")))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "name",
    ["os:system", "subprocess:Popen", "megacpp_assets.compute.executors.answers:unpack", "megacpp_assets.none:A",
     "megacpp_assets.compute.executors.isolated:subprocess", "megacpp_assets.contract.errors:Path", "", ":"],
)  # fmt: skip
def test_only_records_and_errors_of_this_package_are_made(name: str) -> None:
    for code in (5, 6):
        forged = msgpack.packb(msgpack.ExtType(code, pack([name, ["true"], []][: 2 + (code == 6)])))
        with pytest.raises(SchemaViolation):
            unpack(forged)


def test_an_array_of_objects_is_not_made() -> None:
    forged = msgpack.packb(msgpack.ExtType(4, pack(["|O", [1], b"\0" * 8])))
    with pytest.raises(SchemaViolation, match="has no objects"):
        unpack(forged)


@given(st.binary(max_size=200))
def test_any_other_bytes_give_a_value_or_the_error(data: bytes) -> None:
    try:
        unpack(data)
    except SchemaViolation as error:
        assert "the answer of a worker" in str(error)
