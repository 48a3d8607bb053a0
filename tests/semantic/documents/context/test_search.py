"""The native search counts what it shows, and ends where what is shown needs too much."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from megacpp_assets.contract.recipe.documents import SemanticRecipe
from megacpp_assets.semantic.documents.context._search import ContextSearch
from megacpp_assets.semantic.documents.context.facts import ContextFacts
from megacpp_assets.semantic.documents.context.growth import Limits, Room
from megacpp_assets.semantic.documents.context.passages import passage_of
from megacpp_assets.semantic.documents.context.prices import Prices
from megacpp_assets.semantic.documents.indexes import Indexes
from megacpp_assets.semantic.documents.items.items import Items
from megacpp_assets.semantic.documents.items.members import OPENING, Members
from megacpp_assets.semantic.documents.items.mentions import Mentions
from megacpp_assets.semantic.documents.items.stand_ins import StandIns
from megacpp_assets.semantic.documents.roots.parts import parts_of
from tests.semantic.sources import index


def test_members_take_as_many_characters_one_after_another_as_at_once(tmp_path: Path) -> None:
    box = "struct Base {};\nclass Box : Base {\n public:\n  int a;\n  int b();\n private:\n  int c;\n  int d;\n};\n"
    repository, store = index(tmp_path, {"box.h": box})
    items, mentions = Items(repository), Mentions(repository, store)
    members, stand_ins = Members(repository, items, mentions), StandIns(repository, items)
    facts = ContextFacts(repository, items, members, mentions, stand_ins)
    search = ContextSearch(facts, *facts.columns(), declarations=1, bodies=1, callers=False)
    item = next(first for first, _ in items.of if repository.nodes[first].chunk.name == "Box")
    shown: list[int] = []
    taken = 0
    for number in (2, OPENING, 0, 3, 1):
        taken += search.chars(item, [number], shown)
        shown = sorted([*shown, number])
        assert taken == search.chars(item, shown, [])


@pytest.mark.parametrize(("classes", "is_too_deep"), [(300, False), (450, True)])
def test_context_that_needs_one_thing_for_the_other_too_often_is_an_error(
    classes: int, is_too_deep: bool, tmp_path: Path
) -> None:
    long = "".join(f"  int field_{number};\n" for number in range(12))
    chain = "".join(f"struct S{n} : S{n - 1} {{\n{long}}};\n" for n in range(1, classes + 1))
    root = f"int user(S{classes} &of) {{ return of.field_1 + 1000000; }}\n"
    repository, store = index(tmp_path, {"a.cc": f"struct S0 {{\n{long}}};\n{chain}{root}"})
    surroundings = Indexes(repository, store, SemanticRecipe()).surroundings
    user = next(place for place in repository.roots if place.root.name == "user")
    choose = partial(surroundings.choose, [passage_of(user)], Room(1_000_000, 10_000), Prices(), Limits())
    if is_too_deep:
        with pytest.raises(ValueError, match="needs too much"):
            choose()
    else:
        assert len(choose().whole) == classes + 1


def test_a_part_of_a_class_shows_dear_types_of_the_class_that_it_names_and_no_dear_functions(tmp_path: Path) -> None:
    steps = "".join(f"  long step_{n}() const {{\n    return {n};\n  }}\n" for n in range(40))
    last = "  long last(Number of) const { return work(of); }\n"
    source = f"class Long {{\n  using Number = long;\n  long work(Number of) const;\n{steps}{last}}};\n"
    repository, store = index(tmp_path, {"a.cc": source})
    part = parts_of(repository, repository.roots[0], len, 800)[-1]
    prices = Prices.at(Counter({240.0: 1}), 0)
    surroundings = Indexes(repository, store, SemanticRecipe()).surroundings
    (members,) = surroundings.choose([passage_of(part)], Room(1000, 100), prices, Limits()).members.values()
    assert 0 in members and 1 not in members
