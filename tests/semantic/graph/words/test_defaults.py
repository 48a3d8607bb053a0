"""Prototypes with default arguments: which function definitions need them."""

from __future__ import annotations

from pathlib import Path

from megacpp_assets.contract.recipe.documents import SemanticRecipe
from tests.semantic.sources import Sources, assembled, by_root, index

RECIPE = SemanticRecipe(strategy="per_chunk", replication=0, body_depth=0)


def _needed(tree: Path, header: str, source: str, start: str = "int f(") -> list[tuple[str, str]]:
    """Return each pair of chunks of which the first needs the second, a function that begins with `start`."""
    repository, _ = index(tree, {"a.h": header, "a.cc": f'#include "a.h"\n{source}'})
    files, nodes = repository.files, repository.nodes
    text = [files[node.file].source.text[node.char_start : node.char_end] for node in nodes]
    return [
        (text[user], text[target])
        for user, edges in enumerate(repository.out)
        for target, _, _ in edges
        if text[target].startswith(start)
    ]


def test_a_definition_needs_the_prototype_that_has_its_default_arguments(tmp_path: Path) -> None:
    definition, prototype = (
        "int f(int first, int second) { return first + second; }",
        "int f(int first, int second = 2);",
    )
    assert _needed(tmp_path, f"{prototype}\n", f"{definition}\n") == [(definition, prototype)]


def test_a_prototype_without_default_arguments_is_not_needed(tmp_path: Path) -> None:
    source = "int f(int first) { return first; }\n"
    assert _needed(tmp_path / "plain", "int f(int first);\n", source) == []
    assert _needed(tmp_path / "comment", "int f(int first /* (first = 1) */);\n", source) == []


def test_operators_and_deleted_functions_have_no_default_arguments(tmp_path: Path) -> None:
    header = "struct S {};\nbool operator==(S a, S b);\nbool operator!=(S a, S b) = delete;\n"
    source = "bool operator==(S, S) { return true; }\n"
    assert _needed(tmp_path, header, source, "bool operator") == []


def test_a_call_with_fewer_arguments_is_shown_with_the_prototype(tmp_path: Path) -> None:
    sources: Sources = {
        "a.h": "int f(int first, int second = 2);\n",
        "a.cc": f'#include "a.h"\nint f(int first, int second) {{ {"first += second; " * 40} return first; }}\n',
        "b.cc": '#include "a.h"\nint user() { return f(1000000); }\n',
    }
    assert "int f(int first, int second = 2);" in by_root(assembled(tmp_path, sources, RECIPE, 100))["user"].text


def test_a_class_template_needs_the_declaration_that_has_its_default_arguments(tmp_path: Path) -> None:
    declaration, definition = "template <typename T = int> struct Box;", "template <typename T> struct Box { T side; };"
    found = _needed(tmp_path, f"{declaration}\n", f"{definition}\n", "template <typename T = int> struct")
    assert found == [(definition, declaration)]
    assert _needed(tmp_path / "plain", "template <typename T> struct Box;\n", f"{definition}\n", "template") == []
