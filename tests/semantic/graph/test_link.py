from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.semantic.graph.analysis.analysis import analyse
from megacpp_assets.semantic.graph.link import CALL_EDGE, CONFIDENCES
from megacpp_assets.semantic.graph.repository import Repository, build_repository
from megacpp_assets.semantic.tree.text import decode
from tests.semantic.parsing_trees import listing, parse_in_process
from tests.semantic.sources import Sources, assembled, by_root, index

Edge = tuple[str, str, str, str]
EDGE_NAMES = ("call", "type", "reference")


def _edges(tree: Path, sources: Sources) -> set[Edge]:
    """(user, used, "call", "type" or "reference", confidence) by chunk names."""
    repository: Repository = index(tree, sources)[0]
    names = [node.chunk.name for node in repository.nodes]
    return {
        (names[user], names[used], EDGE_NAMES[edge], CONFIDENCES[sure])
        for user, row in enumerate(repository.out)
        for used, edge, sure in row
    }


def _native_edges(tree: Path, sources: Sources) -> set[tuple[str, str]]:
    """(user, used) of the calls of definitions, by the native visitor."""
    found = parse_in_process(tree, sources)
    pairs = zip(listing(sources), sorted(sources), strict=True)
    facts = [analyse(file, decode(path, sources[path].encode()), found[path])[0] for file, path in pairs]
    nodes = build_repository(facts)
    bodies = [node.chunk.name if node.chunk.kind == "func_body" else "" for node in nodes.nodes]
    return {
        (bodies[user], bodies[used])
        for user, row in enumerate(nodes.out)
        for used, edge, _ in row
        if edge == CALL_EDGE and bodies[user] and bodies[used]
    }


def test_a_call_leads_to_the_definition_in_another_file_not_to_the_prototype(tmp_path: Path) -> None:
    edges = _edges(
        tmp_path,
        {
            "f.h": "int shared(int);\n",
            "f.cc": '#include "f.h"\nint shared(int v) { return v; }\n',
            "g.cc": '#include "f.h"\nint user() { return shared(1); }\n',
        },
    )
    assert ("user", "shared", "call", "exact") in edges


def _users_of_two(tree: Path, sources: Sources) -> dict[str, set[str]]:
    """The files whose definition of `Item` each function uses."""
    repository = index(tree, sources)[0]
    files = sorted(sources)
    return {
        node.chunk.name: {files[repository.nodes[used].file] for used, _, _ in row}
        for node, row in zip(repository.nodes, repository.out, strict=True)
        if node.chunk.kind == "func_body"
    }


def test_a_file_uses_its_own_definition_else_that_of_a_header(tmp_path: Path) -> None:
    user = "int {}(const Item &item) {{ return item.size; }}\n"
    sources = {
        "a_test.cc": "struct Item { int size; char mine; };\n" + user.format("first"),
        "b.cc": '#include "item.h"\n' + user.format("second"),
        "item.h": "struct Item { int size; };\n" + user.format("inline third"),
        "z_test.cc": "struct Item { int size; long mine; };\n" + user.format("fourth"),
    }
    assert _users_of_two(tmp_path, sources) == {
        "first": {"a_test.cc"},
        "second": {"item.h"},
        "third": {"item.h"},
        "fourth": {"z_test.cc"},
    }


HIDDEN = {
    "f.h": "int work(int);\nstruct S { void step(int); };\n",
    "g.cc": '#include "f.h"\nint user() { S s; s.step(2); return work(1); }\n',
}


@pytest.mark.parametrize("order", [0, 1])
def test_a_definition_that_makes_a_parameter_const_is_that_of_its_prototype(tmp_path: Path, order: int) -> None:
    near, far = "int near() { return work(2); }\n", "int work(const int v) { return v; }\n"
    both = (near + far, far + near)[order] + "void S::step(const int) { work(3); }\n"
    edges = _native_edges(tmp_path, {**HIDDEN, "f.cc": '#include "f.h"\n' + both})
    assert {("user", "work"), ("near", "work"), ("user", "S::step"), ("S::step", "work")} <= edges


def test_methods_constructors_operators_and_macros_are_calls(tmp_path: Path) -> None:
    text = """\
struct Box { Box(int v); int get() const; Box operator+(const Box &o) const; };
Box::Box(int) { static int made = 0; ++made; }
int Box::get() const { return 1; }
Box Box::operator+(const Box &) const { return Box(2); }
int plain(int v) { return v; }
#define ASK(x) plain(x)
int user() { Box a(1); return (a + a).get() + ASK(3); }
"""
    edges = _edges(tmp_path, {"a.cc": text})
    called = {used for user, used, edge, _ in edges if (user, edge) == ("user", "call")}
    assert called == {"Box::Box", "Box::get", "Box::operator+", "ASK", "plain"}


def test_bases_members_parameters_locals_and_template_arguments_are_types(tmp_path: Path) -> None:
    text = """\
struct Base { int b; };

struct Part { int p; };

template <class T> struct Holder { T held; };

struct Whole : Base { Part part; };

int local(Part *given) { Holder<Whole> here; return 0; }
"""
    edges = _edges(tmp_path, {"a.cc": text})
    types = {(user, used) for user, used, edge, _ in edges if edge == "type"}
    assert types == {
        ("Whole", "Base"), ("Whole", "Part"), ("local", "Part"), ("local", "Holder"), ("local", "Whole"),
    }  # fmt: skip


def test_a_dependent_call_is_guessed_by_name_only_where_one_chunk_has_it(tmp_path: Path) -> None:
    text = """\
struct A { void once(); void often(); };
void A::once() { int here = 1; }
void A::often() { int here = 2; }
struct B { void often(); };
void B::often() { int here = 3; }
template <class T> void user(T &t) { t.once(); t.often(); }
"""
    edges = _edges(tmp_path, {"a.cc": text})
    assert {edge for edge in edges if edge[0] == "user"} == {("user", "A::once", "call", "name")}


def test_a_chunk_has_no_edge_to_itself(tmp_path: Path) -> None:
    assert _edges(tmp_path, {"a.cc": "int down(int v) { return v ? down(v - 1) : 0; }\n"}) == set()


def test_levels_rise_from_the_leaves(tmp_path: Path) -> None:
    text = "int a() { return 100000; }\nint b() { return a() + 1; }\nint c() { return b() + a(); }\n"
    repository, _ = index(tmp_path, {"a.cc": text})
    assert list(repository.level) == [0, 1, 2]
    assert list(repository.leaf) == [True, False, False]


REFERENCES = """\
struct Box { Box(int v); int run(int) { return 1; } int operator()(int) const { return 2; } };
Box::Box(int v) { }
int work(int v) { return v; }
int take(int (*)(int)) { return 3; }
int pass(int (Box::*)(int)) { return 4; }
template <class T> T twice(T v) { return v; }
"""


@pytest.mark.parametrize(
    ("body", "used", "kinds"),
    [
        ("take(work);", "work", {"reference"}),
        ("take(&work);", "work", {"reference"}),
        ("take(&twice<int>);", "twice", {"reference"}),
        ("pass(&Box::run);", "Box", {"type", "reference"}),
        ("take(work); work(1);", "work", {"call", "reference"}),
        ("(work)(1);", "work", {"call"}),
        ("work(take(work));", "take", {"call"}),
        ("twice(1);", "twice", {"call"}),
        ("Box b(1);", "Box::Box", {"call"}),
        ("new Box(1);", "Box::Box", {"call"}),
    ],
)
def test_a_function_that_is_only_named_is_referred_to_and_not_called(
    tmp_path: Path, body: str, used: str, kinds: set[str]
) -> None:
    edges = _edges(tmp_path, {"a.cc": REFERENCES + "void user() { " + body + " }\n"})
    assert {kind for user, other, kind, _ in edges if (user, other) == ("user", used)} == kinds


def test_a_use_of_a_variable_template_leads_to_it(tmp_path: Path) -> None:
    text = """\
template <class T> constexpr bool one = true;
template <class T> constexpr bool one<T*> = false;
template <class T> int dependent(T) { return one<T>; }
int plain() { return one<int*>; }
"""
    edges = _edges(tmp_path, {"a.cc": text})
    assert {("dependent", "one", "reference", "overload"), ("plain", "one", "reference", "exact")} <= edges


def test_a_reference_is_no_call_edge_of_the_document(tmp_path: Path) -> None:
    document = by_root(assembled(tmp_path, {"a.cc": REFERENCES + "void user() { take(work); }\n"}))["user"]
    names = [chunk.name for chunk in document.boundaries]
    called = {names[callee] for caller, callee, _ in document.call_edges() if names[caller] == "user"}
    assert "work" in names and called == {"take"}


def test_names_lead_to_the_parts_of_an_amalgamation(tmp_path: Path) -> None:
    bodies = (
        "inline int part0(int v) {{ return v * {} + 1000; }}\n",
        "template <class T>\nint part1(const T& v) {{ return v.size() * {} + 1000; }}\n",
        "struct Part2 {{\n  static const int most = 7;\n  int value = {};\n  int get() {{ return value; }}\n}};\n",
    )
    parts = {f"src/part{n}.h": body.format(n) for n, body in enumerate(bodies)}
    user = "template <class T>\nint user(T v) { Part2 p; return part0(p.value) + part1(v) + Part2::most; }\n"
    includes = "".join(f'#include "{path}"\n' for path in parts)
    repository = index(tmp_path, {"all.h": "".join(parts.values()), **parts, "z.h": includes + user})[0]
    (number,) = (number for number, node in enumerate(repository.nodes) if node.chunk.name == "user")
    used = {repository.files[repository.nodes[target].file].source.path for target, _, _ in repository.out[number]}
    assert repository.amalgamations == {0}
    assert used == set(parts)


def test_a_call_of_a_function_of_the_system_is_no_use_of_a_macro_of_that_name(tmp_path: Path) -> None:
    sources = {
        "windows_port.h": "#pragma once\n#define close _close\n#define LIB_LIMIT 7\n",
        "a.c": "#include <unistd.h>\nint user(int file) { return close(file); }\n",
    }
    assert not {edge for edge in _edges(tmp_path, sources) if edge[0] == "user"}


def test_a_use_of_a_macro_leads_to_the_only_definition_that_a_parse_of_its_own_file_saw(tmp_path: Path) -> None:
    sources = {
        "other.h": "#pragma once\n#define LIMIT 2\n",
        "part.h": "#pragma once\n#ifdef ALL\n#define LIMIT 1\n#endif\n",
        "user.cc": '#define ALL\n#include "part.h"\nint user() { return LIMIT; }\n',
    }
    assert _edges(tmp_path, sources) == {("user", "LIMIT", "call", "overload")}


@pytest.mark.parametrize(
    ("sources", "place"),
    [
        ({"0.cc": "int LIB_V1() { return 1000003; }\n"}, None),
        ({"0.cc": "int LIB_V1() { return 1000003; }\n", "name.h": "#define LIB_V1 lib\n"}, "name.h"),
        ({"1.h": "#define LIB_V1 one\n", "2.h": "#define LIB_V1 two\n"}, "1.h"),
    ],
)
def test_what_is_in_a_namespace_uses_the_first_macro_of_the_name_in_its_head(
    sources: Sources, place: str | None, tmp_path: Path
) -> None:
    user = "namespace LIB_V1::inner {\nint user(int v) { return v + 1000033; }\n}\n"
    repository: Repository = index(tmp_path, {**sources, "user.cc": user})[0]
    number = next(each for each, node in enumerate(repository.nodes) if node.chunk.name.endswith("::user"))
    used = {repository.files[repository.nodes[target].file].source.path for target, _, _ in repository.out[number]}
    assert used == ({place} if place else set())
