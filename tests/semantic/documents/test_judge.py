"""A document that breaks a rule is not published; what it costs is as little as can be."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import CONTEXT_ROLE, DOCUMENT_TOKENS, LEFT_OUT
from megacpp_assets.contract.recipe.documents import HoldoutRecipe, SemanticRecipe
from megacpp_assets.quality.reading.leaks import Leak, LeakDetector
from megacpp_assets.semantic.documents.account import Account, left_out
from megacpp_assets.semantic.documents.composer import NOT_ASSEMBLED, Skipped
from megacpp_assets.semantic.documents.documents import SHORT, documents, withhold_parts
from megacpp_assets.semantic.documents.judge import Fault, Judge, Rules
from megacpp_assets.semantic.documents.lots import ComposerPool, LocalComposers, Materials
from megacpp_assets.semantic.documents.measures.worth import Worth
from megacpp_assets.semantic.documents.roots.held_out import draw, hold_out
from megacpp_assets.semantic.documents.text.constituents import Constituent
from megacpp_assets.semantic.documents.text.document import Document
from megacpp_assets.semantic.documents.text.rules import RULES
from tests.semantic.sources import Sources, assembled, by_root, index

SOURCES: Sources = {
    "a.cc": "static int one(int v) { return v * 1000003; }\nint two(int v) { return one(v) + 1000003; }\n",
    "b.cc": "int two(int);\nint three(int v) { return two(v) * 1000033; }\n",
}


class _Strict(Rules):
    """Rejects documents of several roots, those with context if asked to, and those of the root `never`."""

    never = ""
    context = False

    def fault(self, document: Document) -> Fault | None:
        brings = self.context and any(part.role == CONTEXT_ROLE for part in document.constituents)
        broken = len(document.roots) > 1 or brings or document.root.name == self.never
        return Fault("bytes_stand_once", "a.cc:7") if broken else super().fault(document)


def _entries(tree: Path, rules: type[Rules], sources: Sources = SOURCES) -> list[Document | Skipped]:
    repository, store = index(tree, sources)
    composers = ComposerPool(LocalComposers(Materials(repository, store, SemanticRecipe()), rules(repository)))
    entries = documents(repository, store, SemanticRecipe(), DOCUMENT_TOKENS, composers=composers)
    return [entry for entry in entries if not isinstance(entry, Skipped) or entry.reason != SHORT]


def test_the_roots_of_a_document_that_breaks_a_rule_are_tried_alone(tmp_path: Path) -> None:
    assert len(_entries(tmp_path / "all", Rules)) == 1
    entries = by_root(_entries(tmp_path / "alone", _Strict))
    assert set(entries) == {"one", "two", "three"} and "static int one" in entries["two"].text
    assert {each.broken_rule for each in entries.values()} == {"bytes_stand_once"}


def test_the_roots_beside_one_that_breaks_a_rule_share_documents(tmp_path: Path) -> None:
    names = ("ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen")
    sources = {"a.cc": "".join(f"int {name}(int v) {{ return v * 1000003; }}\n" for name in names)}

    class NoFox(Rules):
        def fault(self, document: Document) -> Fault | None:
            broken = len(document.roots) > 1 and "int fox" in document.text
            return Fault("bytes_stand_once", "a.cc:6") if broken else super().fault(document)

    found = [entry for entry in _entries(tmp_path, NoFox, sources) if isinstance(entry, Document)]
    shown = [[name for name in names if f"int {name}" in entry.text] for entry in found]
    assert shown == [["ant", "bee", "cat", "dog"], ["elk"], ["fox"], ["gnu", "hen"]]
    assert {entry.broken_rule for entry in found} == {"bytes_stand_once"}


def test_documents_of_a_halved_group_do_not_each_buy_the_context_of_all_of_it(tmp_path: Path) -> None:
    table = "".join(f"int row_{number}(int first, int second);\n" for number in range(40))
    called = [
        f"int use_{n}(int v) {{ return {' + '.join(f'row_{each}(v, v)' for each in range(40))}; }}\n" for n in range(8)
    ]
    sources = {"table.h": f"#pragma once\n{table}", "a.cc": '#include "table.h"\n' + "".join(called)}
    entries = by_root(_entries(tmp_path, _Strict, sources))
    used = [entries[f"use_{number}"] for number in range(8)]
    assert all(len(each.text) <= 2 * len(called[0]) + 200 for each in used)


def test_documents_reduced_by_a_rule_are_counted_by_rule(tmp_path: Path) -> None:
    repository, _ = index(tmp_path / "index", SOURCES)
    worth = Worth(repository, DOCUMENT_TOKENS)
    assert "reduced" not in worth.as_stats()
    for entry in _entries(tmp_path / "alone", _Strict):
        assert isinstance(entry, Document)
        worth.add(entry)
    assert worth.as_stats()["reduced"] == {"bytes_stand_once": 3}


def test_a_root_whose_context_breaks_a_rule_is_shown_without_it(tmp_path: Path) -> None:
    class Bare(_Strict):
        context = True

    assert by_root(_entries(tmp_path, Bare))["two"].text == "int two(int v) { return one(v) + 1000003; }"


def test_a_root_that_breaks_a_rule_even_alone_is_skipped_with_the_rule_and_the_place(tmp_path: Path) -> None:
    class Never(_Strict):
        never = "two"

    entries = _entries(tmp_path, Never)
    [skipped] = [entry for entry in entries if isinstance(entry, Skipped)]
    start = SOURCES["a.cc"].index("int two")
    reason = f"{LEFT_OUT}bytes_stand_once: a.cc:7"
    assert skipped == Skipped("a.cc", "two", start, len(SOURCES["a.cc"]) - 1, reason)
    assert left_out([skipped]) == {"bytes_stand_once": 1} and set(by_root(entries)) == {"one", "three"}


def test_an_error_in_the_assembly_of_a_document_costs_its_root_alone(tmp_path: Path) -> None:
    class Failing(Rules):
        def fault(self, document: Document) -> Fault | None:
            if any(self._repository.nodes[first].chunk.name == "two" for first, _ in document.roots):
                raise IndexError("list index out of range")
            return super().fault(document)

    entries = _entries(tmp_path, Failing)
    [skipped] = [entry for entry in entries if isinstance(entry, Skipped)]
    assert skipped.name == "two" and skipped.reason.startswith(
        f"{LEFT_OUT}{NOT_ASSEMBLED}: IndexError in test_judge.py"
    )
    assert set(by_root(entries)) == {"one", "three"} and left_out([skipped]) == {NOT_ASSEMBLED: 1}


def _moved(part: Constituent) -> Constituent:
    return replace(part, byte_start=part.byte_start + 1, byte_end=part.byte_end + 1)


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("text_is_the_commits", lambda document: {"constituents": (*map(_moved, document.constituents),)}),
        ("text_is_the_commits", lambda document: {"text": document.text[:-1] + "x"}),
        ("bytes_stand_once", lambda document: {"constituents": document.constituents * 2}),
        ("roles_recorded", lambda document: {"roles": document.roles * 0 + 2}),
        ("chunks_are_ordered_in_text", lambda document: {"boundaries": document.boundaries[::-1]}),
        ("edges_inside_chunks", lambda document: {"edges": ((0, 99, 0, "exact"),)}),
        ("levels_follow_edges", lambda document: {"edges": ((0, 1, 0, "exact"),)}),
    ],
)
def test_each_rule_tells_the_fault_that_it_is_for(rule: str, change: object, tmp_path: Path) -> None:
    repository, store = index(tmp_path, SOURCES)
    made = by_root(list(documents(repository, store, SemanticRecipe(), DOCUMENT_TOKENS)))["one"]
    data = {path: text.encode() for path, text in SOURCES.items()}
    assert not any(each(made.shown, data.__getitem__) for each in RULES.values())
    changed = replace(made, **change(made))  # type: ignore[operator]
    assert RULES[rule](changed.shown, lambda path: data.get(path, b""))


def test_a_root_that_completes_a_held_out_definition_does_not_train(tmp_path: Path) -> None:
    lines = [f"int declared_{number}(int first, int second);\n" for number in range(12)]
    sources = {
        "held.h": "".join(lines),
        "one.h": "".join([*lines[:8], "int one_more(int first, int second, int third);\n"]),
        "two.h": "".join(["int two_more(int first, int second, int third);\n", *lines[4:]]),
    }
    salt = next(s for s in map(str, range(99)) if min(sources, key=lambda path: draw("library", path, s)) == "held.h")
    repository, store = index(tmp_path, sources)
    judge = Judge(repository, hold_out(repository, "library", HoldoutRecipe(share=1e-9, salt=salt, near_copy=1.0)))
    entries = list(documents(repository, store, SemanticRecipe(), DOCUMENT_TOKENS, judge))
    trained = [entry for entry in entries if isinstance(entry, Document) and not entry.validates]
    assert [entry.text for entry in trained] == [sources["one.h"].rstrip()]
    reasons = {entry.path: entry.reason for entry in entries if isinstance(entry, Skipped)}
    assert reasons == {"two.h": f"{LEFT_OUT}no_validation_leak: held.h:0"}


def test_a_root_that_is_in_a_held_out_file_too_validates_and_does_not_train(tmp_path: Path) -> None:
    text = f"// {'comment ' * 40}\nint id(int v) {{ return v; }}\n"
    sources = {"a.cc": text, "b.cc": text}
    repository, store = index(tmp_path, sources)
    judge = Judge(repository, hold_out(repository, "library", HoldoutRecipe(share=1e-9)))
    entries = list(documents(repository, store, SemanticRecipe(), DOCUMENT_TOKENS, judge))
    assert [entry.validates for entry in entries if isinstance(entry, Document)] == [True]
    [skipped] = [entry for entry in entries if isinstance(entry, Skipped)]
    assert skipped.reason.startswith("same text as held-out")


def test_what_no_document_holds_is_skipped_with_its_place(tmp_path: Path) -> None:
    repository, _ = index(tmp_path, SOURCES)
    made = by_root(assembled(tmp_path / "again", SOURCES))
    account = Account(repository, ())
    account.place(DOCUMENT_TOKENS, made["two"])
    lost = [(entry.path, entry.name) for entry in account.settle([DOCUMENT_TOKENS])]
    assert lost == [("b.cc", "three")]
    assert left_out(account.settle([DOCUMENT_TOKENS])) == {"definitions_are_placed": 1}


def _leaked(tree: Path, *, withheld: bool) -> Leak:
    """What training documents show of a held-out enumeration that fills several documents, half of which they use."""
    names = [f"FORMAT_OF_SOUND_{number}" for number in range(240)]
    held = "enum Format {\n" + "".join(f"  {name} = {7 * n}, // of a sound\n" for n, name in enumerate(names)) + "};\n"
    cases = "".join(f"    case {name}: return {n};\n" for n, name in enumerate(names[:120]))
    used = f'#include "held.h"\nint number_of(int format) {{\n  switch (format) {{\n{cases}  }}\n  return -1;\n}}\n'
    sources = {"held.h": held, "used.c": used}
    salt = next(s for s in map(str, range(99)) if min(sources, key=lambda path: draw("library", path, s)) == "held.h")
    repository, store = index(tree, sources)
    judge = Judge(repository, hold_out(repository, "library", HoldoutRecipe(share=1e-9, salt=salt)))
    local = LocalComposers(Materials(repository, store, SemanticRecipe(), held=judge.held, denied=judge.denied))
    if withheld:
        withhold_parts(judge, local, [2048])
    pool = ComposerPool(local)
    made = documents(repository, store, SemanticRecipe(), 2048, judge, composers=pool)
    entries = [entry for entry in made if isinstance(entry, Document)]
    parts = [
        {c.TEXT: each.text, c.CONSTITUENTS: list(map(asdict, each.constituents))} for each in entries if each.validates
    ]
    assert len(parts) > 1 and any("switch" in each.text for each in entries)
    leaks = LeakDetector(parts)
    for entry in entries:
        if not entry.validates:
            leaks.add_training_text(entry.text)
    return leaks.leaked()


def test_no_part_of_a_long_held_out_root_is_shown_whole(tmp_path: Path) -> None:
    assert _leaked(tmp_path / "without", withheld=False).bytes > 200
    assert _leaked(tmp_path / "with", withheld=True).bytes == 0
