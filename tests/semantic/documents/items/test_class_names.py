"""Which classes a text needs complete, by its words."""

from __future__ import annotations

import pytest

from megacpp_assets.semantic.documents.items.class_names import completed_in, qualifiers_in


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
    ],
)
def test_a_name_is_of_a_complete_class_unless_it_is_a_pointer_or_declares_one(
    text: str, plain: set[str], tagged: set[str]
) -> None:
    assert completed_in(text) == (plain, tagged)


def test_names_with_something_inside_are_qualifiers() -> None:
    assert qualifiers_in("A::B::c d; ::E f; G ::h; i :: * j") == {"A", "B", "G"}
