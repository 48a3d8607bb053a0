"""Declarations that say the same are found by their statements."""

from __future__ import annotations

from megacpp_assets.semantic.documents.items.statements import statements_of


def test_the_same_class_in_two_generated_files_says_the_same() -> None:
    one, other = (f'struct state {{\n#line {line} "parser.y"\n  int depth; // {line}\n}};' for line in (10, 30))
    assert statements_of(one) == statements_of(other)


def test_another_field_says_something_else() -> None:
    assert statements_of("struct state { int depth; };") != statements_of("struct state { int limit; };")
