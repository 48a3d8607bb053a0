from __future__ import annotations

import pytest

from megacpp_assets.semantic.graph.preprocessor.conditions import Condition
from megacpp_assets.semantic.graph.spaces import Span

NOWHERE = Span(0, 0, 0, 0)


@pytest.mark.parametrize(
    ("says", "asked"),
    [
        (("#ifdef A",), {"A"}),
        (("#ifndef A",), set()),
        (("# if A > 1 && B",), {"A", "B"}),
        (("#if defined(A) && !defined B",), {"A"}),
        (("#if A // when B",), {"A"}),
        (("#ifdef A", "#else"), set()),
        (("#ifndef A", "#else // A"), {"A"}),
        (("#if A", "#elif defined(B)"), {"A", "B"}),
        (("#if defined(A)", "#elif defined(B)", "#else"), set()),
        (("#if !defined(A)", "#else"), {"A"}),
    ],
)
def test_an_arm_asks_for_the_macros_that_must_be_defined_for_it(says: tuple[str, ...], asked: set[str]) -> None:
    assert Condition((NOWHERE,) * len(says), NOWHERE, says).asked() == asked


@pytest.mark.parametrize(
    ("says", "called"),
    [
        (("#if HAS(<any>) && defined(B)",), {"HAS"}),
        (("# if A", "#elif not (B) || AT_LEAST (1, 2) // or NEVER(3)"), {"AT_LEAST"}),
        (("#if __has_include(<any>) and (A > 1)", "#else"), set()),
        (("#ifdef A",), set()),
    ],
)
def test_a_condition_calls_macros_that_no_compiler_defines(says: tuple[str, ...], called: set[str]) -> None:
    assert Condition((NOWHERE,) * len(says), NOWHERE, says).called() == called


@pytest.mark.parametrize(
    ("says", "denied"),
    [
        (("#ifndef A",), {"A"}),
        (("#if !defined(A) && defined(B)",), {"A"}),
        (("#if !defined(A) || defined(B)",), set()),
        (("#if defined(A) || defined(B)", "#else"), {"A", "B"}),
        (("#if defined(A) && defined(B)", "#else"), set()),
        (("#if !defined(A)",), {"A"}),
        (("#if ! defined A",), {"A"}),
        (("#ifdef A", "#else"), {"A"}),
        (("#if defined(A)", "#elif defined(B)"), {"A"}),
        (("#ifdef A",), set()),
        (("#ifndef A", "#else"), set()),
        (("#if !defined(A) && !defined(B)",), {"A", "B"}),
        (("#if A",), set()),
    ],
)
def test_an_arm_is_not_taken_if_a_macro_that_it_denies_is_defined(says: tuple[str, ...], denied: set[str]) -> None:
    assert Condition((NOWHERE,) * len(says), NOWHERE, says).denied() == denied
