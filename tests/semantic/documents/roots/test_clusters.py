"""Roots that belong together share a document."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from megacpp_assets.semantic.documents.roots.clusters import GroupSizes, clusters
from megacpp_assets.semantic.graph.repository import build_repository
from tests.semantic.sources import analysed, index

CALLED = "int called(int v) { return v + 1000003; }\n"
CALLER = "int called(int);\nint caller() { return called(1) + called(2); }\n"


@pytest.mark.parametrize(("standard", "groups"), [("gnu11", 2), ("c++17", 1)])
def test_roots_in_c_and_in_cpp_are_in_different_groups(standard: str, groups: int, tmp_path: Path) -> None:
    first, second = (facts for facts, _ in analysed(tmp_path, {"a.c": CALLED, "b.cc": CALLER}))
    files = [
        replace(first, parsed=replace(first.parsed, standard=standard)),
        replace(second, parsed=replace(second.parsed, standard="c++17")),
    ]
    repository = build_repository(files)
    sizes = [place.span.char_end - place.span.char_start for place in repository.roots]
    assert len(clusters(repository, repository.roots, sizes, GroupSizes(10_000))) == groups


@pytest.mark.parametrize(("imports", "groups"), [("import lib;\n", 2), ("#ifdef MODULES\nimport lib;\n#endif\n", 1)])
def test_a_root_that_always_imports_a_module_is_in_no_group_with_other_text(
    imports: str, groups: int, tmp_path: Path
) -> None:
    repository, _ = index(tmp_path, {"a.cc": CALLED, "b.cc": imports + CALLER})
    sizes = [place.span.char_end - place.span.char_start for place in repository.roots]
    found = clusters(repository, repository.roots, sizes, GroupSizes(10_000))
    assert len(found) == groups


@pytest.mark.parametrize(("standard", "is_shared"), [("gnu11", False), ("c++17", True)])
def test_functions_of_one_name_are_in_different_groups_in_c_which_has_no_overloads(
    standard: str, is_shared: bool, tmp_path: Path
) -> None:
    sources = {
        "a.c": "int other(int);\nstatic int reset(int v) { return other(v) + 100003; }\nint a() { return reset(1); }\n",
        "b.c": "static int reset(int v, int w) { return v + w; }\nint other(int v) { return reset(v, 2) + 1000033; }\n",
    }
    facts = [each for each, _ in analysed(tmp_path, sources)]
    repository = build_repository([replace(each, parsed=replace(each.parsed, standard=standard)) for each in facts])
    sizes = [place.span.char_end - place.span.char_start for place in repository.roots]
    found = clusters(repository, repository.roots, sizes, GroupSizes(10_000))
    resets = [[repository.roots[number].root.name for number in group].count("reset") for group in found]
    assert (max(resets) == 2) is is_shared and sum(resets) == 2


@pytest.mark.parametrize(
    ("standard", "text", "is_shared"),
    [
        ("gnu11", "struct reset { int v; };\nint reset(struct reset *r) { return r->v + 1000003; }\n", True),
        (
            "gnu11",
            "#ifdef OLD\nint reset(int v) { return v; }\n#else\nint reset(int v) { return v + 1; }\n#endif\n",
            True,
        ),
        ("c++17", "int main(int n) { return n; }\nint main(int n, char **v) { return v[0][n]; }\n", False),
    ],
)
def test_main_and_in_c_each_function_is_defined_once_under_the_same_conditions(
    standard: str, text: str, is_shared: bool, tmp_path: Path
) -> None:
    ((facts, _),) = analysed(tmp_path, {"a.c": text})
    repository = build_repository([replace(facts, parsed=replace(facts.parsed, standard=standard))])
    sizes = [place.span.char_end - place.span.char_start for place in repository.roots]
    found = clusters(repository, repository.roots, sizes, GroupSizes(10_000))
    assert (len(repository.roots), len(found)) == (2, 1 if is_shared else 2)
