"""A method stands with its class, a class with its bases, and a macro that is used is shown."""

from __future__ import annotations

from pathlib import Path

from megacpp_assets.contract.recipe.documents import SemanticRecipe
from megacpp_assets.semantic.documents.document import Document
from tests.semantic.sources import Sources, assembled

FILLER = "".join(f"  int filler_number_{number};\n" for number in range(300))
SOURCES: Sources = {
    "shape.h": f"""\
#pragma once
#define CHECKED(value) ((value) > 0 ? (value) : 0)
struct Named {{
  virtual int name_of(int number) const;
  virtual int other_of(int number) const;
{FILLER}}};
class Shape : public Named {{
 public:
  int name_of(int number) const override;
  int area() const;
 private:
  int width_;
  static int count_;
{FILLER}}};
""",
    "shape.cc": """\
#include "shape.h"
int Shape::count_ = 1000000;
int Shape::area() const { return CHECKED(width_ * width_ + count_); }
int Shape::name_of(int number) const { return number + 1000000; }
""",
}


def _text(tree: Path, root: str) -> str:
    recipe = SemanticRecipe(strategy="per_chunk", replication=1.01, parsed_documents=0)
    made = (entry for entry in assembled(tree, SOURCES, recipe) if isinstance(entry, Document))
    return next(entry.text for entry in made if entry.root.name == root)


def test_a_method_stands_behind_its_class_with_its_declaration_and_the_members_that_it_names(tmp_path: Path) -> None:
    text = _text(tmp_path, "Shape::area")
    shape, method = text.index("class Shape : public Named {"), text.index("int Shape::area() const {")
    assert shape < text.index("int area() const;") < method
    assert text.index("int width_;") < method and "static int count_;" in text
    assert "filler" not in text and "int other_of" not in text
    assert text.index("#define CHECKED(value)") < method


def test_the_base_of_a_shown_class_is_defined_with_the_virtual_functions_that_are_overridden(tmp_path: Path) -> None:
    text = _text(tmp_path, "Shape::name_of")
    base = text.index("struct Named {")
    assert base < text.index("virtual int name_of(int number) const;") < text.index("class Shape : public Named {")
    assert "other_of" not in text


def test_a_static_member_is_defined_behind_its_class(tmp_path: Path) -> None:
    text = _text(tmp_path, "Shape::count_")
    assert text.index("class Shape") < text.index("static int count_;") < text.index("int Shape::count_ = 1000000;")
