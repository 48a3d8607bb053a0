from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.semantic.parsing.budget import Budget, Ledger


def refused(costs: list[int], budget: int) -> list[int]:
    """The files behind the one that brings the sum above the budget."""
    spent = 0
    for place, cost in enumerate(costs):
        spent += cost
        if spent > budget:
            return list(range(place + 1, len(costs)))
    return []


@given(costs=st.lists(st.integers(0, 9), max_size=20), budget=st.integers(0, 40), seed=st.integers(0, 9))
def test_rejected_files_do_not_depend_on_the_order_of_charges(costs: list[int], budget: int, seed: int) -> None:
    paths = [f"{place}.cc" for place in range(len(costs))]
    ledger = Ledger(paths, budget / 1000)
    order = list(range(len(costs)))
    random.Random(seed).shuffle(order)
    early: set[str] = set()
    for place in order:
        ledger.charge(paths[place], 1)
        ledger.charge(paths[place], max(1, costs[place]))
        early |= {path for path in paths if ledger.rejects(path)}
    costs = [max(1, cost) for cost in costs]
    assert [place for place, path in enumerate(paths) if ledger.rejects(path)] == refused(costs, budget)
    assert early <= {paths[place] for place in refused(costs, budget)}, "what was refused once stays so"


def test_a_repositorys_budget_grows_with_its_files() -> None:
    assert Budget(base_cpu_s=100, unit_cpu_s=3).cpu_s(7) == 121
