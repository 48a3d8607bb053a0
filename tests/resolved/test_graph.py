"""What the compiler resolves that names do not tell: the graphs of v4 and v5 beside the truth of a small tree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from megacpp_assets.windows.functions import ParsedBlobs
from megacpp_assets.windows.graph import TreeGraph
from megacpp_assets.windows.trees import TreeChange
from tests.resolved.following import Followed, followed, pool, tree

SHAPE_H = """#pragma once
struct Shape {
  virtual ~Shape() {}
  virtual int area() const = 0;
};
struct Square : Shape {
  int side = 2;
  int area() const override;
};
int twice(int value);
int twice(double value);
template <typename T> int sum(const T& first, const T& second) {
  return twice(first) + twice(second);
}
"""
SHAPE_CC = """#include "shape.h"
int Square::area() const { return side * side; }
int twice(int value) { return 2 * value; }
int twice(double value) { return int(2 * value); }
"""
PAINT_CC = """#include "shape.h"
struct Other {
  int area() const { return 7; }
};
int paint(const Shape& shape) { return shape.area(); }
int other(const Other& it) { return it.area(); }
int whole() { return twice(3); }
int half() { return twice(1.5); }
int both() { return sum<int>(1, 2); }
int outer(const Shape& shape) { return paint(shape) + 1; }
#define CASE(group, name) static int group##_##name##_made()
CASE(Paint, two) { return 2; }
"""
FILES = {"include/shape.h": SHAPE_H, "src/shape.cc": SHAPE_CC, "src/paint.cc": PAINT_CC}


@pytest.fixture(scope="module")
def at_tip(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Followed]:
    with pool() as executor, followed(tree(FILES), tmp_path_factory.mktemp("tree"), executor) as found:
        yield found


def _callers(at_tip: Followed, name: str, path: str) -> list[tuple[str, str, str]]:
    place = at_tip.named(name, [path])
    at_tip.graph.look_around([place])
    return at_tip.around(at_tip.graph.callers(place))


def test_a_virtual_call_through_the_base_calls_its_overrides(at_tip: Followed) -> None:
    assert _callers(at_tip, "Square::area", "src/shape.cc") == [("CALLED BY", "paint", "overload")]


def test_a_function_that_a_macro_names_is_shown_as_its_text_has_it(at_tip: Followed) -> None:
    place = at_tip.named("CASE(Paint, two)", ["src/paint.cc"])
    assert at_tip.graph.node(place).name == "CASE(Paint, two)"


def test_an_overload_has_only_its_own_callers(at_tip: Followed) -> None:
    blob = at_tip.graph.tree.files["src/shape.cc"][0]
    at_tip.graph.read({"src/shape.cc": blob})
    places = [place for place, node in at_tip.graph.functions("src/shape.cc", blob) or () if node.name == "twice"]
    at_tip.graph.look_around(places)
    edges = [at_tip.around(at_tip.graph.callers(place)) for place in places]
    assert [[name for _, name, sure in found if sure == "exact"] for found in edges] == [["whole"], ["half"]]
    # In the template the type of the argument is not known: one of both may be meant.
    assert ("CALLED BY", "sum", "overload") in edges[0] + edges[1]


def test_a_call_of_a_template_leads_to_the_template(at_tip: Followed) -> None:
    assert _callers(at_tip, "sum", "include/shape.h") == [("CALLED BY", "both", "exact")]
    place = at_tip.named("both", ["src/paint.cc"])
    assert at_tip.around(at_tip.graph.callees(place)) == [("CALLS", "sum", "exact")]


def test_a_definition_in_another_unit_is_found(at_tip: Followed) -> None:
    place = at_tip.named("whole", ["src/paint.cc"])
    at_tip.graph.look_around([place])
    (edge,) = at_tip.graph.callees(place)
    node = at_tip.graph.node(edge.place)
    assert (edge.place.path, node.name, node.first, edge.confidence) == ("src/shape.cc", "twice", 2, "exact")


def test_relatives_are_the_class_its_bases_and_the_callers_of_callers(at_tip: Followed) -> None:
    place = at_tip.named("Square::area", ["src/shape.cc"])
    at_tip.graph.look_around([place])
    assert at_tip.around(at_tip.graph.relatives(place)) == [
        ("USES TYPE", "Square", "exact"),
        ("BASE OF ITS CLASS", "Shape", "exact"),
        ("CALLED BY ITS CALLER'S CALLER", "outer", "exact"),
    ]


def test_linking_by_names_finds_a_caller_of_another_class(at_tip: Followed) -> None:
    graph = TreeGraph(ParsedBlobs(at_tip.graph.files))
    blobs = {path: blob for path, (blob, _) in at_tip.graph.tree.files.items()}
    graph.apply(TreeChange(path, blob) for path, blob in blobs.items())
    functions = graph.functions("src/shape.cc", blobs["src/shape.cc"]) or ()
    (area,) = [place for place, node in functions if node.name == "Square::area"]
    assert {graph.node(edge.place).name for edge in graph.callers(area)} == {"paint", "other"}


def test_a_conversion_to_a_template_is_shown_as_its_text_has_it(tmp_path: Path) -> None:
    box = "template <typename T> struct Box {};\nstruct Any {\n  template <typename T>\n"
    text = box + "  operator Box<T>() const { return Box<T>(); }\n};\nBox<int> unpack(const Any& any) { return any; }\n"
    with pool() as executor, followed(tree({"any.cc": text}), tmp_path, executor) as at:
        found = at.around(at.graph.callees(at.named("unpack", ["any.cc"])))
    assert found == [("CALLS", "template <typename T> operator Box<T>() const", "exact")]
