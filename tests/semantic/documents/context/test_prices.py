"""Room for context belongs to the corpus: it goes where it explains most for its length; callers come if asked for."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from megacpp_assets.contract.names import CONTEXT_ROLE, ROOT_ROLE
from megacpp_assets.semantic.documents.context.prices import NEEDED, Demand, Prices
from tests.semantic.documents.assembling import all_of
from tests.semantic.documents.context.test_completing import RUNNER
from tests.semantic.sources import Sources

ALONE = "".join(f"int alone{n}(int v) {{ {'v = v + 1000; ' * 12}return v; }}\n" for n in range(6))
HELPERS = "".join(f"int helper_with_a_long_name_{n}(int value, int other, int third);\n" for n in range(6))
USER = f"int user(int v) {{ return {' + '.join(f'helper_with_a_long_name_{n}(v, v, v)' for n in range(6))}; }}\n"


def take(prices: Prices, worth: float, chars: int) -> None:
    """Show context of that worth and length at `prices`."""
    price = prices.price
    price.take(worth, chars)
    prices.take(price.taken)


def _documents(tree: Path, sources: Sources, **recipe: Any) -> dict[str, str]:
    made = all_of(tree, sources, **{"strategy": "per_chunk", "parsed_documents": 0, **recipe})
    return {document.root.name: document.text for document in reversed(made)}


def test_documents_that_need_nothing_leave_their_room_to_one_that_needs_more_than_its_own(tmp_path: Path) -> None:
    sources = {"alone.cc": ALONE, "helper.h": HELPERS, "user.cc": f'#include "helper.h"\n{USER}'}
    text = _documents(tmp_path, sources, replication=1.5)["user"]
    assert len(text) > 2 * len(USER)
    assert all(f"int helper_with_a_long_name_{n}(int value" in text for n in range(6))


@pytest.mark.parametrize("replication", [1.1, 1.3, 2.0])
def test_the_corpus_keeps_to_the_replication_that_the_recipe_allows(replication: float, tmp_path: Path) -> None:
    steps = "".join(f"int step{n}(int v) {{ return step{max(0, n - 1)}(v - 1) * {n}; }}\n" for n in range(40))
    made = all_of(tmp_path, {"a.cc": steps}, strategy="per_chunk", replication=replication)
    roots, context = (sum(int((each.roles == role).sum()) for each in made) for role in (ROOT_ROLE, CONTEXT_ROLE))
    assert 0 < context <= (replication - 1) * (roots + 2 * len(made))


@pytest.mark.parametrize("replication", [1.05, 1.1, 1.15])
def test_an_excess_of_a_few_characters_is_taken_from_the_last_documents(replication: float, tmp_path: Path) -> None:
    source = "".join(
        f"struct Kind{n} {{ int left_{n}; int right_{n}; }};\nint step{n}(int v, Kind{n} *k) "
        f"{{ return v + k->left_{n} + {f'step{n - 1}(v, nullptr)' if n else 'v'}; }}\n"
        for n in range(60)
    )
    made = all_of(tmp_path, {"a.cc": source}, strategy="per_chunk", replication=replication)
    own = sum(int((each.roles == ROOT_ROLE).sum()) + 2 * len(each.roots) for each in made)
    assert own < sum(len(each.text) for each in made) <= replication * own


def test_a_small_corpus_of_which_each_document_needs_much_keeps_to_the_replication(tmp_path: Path) -> None:
    sources = {"h.h": "#pragma once\n" + "".join(map(_node, range(3))), "r.h": RUNNER}
    for user in range(5):
        methods = "".join(
            f"int Node{n}::{'method_with_a_name' if user % 2 else 'other'}_{n}(int value) {{\n"
            f"  return field_{n}_{user} + value * 100003;\n}}\n"
            for n in range(3)
            if (n + user) % 2
        )
        tests = "".join(
            f"TEST(case_{user}_{n}) {{\n  Node{n % 3} node;\n  CHECK(node.other_{n % 3}({n}) > 1000000);\n}}\n"
            for n in range(4)
        )
        sources[f"u{user}.cc"] = f'#include "h.h"\n#include "r.h"\n{methods}{tests}'
    made = all_of(tmp_path, sources, strategy="file", replication=1.3, parsed_documents=0)
    own = sum(int((each.roles == ROOT_ROLE).sum()) + 2 * len(each.roots) for each in made)
    assert own < sum(len(each.text) for each in made) <= 1.3 * own


def _node(number: int) -> str:
    methods = f"  int method_with_a_name_{number}(int value);\n  int other_{number}(int value);\n"
    fields = "".join(f"  int field_{number}_{each};\n" for each in range(20))
    return f"class Node{number} {{\n public:\n{methods}{fields}}};\n"


def test_at_the_price_the_first_context_is_taken_as_far_as_it_goes() -> None:
    counted, free = Prices(), Prices().price
    for worth, chars in ((NEEDED, 10), (1.0, 30), (0.5, 30), (0.5, 30), (0.1, 30)):
        assert free.is_affordable(worth, chars)
        take(counted, worth, chars)
    prices = Prices.at(counted.taken, 80)
    price = prices.price
    assert price.is_affordable(NEEDED, 1000) and price.is_affordable(1.0, 1000)
    assert price.is_affordable(0.5, 40) and not price.is_affordable(0.5, 41)
    price.take(0.5, 30)
    assert not price.is_affordable(0.5, 30) and not price.is_affordable(0.1, 1)
    prices.take(price.taken)
    assert prices.price.is_affordable(0.5, 10) and not prices.price.is_affordable(0.5, 11)
    assert prices.least == pytest.approx(0.5)


def test_context_counted_in_a_part_of_the_documents_sets_the_price_for_all() -> None:
    counted, all_counted = Prices(), Prices()
    for worth, chars in ((1.0, 30), (0.5, 60), (0.1, 30)):
        take(counted, worth, chars)
        take(all_counted, worth, 4 * chars)
    whole = Prices.at(all_counted.taken, 200)
    from_part = Prices.at(counted.taken, 200, share=0.25)
    assert from_part.least == whole.least == pytest.approx(0.5)
    for prices in (from_part, whole):
        assert prices.price.is_affordable(0.5, 80) and not prices.price.is_affordable(0.5, 81)


def test_without_a_bound_everything_is_affordable() -> None:
    assert Prices().price.is_affordable(1e-9, 1_000_000) and Prices().least == 0


def test_callers_of_a_root_are_shown_where_the_recipe_asks_for_them(tmp_path: Path) -> None:
    sources = {
        "a.cc": "int root_of_all(int v) { return v * 1000; }\n",
        "b.cc": "int root_of_all(int);\nint calling(int v) { return root_of_all(v) + 77; }\n",
    }
    documents_of = {wanted: _documents(tmp_path / str(wanted), sources, callers=wanted) for wanted in (False, True)}
    assert "root_of_all(v) + 77" not in documents_of[False]["root_of_all"]
    assert "root_of_all(v) + 77" in documents_of[True]["root_of_all"]


def _half_affordable() -> Prices:
    """Prices of 1,000 characters of context of which 500 are allowed."""
    prices = Prices()
    for step in range(100):
        take(prices, 1.0 + step, 10)
    return Prices.at(prices.taken, 500, total=1000)


def test_the_price_rises_while_more_is_shown_than_allowed_and_falls_back_to_what_was_set() -> None:
    prices = _half_affordable()
    least = prices.least
    for _ in range(10):
        prices.steer(spent=1100, expected=1000)
    assert prices.least > 2 * least
    for _ in range(20):
        prices.steer(spent=900, expected=1000)
    assert prices.least == least


def test_a_small_excess_raises_the_price_a_little_however_long_it_lasts() -> None:
    prices = _half_affordable()
    least = prices.least
    for _ in range(200):
        prices.steer(spent=996, expected=1000)  # the price rises from 990 on
    assert least < prices.least < 1.5 * least


def test_documents_that_come_first_and_need_much_do_not_raise_the_price_for_the_next() -> None:
    prices = _half_affordable()
    least = prices.least
    prices.steer(spent=60, expected=10)
    assert prices.least == least
    prices.steer(spent=560, expected=510)
    assert prices.least > least


def test_where_all_context_is_affordable_no_excess_makes_a_price() -> None:
    prices = Prices()
    take(prices, 1.0, 10)
    prices = Prices.at(prices.taken, 500, total=1000)
    prices.steer(spent=1100, expected=1000)
    assert prices.least == 0.0


def test_parts_of_the_prices_share_what_is_left_at_the_price_itself() -> None:
    counted = Prices()
    for _ in range(10):
        take(counted, 1.0, 100)
    half, rest = (Prices.at(counted.taken, 600).part(share, 0, 0) for share in (0.5, 0.25))
    assert half.price.is_affordable(1.0, 300) and not half.price.is_affordable(1.0, 301)
    assert rest.price.is_affordable(1.0, 150) and not rest.price.is_affordable(1.0, 151)


def test_a_part_begins_at_the_price_that_the_documents_before_it_made() -> None:
    prices = _half_affordable()
    assert prices.part(1, spent=990, expected=1000).least == prices.least
    assert prices.part(1, spent=1100, expected=1000).least > 2 * prices.least


def test_what_documents_show_at_the_price_is_all_that_they_were_priced_for() -> None:
    first, second = Prices(), Prices()
    for worth, chars in ((4.0, 100), (1.0, 300), (0.25, 500)):
        take(first, worth, chars)
        take(second, worth * 2, chars // 2)
    take(second, NEEDED, 70)
    prices = Prices.at(first.taken + second.taken, 600)
    assert prices.shown(first.taken) + prices.shown(second.taken) == pytest.approx(600)
    assert prices.shown(second.taken) == 70 + 50 + 150


def test_the_highest_price_is_far_above_the_one_that_was_set_and_has_no_end_where_context_is_free() -> None:
    prices = _half_affordable()
    highest = prices.highest()
    assert highest.price.is_affordable(100 * prices.least, 1000)
    assert not highest.price.is_affordable(10 * prices.least, 1)
    free = Prices().highest().price
    assert free.is_affordable(NEEDED, 1000) and not free.is_affordable(1e9, 1)


def test_documents_that_show_what_was_counted_hardly_raise_the_price_however_much_some_need() -> None:
    needs = [900 if 20 <= number < 30 else 0 for number in range(60)]
    own = dict.fromkeys(range(60), 200)
    by_group = {number: Counter[float]({NEEDED: needs[number], 32: 100, -64: 300}) for number in range(60)}
    demand = Demand(by_group, 18_000, 1.0, 30_000)
    prices = demand.prices()
    expected, least = demand.expected(own, prices), prices.least
    assert 29_900 <= sum(expected.values()) <= 30_000 and expected[25] > expected[5] + 800
    spent = counted = 0
    for number in range(60):
        spent += int(own[number] + prices.shown(by_group[number]))
        counted += expected[number]
        prices.steer(spent, counted)
        assert prices.least < 1.6 * least


def test_documents_that_were_not_searched_are_expected_to_be_like_the_mean_of_those_that_were() -> None:
    by_group = {0: Counter[float]({0: 100}), 2: Counter[float]({0: 300})}
    demand = Demand(by_group, 800, 0.5, 1200)
    assert demand.expected(dict.fromkeys(range(4), 100), demand.prices()) == {0: 200, 1: 300, 2: 400, 3: 300}


def test_what_is_expected_is_the_same_on_every_python() -> None:
    """`sum` of floats is less exact before Python 3.12; it expected 63 characters of the last document."""
    by_group = {0: Counter({8.0: 46}), 1: Counter({8.0: 55}), 2: Counter({8.0: 46})}
    demand = Demand(by_group, 58, 1.0, 225)
    expected = demand.expected({0: 31, 1: 6, 2: 35, 3: 28}, demand.prices())
    assert expected == {0: 61, 1: 34, 2: 66, 3: 62}
