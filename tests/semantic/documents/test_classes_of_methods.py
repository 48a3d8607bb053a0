"""A method stands with its class, a class with its bases, and a macro that is used is shown."""

from __future__ import annotations

from pathlib import Path

from megacpp_assets.contract.recipe.documents import SemanticRecipe
from megacpp_assets.semantic.documents.text.document import Document
from tests.semantic.documents.assembling import documents_of
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


def test_a_method_comes_after_its_class_with_its_declaration_and_the_members_that_it_names(tmp_path: Path) -> None:
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


def _documents(tree: Path, sources: Sources) -> dict[str, str]:
    recipe = SemanticRecipe(strategy="per_chunk", parsed_documents=0)
    made = (entry for entry in assembled(tree, sources, recipe) if isinstance(entry, Document))
    return {entry.root.name: entry.text for entry in made}


def test_a_class_that_is_declared_ahead_elsewhere_is_defined_for_its_methods(tmp_path: Path) -> None:
    shape = f"class Shape {{\n public:\n  int area() const;\n private:\n  int width_;\n{FILLER}}};\n"
    sources = {
        "a.h": "#pragma once\nclass Shape;\nint area_of(const Shape *shape);\n",
        "b.h": f'#pragma once\n#include "a.h"\n{shape}',
        "c.cc": '#include "b.h"\nint Shape::area() const { return width_ * width_ + 1000000; }\n',
    }
    text = _documents(tmp_path, sources)["Shape::area"]
    assert text.index("class Shape {") < text.index("int width_;") < text.index("int Shape::area() const {")


def test_friends_stand_with_members_that_are_not_public(tmp_path: Path) -> None:
    sources = {
        "a.h": f"class Reader;\nclass Store {{\n  friend class Reader;\n  int kept_value;\n{FILLER}}};\n"
        "class Reader {\n public:\n  int read(const Store &store);\n};\n",
        "b.cc": '#include "a.h"\nint Reader::read(const Store &store) { return store.kept_value + 1000; }\n',
    }
    text = _documents(tmp_path, sources)["Reader::read"]
    assert text.index("friend class Reader;") < text.index("int kept_value;")


def test_a_class_overrides_the_pure_functions_that_its_base_shows(tmp_path: Path) -> None:
    sources = {
        "a.h": "struct Pool {\n  virtual void *take_one() = 0;\n  virtual void give_back(void *) = 0;\n};\n"
        "struct Blocks : public Pool {\n  void *take_one() override {\n#ifdef TRACE\n    trace();\n#endif\n"
        f"    return 0;\n  }}\n  void give_back(void *) override {{ count = 0; }}\n  int count;\n{FILLER}}};\n",
        "b.cc": '#include "a.h"\nint held() { Blocks blocks; return blocks.count + 1000; }\n',
    }
    text = _documents(tmp_path, sources)["held"]
    assert "filler" not in text
    assert "void *take_one() override;" in text and "void give_back(void *) override;" in text


def test_a_class_overrides_the_pure_functions_of_a_nested_base(tmp_path: Path) -> None:
    sources = {
        "a.h": "struct Reader {\n  struct Factory {\n    // made by operator new() or by\n"
        "    virtual Reader *make() = 0;\n  };\n};\n"
        f"struct Builder : Reader::Factory {{\n  Reader *make() override;\n  int count;\n{FILLER}}};\n",
        "b.cc": '#include "a.h"\nint held() { Builder builder; return builder.count + 1000; }\n',
    }
    text = _documents(tmp_path, sources)["held"]
    assert "filler" not in text and "Reader *make() override;" in text


def test_a_type_held_by_value_is_defined_before_its_class_though_both_name_each_other(tmp_path: Path) -> None:
    sources = {
        "a.h": "class Owner;\nclass Inner {\n public:\n  Owner *owner;\n  int depth;\n};\n"
        "class Owner {\n public:\n  Inner inner;\n  int all() const;\n};\n",
        "b.cc": '#include "a.h"\nint Owner::all() const { return inner.depth + (inner.owner != nullptr) + 1000; }\n',
    }
    text = _documents(tmp_path, sources)["Owner::all"]
    assert text.index("class Inner {") < text.index("class Owner {") < text.index("int Owner::all")


def test_a_variable_comes_after_the_definition_of_its_type(tmp_path: Path) -> None:
    sources = {
        "a.cc": "struct Entity {\n  const char *pattern;\n  int length_of_it;\n};\n"
        'static const Entity entities[2] = {{"quot", 4}, {"amp", 3}};\n'
        "int first_length() { return entities[0].length_of_it + 1000; }\n",
    }
    text = _documents(tmp_path, sources)["first_length"]
    assert text.index("struct Entity {") < text.index("static const Entity entities") < text.index("int first_length")


def test_a_body_in_the_context_comes_with_the_members_that_it_names(tmp_path: Path) -> None:
    sources = {
        "a.h": f"class Counter {{\n public:\n  void add_one();\n  int total_;\n{FILLER}}};\n",
        "b.cc": '#include "a.h"\nvoid count_twice(Counter &counter) {\n'
        "  counter.add_one();\n  counter.total_ += 1000;\n}\n",
        "c.cc": '#include "a.h"\nvoid count_twice(Counter &);\n'
        f"void root(Counter &counter) {{ count_twice(counter); {'int unused = 1000000; ' * 20}}}\n",
    }
    text = _documents(tmp_path, sources)["root"]
    assert "counter.total_ += 1000" in text
    assert "int total_;" in text and "void add_one();" in text


def test_a_using_directive_comes_along_and_its_namespace_is_known(tmp_path: Path) -> None:
    sources = {
        "a.h": "namespace lib {\nstruct Thing { int width; };\n}\n",
        "b.cc": '#include "a.h"\nusing namespace lib;\nint user_of(Thing &thing) { return thing.width + 1000; }\n',
    }
    text = _documents(tmp_path, sources)["user_of"]
    assert text.index("namespace lib") < text.index("using namespace lib;") < text.index("int user_of")


def test_a_using_directive_may_name_its_namespace_by_a_macro(tmp_path: Path) -> None:
    sources = {
        "a.h": "#define LIB_SPACE lib_inner\nnamespace LIB_SPACE {\nstruct Thing { int width; };\n}\n",
        "b.cc": '#include "a.h"\nusing namespace LIB_SPACE;\nint user_of(int width) { return width + 1000000; }\n',
    }
    text = _documents(tmp_path, sources)["user_of"]
    defined, opened = text.index("#define LIB_SPACE"), text.index("namespace LIB_SPACE {")
    assert defined < opened < text.index("using namespace LIB_SPACE;") < text.index("int user_of")


def test_a_using_directive_may_name_a_namespace_inside_of_its_own(tmp_path: Path) -> None:
    sources = {
        "a.h": "namespace lib {\nnamespace inner {\nstruct Thing { int width; };\n}\n}\n",
        "b.cc": '#include "a.h"\nnamespace lib {\nusing namespace inner;\n'
        "int user_of(int width) { return width + 1000000; }\n}\n",
    }
    text = _documents(tmp_path, sources)["lib::user_of"]
    assert text.index("namespace inner {") < text.index("using namespace inner;") < text.index("int user_of")


def test_a_struct_that_a_typedef_names_behind_its_brace_is_shown_with_that_name(tmp_path: Path) -> None:
    sources = {
        "a.h": "typedef struct timer_s {\n  int seconds_left;\n} timer_type;\nint started(timer_type *timer);\n",
        "b.cc": '#include "a.h"\n'
        "int user_of() { timer_type timer; timer.seconds_left = 1000; return started(&timer); }\n",
    }
    text = _documents(tmp_path, sources)["user_of"]
    assert "} timer_type;" in text and "typedef struct timer_s;" not in text


def test_a_struct_that_a_typedef_declares_ahead_is_defined_where_it_is_held_by_value(tmp_path: Path) -> None:
    sources = {
        "a.h": "typedef struct loop_s loop_type;\nstruct loop_s {\n  int handles_of_it;\n};\n",
        "b.cc": '#include "a.h"\nint counted() { loop_type loop = {1000}; return sizeof(loop); }\n',
    }
    text = _documents(tmp_path, sources)["counted"]
    assert text.index("typedef struct loop_s loop_type;") < text.index("int counted")
    assert "int handles_of_it;" in text


def test_the_constructors_by_which_a_body_makes_and_converts_objects_are_shown(tmp_path: Path) -> None:
    sources = {
        "view.h": f"""\
#pragma once
class View {{
 public:
  View(const char *text, int length);
  View(const char *text);
  int length() const;
 private:
{FILLER}}};
int measured(const View &view);
""",
        "view.cc": '#include "view.h"\nint user() { return measured("1000000"); }\n',
    }
    recipe = SemanticRecipe(strategy="per_chunk", replication=0, parsed_documents=0)
    made = [entry for entry in assembled(tmp_path, sources, recipe, 200) if isinstance(entry, Document)]
    text = next(entry.text for entry in made if entry.root.name == "user")
    assert "  View(const char *text);" in text and "filler" not in text and "int length() const" not in text


def test_a_class_that_the_parser_found_for_nobody_is_shown_whole(tmp_path: Path) -> None:
    sources = {
        "port.h": f"class Mutex {{\n public:\n  void lock();\n  int {'x' * 300};\n}};\n",
        "user.cc": '#include "generated.h"\nstruct Box {\n  Mutex mutex;\n};\n',
    }
    recipe = SemanticRecipe(strategy="per_chunk", replication=0, body_depth=0, parsed_documents=0)
    made = [entry for entry in assembled(tmp_path, sources, recipe) if isinstance(entry, Document)]
    text = next(entry.text for entry in made if entry.root.name == "Box")
    assert "  void lock();" in text and "xxx;" in text


def test_a_destructor_that_overrides_comes_with_that_of_its_base(tmp_path: Path) -> None:
    sources = {
        "base.h": f"struct Base {{\n  virtual ~Base();\n{FILLER}}};\n",
        "file.cc": '#include "base.h"\nstruct File : Base {\n  ~File() override { number = 1; }\n  int number;\n};\n',
    }
    recipe = SemanticRecipe(strategy="per_chunk", replication=0, body_depth=0, parsed_documents=0)
    made = [entry for entry in assembled(tmp_path, sources, recipe, 200) if isinstance(entry, Document)]
    text = next(entry.text for entry in made if entry.root.name == "File")
    assert "struct Base {\n  virtual ~Base();\n};" in text


def test_a_class_that_a_called_function_returns_by_value_is_defined(tmp_path: Path) -> None:
    sources = {
        "view.h": f"struct View {{\n{FILLER}}};\nstruct Store {{\n  View get();\n{FILLER}}};\nint use(const View&);\n",
        "user.cc": '#include "view.h"\nvoid user(Store *store) { use(store->get()); use(store->get()); }\n',
    }
    recipe = SemanticRecipe(strategy="per_chunk", replication=0, body_depth=0, parsed_documents=0)
    made = [entry for entry in assembled(tmp_path, sources, recipe, 200) if isinstance(entry, Document)]
    text = next(entry.text for entry in made if entry.root.name == "user")
    assert "struct View {\n};" in text and text.index("struct View {") < text.index("void user(")


def test_a_class_that_a_root_declares_ahead_is_not_declared_once_more(tmp_path: Path) -> None:
    sources = {
        "a.h": f"#define API\nclass API Store {{\n{FILLER}}};\n",
        "b.h": '#include "a.h"\nclass Store;\n// Opens a store.\nStore *open_a_store(const char *name, int flags);\n',
    }
    recipe = SemanticRecipe(strategy="file", replication=0, body_depth=0, parsed_documents=0)
    made = [entry for entry in assembled(tmp_path, sources, recipe, 200) if isinstance(entry, Document)]
    text = next(entry.text for entry in made if "open_a_store" in entry.text)
    assert text.count("Store;") == 1


def test_a_static_member_is_not_defined_where_only_its_class_is_named(tmp_path: Path) -> None:
    methods = "".join(f"  int more{n}(int v) {{ return v * {n} + {n}00; }}\n" for n in range(40))
    sources = {
        "kept.h": f"struct Key {{}};\nclass Kept {{\npublic:\n{methods}  Key *key() {{ return &all; }}\n"
        "  static Key all;\n};\n",
        "kept.cc": '#include "kept.h"\nKey Kept::all;\n',
        "user.cc": '#include "kept.h"\nKept user(int v) { return v > 1000 ? Kept() : Kept(); }\n'
        "Key *other(int v) { return v > 1000 ? &Kept::all : nullptr; }\n",
    }
    made = documents_of(tmp_path, sources, budget=400)
    assert "class Kept {" in made["user"].text and "all" not in made["user"].text
    assert "Key Kept::all;" in made["other"].text
