from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.contract.recipe.documents import SemanticRecipe
from megacpp_assets.semantic.documents.text.document import Document
from megacpp_assets.semantic.documents.text.order import Piece, ordered
from megacpp_assets.semantic.graph.spaces import Span
from tests.semantic.documents.assembling import all_of
from tests.semantic.sources import assembled


def _piece(number: int, ahead: str = "") -> Piece:
    return Piece(
        item=(number, number + 1), file=0, span=Span(number, number + 1, number, number + 1), whole=frozenset(),
        head=False, members=(), distance=1, scopes=(), names=(), holder=None, kind="func_body", ahead=ahead,
    )  # fmt: skip


_NEEDS = st.integers(1, 8).flatmap(
    lambda size: st.lists(st.sets(st.integers(0, size - 1)), min_size=size, max_size=size)
)


@given(_NEEDS)
def test_every_piece_appears_once_and_what_it_needs_is_there_or_declared_before(needs: list[set[int]]) -> None:
    lacks = [needed - {number} for number, needed in enumerate(needs)]
    found = ordered([_piece(number, f"int f{number}()") for number in range(len(needs))], lacks)
    assert sorted(piece.item[0] for piece in found if not piece.is_ahead) == list(range(len(needs)))
    before = accumulate(({piece.item[0]} for piece in found), set.union, initial=set[int]())
    for piece, known in zip(found, before, strict=False):
        assert piece.is_ahead or lacks[piece.item[0]] <= known


@given(_NEEDS)
def test_nothing_is_declared_ahead_where_no_pieces_need_each_other(needs: list[set[int]]) -> None:
    lacks = [{each for each in needed if each < number} for number, needed in enumerate(needs)]
    found = ordered([_piece(number, "int f()") for number in range(len(needs))], lacks)
    assert [piece.item[0] for piece in found] == list(range(len(needs)))


_PLACES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from([(), ("n",)])), max_size=8)


@given(_PLACES)
def test_a_piece_comes_next_that_goes_on_below_the_last_one_or_stays_in_its_scopes(
    places: list[tuple[int, int, tuple[str, ...]]],
) -> None:
    pieces = [
        replace(_piece(number), distance=distance, file=file, names=names)
        for number, (distance, file, names) in enumerate(places)
    ]
    found = ordered(pieces, [set[int]() for _ in pieces])
    for number, piece in enumerate(found):
        last = found[number - 1] if number else None
        assert piece is min(found[number:], key=lambda each: _rank(each, last))


def _rank(piece: Piece, last: Piece | None) -> tuple[bool, bool, int, int, int]:
    goes_on = last is not None and piece.file == last.file and piece.span.start > last.span.start
    stays = last is not None and piece.names == last.names
    is_below = goes_on and (piece.is_root or stays)
    return not is_below, not (is_below or stays), -piece.distance, piece.file, piece.span.start


def _text(tree: Path, text: str) -> str:
    (document,) = (
        entry
        for entry in assembled(tree, {"a.cc": text}, SemanticRecipe(strategy="file"))
        if isinstance(entry, Document)
    )
    return document.text


def test_of_two_classes_that_need_each_other_the_second_is_declared_ahead(tmp_path: Path) -> None:
    text = _text(tmp_path, "class Egg;\nclass Hen { Egg *laid; };\nclass Egg { Hen *mother; int age; };\n")
    assert text.index("class Egg;") < text.index("class Hen {") < text.index("class Egg {")


def test_of_two_functions_that_call_each_other_the_second_is_declared_ahead(tmp_path: Path) -> None:
    even = "bool even(unsigned n) { return n == 0 || odd(n - 1); }\n"
    odd = "bool odd(unsigned n) { return n != 0 && even(n - 1); }\n"
    text = _text(tmp_path, f"bool odd(unsigned n);\n{even}{odd}")
    assert text.index("bool odd(unsigned n);") < text.index("bool even") < text.index("bool odd(unsigned n) {")


def test_a_class_waits_for_nothing_that_is_defined_outside_of_it_as_its_own(tmp_path: Path) -> None:
    text = _text(
        tmp_path,
        "struct Box { struct Lid; static int made; Lid *lid; int area() { return made; } };\n"
        "int Box::made = 1000000;\nstruct Box::Lid { Box *box; int weight; };\n",
    )
    assert text.index("struct Box {") < text.index("int Box::made") < text.index("struct Box::Lid {")


def test_in_a_circle_a_class_comes_before_the_one_below_it_that_needs_it(tmp_path: Path) -> None:
    sources = {
        "app.h": "#pragma once\nclass Group;\nclass App {\n public:\n  Group *make();\n  int made;\n};\n"
        "class Group : public App {\n public:\n  App *all() { return this; }\n  int all_made;\n};\n",
        "user.cc": '#include "app.h"\nint user(App *app) { static int n = 100003; return app->make()->all()->made; }\n',
    }
    documents = assembled(tmp_path, sources, SemanticRecipe(strategy="per_chunk", replication=0))
    text = next(each.text for each in documents if isinstance(each, Document) and "int user(" in each.text)
    assert text.index("class App {") < text.index("class Group : public App {")


def test_what_a_chained_call_returns_is_complete(tmp_path: Path) -> None:
    never_used = "".join(f"  int never_used_{number}();\n" for number in range(90))
    sources = {
        "app.h": "#pragma once\nstruct Base { int given(); };\n"
        f"struct Option : Base {{\n{never_used}}};\nstruct App {{\n  Option *add(int);\n{never_used}}};\n",
        "user.cc": '#include "app.h"\nint user(App &app) { static int n = 1000003; return app.add(n)->given(); }\n',
    }
    documents = assembled(tmp_path, sources, SemanticRecipe(strategy="per_chunk", replication=0), 300)
    text = next(each.text for each in documents if isinstance(each, Document) and "int user(" in each.text)
    assert "struct Option : Base {" in text


def test_an_enumeration_that_is_declared_ahead_has_the_type_of_its_values(tmp_path: Path) -> None:
    sources = {
        "kind.h": "#pragma once\nenum class Kind : unsigned char;\nnamespace base {\n"
        "constexpr Kind first = Kind(1 << 5);\n}\n"
        "enum class Kind : unsigned char {\n  one = int(base::first),\n  two,\n};\n",
        "user.cc": '#include "kind.h"\nint user(Kind kind) { static int n = 10003; return kind == Kind::two && n; }\n',
    }
    documents = assembled(tmp_path, sources, SemanticRecipe(strategy="per_chunk", replication=0))
    text = next(each.text for each in documents if isinstance(each, Document) and "int user(" in each.text)
    places = [text.index(each) for each in ("enum class Kind : unsigned char;", "Kind first", "  two,")]
    assert places == sorted(places) and "enum class Kind;" not in text


@pytest.mark.parametrize("include_each_other", [False, True])
def test_in_a_circle_what_a_file_includes_comes_before_its_own_text(tmp_path: Path, include_each_other: bool) -> None:
    even = "inline bool even(unsigned n) { return n == 0 || odd(n - 1); }\n"
    odd = "inline bool odd(unsigned n) { return n != 0 && even(n - 1); }\n"
    sources = {
        "even.h": f'#pragma once\n#include "odd.h"\n{even}',
        "odd.h": ('#pragma once\n#include "even.h"\n' if include_each_other else "#pragma once\n")
        + f"inline bool even(unsigned n);\n{odd}",
        "use.cc": '#include "even.h"\nbool use_of_both(unsigned n) { return even(n) || odd(n * 1000003); }\n',
    }
    texts = [each.text for each in all_of(tmp_path, sources, strategy="per_chunk", replication=0)]
    text = next(text for text in texts if "bool use_of_both(" in text)
    assert (text.index(odd) < text.index(even)) != include_each_other


TABLE = f"const int table[] = {{{'1, ' * 60}}};\n"


@pytest.mark.parametrize(
    ("sources", "declaration"),
    [({"user.c": "", "z.c": f'#include "z.h"\n{TABLE}'}, "extern const int table[];"), ({"user.c": TABLE}, TABLE)],
)
def test_a_long_variable_is_declared_or_defined_in_front_of_each_of_its_users(
    sources: dict[str, str], declaration: str, tmp_path: Path
) -> None:
    user = "int user(int v) { return helper(v) + table[v] + 1000033; }\n"
    sources = sources | {
        "a.h": '#pragma once\n#include "z.h"\nstatic inline int helper(int v) { return table[v] + 1000003; }\n',
        "user.c": f'#include "a.h"\n{sources["user.c"]}{user}',
        "z.h": "#pragma once\nextern const int table[];\n",
    }
    found = all_of(tmp_path, sources, 400, strategy="file", replication=0, body_depth=2)
    text = next(document.text for document in found if "int user(" in document.text)
    places = [text.index(each) for each in (declaration, "int helper(int v) {", "int user(")]
    assert places == sorted(places)
