from __future__ import annotations

from pathlib import Path

from megacpp_assets.semantic.documents.items.mentions import Mentions
from megacpp_assets.semantic.labels.symbol_names import symbol_id
from tests.semantic.sources import index

TEXT = """\
#define TWICE(x) ((x) + (x))
struct Box { int side; int operator+(int more) const { return side + more; } };
int helper(int v);
int user(const Box &box) { int local = helper(1); return TWICE(box.side) + (box + local) + helper(2); }
"""


def _mentions(tree: Path) -> tuple[Mentions, dict[str, tuple[int, int]]]:
    repository, store = index(tree, {"a.cc": TEXT})
    return Mentions(repository, store), {place.root.name: place.unit for place in repository.roots}


def test_a_root_uses_what_it_names_of_the_repository_but_no_locals(tmp_path: Path) -> None:
    mentions, units = _mentions(tmp_path)
    names = ("Box", "Box::side", "Box::operator+", "helper", "TWICE")
    assert mentions.used(units["user"]).keys() == {symbol_id(name) for name in names}
    assert mentions.used(units["user"])[symbol_id("helper")] == 2


def test_what_a_root_declares_itself_it_does_not_use(tmp_path: Path) -> None:
    mentions, units = _mentions(tmp_path)
    assert not mentions.used(units["Box"])


def test_a_stretch_declares_what_begins_in_it_operators_and_macros_too(tmp_path: Path) -> None:
    mentions, _ = _mentions(tmp_path)
    whole = mentions.declared(0, 0, len(TEXT))
    named = {symbol_id(name) for name in ("TWICE", "Box", "Box::side", "Box::operator+", "helper", "user")}
    assert named <= whole
    head = TEXT.index("struct Box"), TEXT.index(" { int side")
    assert mentions.declared(0, *head) == {symbol_id("Box")}


def test_a_module_with_the_name_of_a_namespace_makes_it_no_entity_that_a_root_uses(tmp_path: Path) -> None:
    code = (
        "#ifdef WITH_MODULES\nexport module lib;\nimport std;\n#endif\n#include <functional>\n"
        "namespace lib { struct Key {}; int length(int v); }\n"
        "namespace std { template <> struct hash<lib::Key> {}; }\n"
        "int user(int v) { return lib::length(v) + std::plus<int>()(v, v); }\n"
    )
    repository, store = index(tmp_path, {"a.cc": code})
    user = next(place.unit for place in repository.roots if place.root.name == "user")
    assert Mentions(repository, store).used(user).keys() == {symbol_id("lib::length")}


def test_a_name_of_the_standard_that_a_file_declares_ahead_is_no_entity_that_a_root_uses(tmp_path: Path) -> None:
    ahead = (
        "namespace std { template <class T> class allocator; template <class T, class A> class vector; struct Own; }\n"
    )
    code = f"{ahead}int length(const std::vector<int, std::allocator<int>> &all, std::Own *own);\n"
    repository, store = index(tmp_path, {"a.cc": code})
    length = next(place.unit for place in repository.roots if place.root.name == "length")
    assert Mentions(repository, store).used(length).keys() == {symbol_id("std::Own")}


def test_a_name_of_c_that_is_declared_where_its_header_is_missing_is_no_entity_that_a_root_uses(tmp_path: Path) -> None:
    sources = {
        "a.h": "#ifndef HAVE_STDINT_H\ntypedef unsigned char uint8_t;\n#endif\n"
        "#ifdef OWN\nint other(int v);\nint abs(int v);\n#endif\nint abs(int v);\n",
        "a.c": '#include "a.h"\nint user(uint8_t v) { return abs(v) + other(v); }\n',
    }
    repository, store = index(tmp_path, sources)
    units = {place.root.name: place.unit for place in repository.roots}
    used = Mentions(repository, store).used(units["user"]).keys()
    assert symbol_id("abs") in used and symbol_id("uint8_t") not in used
