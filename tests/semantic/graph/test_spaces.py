from __future__ import annotations

from pathlib import Path

import pytest

from tests.semantic.sources import index


@pytest.mark.parametrize(
    ("macros", "head", "name"),
    [
        ("#define OUTER a::b\n", "namespace OUTER::c {", "a::b::c"),
        ("#define OUTER a::b\n", "namespace OUTER {", "a::b"),
        ("#define OUTER a\n", "namespace OUTER::c {", "a::c"),
        ("#define INNER b::c\n", "namespace a::INNER {", "a::b::c"),
        ("", "namespace a::b::c {", "a::b::c"),
    ],
)
def test_one_head_opens_one_space_even_if_a_macro_has_a_part_of_its_names(
    tmp_path: Path, macros: str, head: str, name: str
) -> None:
    text = f"{macros}{head}\nint f() {{ return 1; }}\n}}\n"
    repository, _ = index(tmp_path, {"a.cc": text})
    (root,) = [root for root in repository.roots if root.root.kind == "func_body"]
    (space,) = root.spaces
    assert (text[space.opening.char_start : space.opening.char_end], space.closing, space.name) == (head, "}", name)


def test_a_macro_behind_the_brace_closes_a_space_too(tmp_path: Path) -> None:
    macros = "#define BEGIN namespace lib { inline namespace v1\n#define END } static_assert(true)\n"
    repository, _ = index(tmp_path, {"a.cc": f"{macros}BEGIN\n{{\nint f() {{ return 1; }}\n}}\nEND;\n"})
    (root,) = [root for root in repository.roots if root.root.kind == "func_body"]
    assert {name for space in root.spaces for name in space.macros} == {"BEGIN", "END"}


@pytest.mark.parametrize(
    ("macros", "head", "within"),
    [
        ("", "namespace LIB_V2::inner::LIB_V1 {", ("LIB_V2", "LIB_V1")),
        ("", "namespace LIB_V1::LIB_V1 {", ("LIB_V1",)),
        ("", "namespace A::Lib::B2b {", ()),
        ("#define outer a::b\n", "namespace outer::c {", ("outer",)),
        ("#define LIB_BEGIN namespace lib {\n", "LIB_BEGIN", ()),
    ],
)
def test_what_may_be_a_macro_in_the_head_of_a_space_is_recorded_in_its_order(
    tmp_path: Path, macros: str, head: str, within: tuple[str, ...]
) -> None:
    repository, _ = index(tmp_path, {"a.cc": f"{macros}{head}\nint f() {{ return 1; }}\n}}\n"})
    (space,) = next(root.spaces for root in repository.roots if root.root.kind == "func_body")
    assert space.within == within
    assert space.macros == {*within, *((head,) if head == "LIB_BEGIN" else ())}
