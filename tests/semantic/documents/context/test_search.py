"""The native search counts what it shows, and ends where what is shown needs too much."""

from __future__ import annotations

from pathlib import Path

from megacpp_assets.semantic.documents.context._search import ContextSearch
from megacpp_assets.semantic.documents.context.facts import ContextFacts
from megacpp_assets.semantic.documents.items.items import Items
from megacpp_assets.semantic.documents.items.members import OPENING, Members
from megacpp_assets.semantic.documents.items.mentions import Mentions
from tests.semantic.documents.assembling import documents_of
from tests.semantic.sources import index


def test_members_take_as_many_characters_one_after_another_as_at_once(tmp_path: Path) -> None:
    box = "struct Base {};\nclass Box : Base {\n public:\n  int a;\n  int b();\n private:\n  int c;\n  int d;\n};\n"
    repository, store = index(tmp_path, {"box.h": box})
    items, mentions = Items(repository), Mentions(repository, store)
    facts = ContextFacts(repository, items, Members(repository, items, mentions), mentions)
    search = ContextSearch(facts, *facts.columns(), declarations=1, bodies=1, callers=False)
    item = next(first for first, _ in items.of if repository.nodes[first].chunk.name == "Box")
    shown: list[int] = []
    taken = 0
    for number in (2, OPENING, 0, 3, 1):
        taken += search.chars(item, [number], shown)
        shown = sorted([*shown, number])
        assert taken == search.chars(item, shown, [])


def test_a_root_whose_context_needs_too_much_has_a_document_without_it(tmp_path: Path) -> None:
    long = "".join(f"  int never_used_{number};\n" for number in range(60))
    chain = "".join(f"struct S{n} : S{n - 1} {{\n{long}}};\n" for n in range(1, 500))
    sources = {
        "chain.h": f"#pragma once\nstruct S0 {{\n{long}}};\n{chain}",
        "user.cc": '#include "chain.h"\nint user(S499 &of) { return of.never_used_1 + 1000000; }\n'
        "int other(S1 &of) { return of.never_used_1 + 1000000; }\n",
    }
    found = documents_of(tmp_path, sources, budget=65536)
    assert found["user"].broken_rule == "document_is_assembled" and "struct S0" not in found["user"].text
    assert "struct S0 {" in found["other"].text
