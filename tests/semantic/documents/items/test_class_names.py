"""Which classes a text needs complete, by its words."""

from __future__ import annotations

import pytest

from megacpp_assets.semantic.documents.items.class_names import (
    completed_in,
    filled_in,
    qualified_in,
    qualifiers_in,
    template_in,
)


@pytest.mark.parametrize(
    ("text", "plain", "tagged"),
    [
        ("Box box;", {"Box", "box"}, set()),
        ("const Box &box; Box *other; Box<int> const *third;", {"const", "box", "other", "third", "int"}, set()),
        ("struct Box box;", {"box"}, {"Box"}),
        ("struct Box; class Other final {};", {"final"}, set()),
        ("sizeof(struct Box)", {"sizeof"}, {"Box"}),
        ("enum class Color color;", {"color"}, {"Color"}),
        ("typedef struct Box Box;", set(), set()),
        ("typedef struct Box Crate;", {"Crate"}, set()),
        ("typename Box::type value;", {"type", "value"}, set()),
        ("catch (const ns::Fault &fault)", {"catch", "const", "ns", "fault", "Fault"}, set()),
        ("Box *boxes; use(boxes[1]);", {"boxes", "use", "Box"}, set()),
        ("Box *box; use(sizeof(*box));", {"box", "use", "sizeof", "Box"}, set()),
    ],
)
def test_a_name_is_of_a_complete_class_unless_it_is_a_pointer_or_declares_one(
    text: str, plain: set[str], tagged: set[str]
) -> None:
    assert completed_in(text) == (plain, tagged)


def test_names_with_something_inside_are_qualifiers() -> None:
    assert qualifiers_in("A::B::c d; ::E f; G ::h; i :: * j") == {"A", "B", "G"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Point p = {1, 2};", {"Point"}),
        ("static const Point all[2] = {{1, 2}, {3, 4}};", {"Point"}),
        ("Point p{1, 2};", {"Point"}),
        ("Point p = {0}; Point other{};", set()),
        ("Point p = {.x = 1};", set()),
        ("struct File : Base { int size; };", set()),
    ],
)
def test_a_class_is_filled_where_its_fields_are_given_in_order(text: str, names: set[str]) -> None:
    assert filled_in(text) & {"Point", "Base", "File"} == names


def test_a_name_inside_of_a_class_is_found_behind_template_arguments() -> None:
    text = "a::b::c x; Box<int, Map<K, V> >::Type y; less(i < j, std::k); Outer<In::ner>::Kind z;"
    assert qualified_in(text) == {
        ("a", "b"), ("b", "c"), ("Box", "Type"), ("std", "k"), ("Outer", "Kind"), ("In", "ner")
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "template"),
    [
        ("typedef Reader<Narrow<> > NarrowReader;", "Reader"),
        ("template <typename T> using type = typename std::conditional<true, T, int>::type;", "conditional"),
        ("typedef const lib::Map<int, Box> Boxes;", "Map"),
        ("using Text = Narrow;", ""),
    ],
)
def test_the_template_of_a_typedef_is_the_first_one(text: str, template: str) -> None:
    assert template_in(text) == template
