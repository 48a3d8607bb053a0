from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.contract.names import SYNTHETIC_ROLE
from megacpp_assets.contract.recipe.documents import SemanticRecipe
from megacpp_assets.semantic.documents.text.document import Document
from tests.semantic.sources import Sources, assembled, by_root

UNUSED = "".join(f"  int never_used_{n}(int first, int second) const;\n" for n in range(60))
RECIPE = SemanticRecipe(strategy="per_chunk", replication=0, body_depth=0)


def _document(tree: Path, sources: Sources, root: str, budget: int = 200, recipe: SemanticRecipe = RECIPE) -> Document:
    return by_root(assembled(tree, sources, recipe, budget))[root]


def _box(members: str, root: str) -> Sources:
    return {"box.h": f"struct Base {{ int id; }};\n{members}", "box.cc": f'#include "box.h"\n{root}\n'}


def test_a_class_that_there_is_no_room_for_shows_the_members_that_its_user_uses(tmp_path: Path) -> None:
    members = f"class Box : public Base {{\n public:\n  int area(int side);\n{UNUSED}\n private:\n  int side_;\n}};\n"
    root = "int Box::area(int side) { return side_ = side * side + 1000000; }"
    document = _document(tmp_path, _box(members, root), "Box::area")
    assert document.text == (
        "struct Base { int id; };\n"
        "class Box : public Base {\n public:\n  int area(int side);\n private:\n  int side_;\n};\n\n"
        "int Box::area(int side) { return side_ = side * side + 1000000; }"
    )
    assert [(chunk.kind, chunk.name) for chunk in document.boundaries] == [
        ("class_decl", "Base"),
        ("class_decl", "Box"),
        ("func_body", "Box::area"),
    ]


def test_what_a_member_names_comes_with_it(tmp_path: Path) -> None:
    members = f"struct Part;\nstruct Box {{\n{UNUSED}  Part *part;\n  int side;\n}};\n"
    document = _document(tmp_path, _box(members, "Part *first(Box &box) { return box.part + 1000000; }"), "first")
    assert "struct Part;" in document.text and "  Part *part;\n};" in document.text
    assert "side" not in document.text and "never_used" not in document.text


def test_a_member_does_not_bring_the_nested_class_that_has_a_member_of_its_name(tmp_path: Path) -> None:
    nested = "  class Group {\n   public:\n    int add(int first);\n  };\n"
    members = f"struct Box {{\n{UNUSED}{nested}  union {{ int id; }};\n  int add(int first, int second);\n}};\n"
    document = _document(tmp_path, _box(members, "int user(Box &box) { return box.add(1, 1000000); }"), "user")
    assert "struct Box {\n  int add(int first, int second);\n};" in document.text
    document = _document(tmp_path / "in", _box(members, "int user(Box &box) { return box.id + 1000000; }"), "user")
    assert "struct Box {\n  union { int id; };\n};" in document.text


def test_a_member_with_a_long_body_comes_as_its_signature(tmp_path: Path) -> None:
    body = "int x = 0; " * 40
    members = f"struct Box {{\n{UNUSED}  int turn(int by) {{ {body} return x + by; }}\n}};\n"
    document = _document(tmp_path, _box(members, "int user(Box &box) { return box.turn(1000000); }"), "user")
    assert "struct Box {\n  int turn(int by);\n};" in document.text


def test_a_member_whose_return_type_is_deduced_comes_with_its_body(tmp_path: Path) -> None:
    body = "int x = 0; " * 40
    members = f"struct Box {{\n{UNUSED}  auto turn(int by) {{ {body} return x + by; }}\n}};\n"
    document = _document(tmp_path, _box(members, "int user(Box &box) { return box.turn(1000000); }"), "user", 400)
    assert "  auto turn(int by) { int x = 0; int" in document.text and "never_used" not in document.text


def test_a_function_whose_return_type_is_deduced_comes_with_its_body_or_not_at_all(tmp_path: Path) -> None:
    turn = f"inline auto turn(int by) {{ {'int x = 0; ' * 40} return x + by; }}\n"
    for budget, bodies in ((400, 1), (100, 0)):
        document = _document(tmp_path / str(budget), _box(turn, "int user() { return turn(1000000); }"), "user", budget)
        assert document.text.count("auto turn(") == document.text.count("return x + by") == bodies


def test_a_class_that_shows_some_members_is_no_higher_than_who_uses_them(tmp_path: Path) -> None:
    types = "struct A { int a; };\nstruct B { A a; };\nstruct C { B b; };\n"
    turn = f"int turn() {{ {'int x = 0; ' * 40} return x; }}"
    members = f"{types}struct Box {{\n  C c;\n  {turn}\n{UNUSED}}};\nextern Box box;\n"
    document = _document(tmp_path, _box(members, "int user() { return box.turn() + 1000000; }"), "user")
    assert "struct Box {\n  int turn();\n};" in document.text
    chunks = {chunk.name: number for number, chunk in enumerate(document.boundaries)}
    assert (chunks["user"], chunks["Box"], "exact") in document.call_edges()
    assert document.boundaries[chunks["Box"]].dep_level <= document.boundaries[chunks["user"]].dep_level


def test_all_overloads_of_a_member_that_is_used_are_shown(tmp_path: Path) -> None:
    members = f"struct Box {{\n  int at(int);\n{UNUSED}  int at(long);\n}};\n"
    document = _document(tmp_path, _box(members, "int user(Box &box) { return box.at(1) + 1000000; }"), "user")
    assert "struct Box {\n  int at(int);\n  int at(long);\n};" in document.text


def test_a_member_that_holds_a_whole_conditional_is_shown_with_it(tmp_path: Path) -> None:
    at = "  int at(int\n#ifdef WIDE\n    , int\n#endif\n  );"
    members = f"struct Box {{\n{UNUSED}{at}\n}};\n"
    document = _document(tmp_path, _box(members, "int user(Box &box) { return box.at(1) + 1000000; }"), "user")
    assert document.text.startswith(f"struct Box {{\n{at}\n}};")


def test_a_member_that_holds_a_part_of_a_conditional_is_not_cut_out(tmp_path: Path) -> None:
    at = "#ifdef WIDE\n  int at(int, int\n#else\n  int at(int\n#endif\n  );"
    members = f"struct Box {{\n{UNUSED}{at}\n}};\n"
    document = _document(tmp_path, _box(members, "int user(Box &box) { return box.at(1) + 1000000; }"), "user")
    assert document.text.startswith("struct Box;")


@pytest.mark.parametrize(("budget", "shown"), [(400, True), (110, False)])
def test_an_enumeration_shows_all_its_enumerators_or_none(budget: int, shown: bool, tmp_path: Path) -> None:
    names = ", ".join(f"level_number_{number}" for number in range(20))
    members = f"enum class Level {{ low_level, {names}, the_last_level }};\n"
    root = "int user(Level level) { return level == Level::low_level ? 1000000 : 2000000; }"
    text = _document(tmp_path, _box(members, root), "user", budget=budget).text
    assert ("the_last_level };" in text) is shown and ("enum class Level" in text)


@pytest.mark.parametrize(
    ("root", "shown"),
    [("Builder", ""), ("Builder::finish", "struct Builder::Part {\n  int n;\n};\n")],
)
def test_a_class_that_is_defined_outside_of_its_own_is_declared_in_that_alone(
    root: str, shown: str, tmp_path: Path
) -> None:
    builder = "class Builder {\n  void finish();\n  struct Part;\n  Part *part_;\n};\n"
    method = "void Builder::finish() { part_->n = 1000000; }"
    part = f"struct Builder::Part {{\n{UNUSED}  int n;\n}};\n"
    sources = {"builder.h": builder, "builder.cc": f'#include "builder.h"\n{part}{method}\n'}
    text = _document(tmp_path, sources, root).text
    assert text.split("\n\n") == [builder.rstrip("\n"), *([shown + method] if shown else [])]


def test_labels_and_braces_of_an_excerpt_are_of_no_file(tmp_path: Path) -> None:
    members = f"class Box {{\n{UNUSED} public:\n  int side;\n}};\n"
    document = _document(tmp_path, _box(members, "int user(Box &box) { return box.side + 1000000; }"), "user")
    roles = document.roles.tolist()
    for text in (" public:", "\n};"):
        begin = document.text.index(text)
        assert set(roles[begin : begin + len(text)]) == {SYNTHETIC_ROLE}
    source = (tmp_path / "tree" / "box.h").read_text()
    for part in document.constituents:
        if part.filepath == "box.h":
            assert document.text[part.char_start : part.char_end] == source[part.byte_start : part.byte_end]


def test_recall_counts_a_member_only_where_it_is_shown(tmp_path: Path) -> None:
    members = f"class Box {{\n{UNUSED} public:\n  int side = {'1 + ' * 100} 1;\n}};\n"
    sources = _box(members, "int user(Box *box) { return box->side + 1000000; }")
    shown = _document(tmp_path / "shown", sources, "user").recall
    hidden = _document(tmp_path / "hidden", sources, "user", budget=100).recall
    assert (shown.uses, shown.found) == (2, 2) and (hidden.uses, hidden.found) == (2, 1)


FIELDS = "".join(f"  int never_used_{n};\n" for n in range(60))


def test_a_struct_that_a_typedef_names_shows_the_members_that_its_user_uses(tmp_path: Path) -> None:
    sources = {
        "box.h": f"typedef struct box {{\n  int side;\n{FIELDS}}} box_t;\n",
        "box.c": '#include "box.h"\nint user(box_t *box) { return box->side + 1000000; }\n',
    }
    document = _document(tmp_path, sources, "user")
    assert document.text.startswith("typedef struct box {\n  int side;\n} box_t;\n")


def test_a_struct_that_a_typedef_names_is_declared_where_nobody_looks_into_it(tmp_path: Path) -> None:
    sources = {
        "box.h": f"typedef struct box {{\n{FIELDS}}} box_t, *box_ptr;\nint area(box_t *box);\n",
        "box.c": '#include "box.h"\nint user(box_t *box) { return area(box) + 1000000; }\n',
    }
    document = _document(tmp_path, sources, "user")
    assert document.text.startswith("typedef struct box box_t, *box_ptr;\nint area(box_t *box);\n")


def test_a_member_that_begins_inside_the_arguments_of_a_macro_is_shown_with_the_macro(tmp_path: Path) -> None:
    members = f"#define LAST(type) type last\nstruct Box {{\n{UNUSED}  LAST(int);\n  int side;\n}};\n"
    root = "int user(Box &box) { return box.side + box.last + 1000000; }"
    document = _document(tmp_path, _box(members, root), "user")
    assert "{\n  LAST(int);\n  int side;\n};" in document.text


def test_a_static_member_that_is_defined_in_a_document_is_declared_in_its_class(tmp_path: Path) -> None:
    members = f"struct Box {{\n{UNUSED}  static int count;\n}};\nint Box::count = 0;\nint total = Box::count;\n"
    document = _document(tmp_path, _box(members, "int user() { return total + 1000000; }"), "user", 400)
    assert "  static int count;\n};" in document.text and "int Box::count = 0;" in document.text


def test_a_base_class_that_is_nested_in_another_class_is_shown(tmp_path: Path) -> None:
    members = (
        f"struct Reader {{\n{UNUSED}  struct Factory {{ virtual ~Factory(); }};\n}};\n"
        f"struct Builder : Reader::Factory {{\n{UNUSED}  int made;\n}};\n"
    )
    document = _document(tmp_path, _box(members, "int user(Builder &b) { return b.made + 1000000; }"), "user", 400)
    assert "struct Factory { virtual ~Factory(); };" in document.text
    assert "never_used" not in document.text


def test_the_fields_that_an_initializer_of_the_context_names_are_shown(tmp_path: Path) -> None:
    sources = {
        "box.c": f"typedef struct ops {{\n  int size;\n{FIELDS}}} ops;\nstatic ops table = {{ .size = 3 }};\n"
        "ops *user(void) { return &table + 1000000; }\n",
    }
    document = _document(tmp_path, sources, "user", 400)
    assert "  int size;\n} ops;" in document.text and "never_used" not in document.text


def test_a_member_that_is_defined_outside_of_its_class_is_behind_it_even_where_classes_need_each_other(
    tmp_path: Path,
) -> None:
    sources = {
        "impl.h": '#include "node.h"\n#include "value.h"\ninline Node::Node(const Node &) = default;\n',
        "node.h": "#pragma once\nstruct Value;\nstruct Node;\n"
        "template <class T> struct Iterator { T held; T at() { return held; } };\n"
        "struct Node {\n  Node(const Node &);\n  typedef Iterator<Value> iterator;\n"
        "  iterator begin();\n  int id;\n};\n",
        "value.h": '#pragma once\n#include "node.h"\n'
        "struct Value : Node {\n  explicit Value(const Node &node) : Node(node) {}\n  int key;\n};\n",
        "user.cc": '#include "impl.h"\n'
        "int user(Node &node) { Node copy(node); return copy.begin().at().key + 1000000; }\n",
    }
    text = _document(tmp_path, sources, "user", 700).text
    assert text.index("struct Node {") < text.index("inline Node::Node")


def test_a_type_that_a_macro_names_in_a_signature_is_shown_before_it(tmp_path: Path) -> None:
    sources = {
        "next.c": "typedef unsigned Offset;\n#define OFF Offset\n"
        f"static OFF next(OFF at) {{ {'at += 3; ' * 30}return at; }}\n"
        "int user(int at) { return (int)next(at) + 1000000; }\n"
    }
    text = _document(tmp_path, sources, "user").text
    assert "static OFF next(OFF at);" in text
    assert text.index("typedef unsigned Offset;") < text.index("static OFF next(OFF at);")


def test_what_a_root_names_is_declared_before_long_macros_take_the_room(tmp_path: Path) -> None:
    macro = "#define LONG(x) do { " + "x += 1000003; " * 30 + "} while (0)\n"
    sources = {
        "all.h": f"typedef unsigned long Number;\n{macro}",
        "user.c": '#include "all.h"\nint user(Number value) { LONG(value); return (int)value + 1000000; }\n',
    }
    room = len(macro) + 20
    budget = (room + 80) * 10 // 36
    text = _document(tmp_path, sources, "user", budget).text
    assert "typedef unsigned long Number;" in text and "#define LONG" not in text


def test_a_macro_that_is_defined_inside_of_a_member_comes_with_it_and_stands_once(tmp_path: Path) -> None:
    header = (
        "struct Reader {\n  struct bits {\n#define BITS_TYPE unsigned long\n    /* Buffer. */\n    BITS_TYPE buffer;\n"
    )
    sources = {
        "a.h": f"{header}    int left;\n  }} bits;\n" + UNUSED + "};\n",
        "a.cc": '#include "a.h"\nint user(Reader *r) { BITS_TYPE b = r->bits.buffer; return b + 1000003; }\n',
    }
    document = _document(tmp_path, sources, "user")
    assert document.text.count("#define BITS_TYPE") == document.text.count("struct bits {") == 1
    assert not document.broken_rule and "never_used_3" not in document.text


def test_a_macro_that_is_defined_between_members_comes_with_the_members_that_it_names(tmp_path: Path) -> None:
    macro = "#define LAST(box) ((box).stacks[1])\n"
    members = f"struct Box {{\n{UNUSED}  int stacks[2];\n{macro}  int side;\n}};\n"
    document = _document(tmp_path, _box(members, "int user(Box &box) { return LAST(box) + 1000000; }"), "user")
    assert f"struct Box {{\n  int stacks[2];\n  {macro}}};" in document.text


def test_a_macro_that_stands_for_fields_is_a_member_with_what_its_fields_need(tmp_path: Path) -> None:
    members = (
        "struct queue { struct queue *next; struct queue *prev; };\nstruct other { int v; };\n"
        "#define PRIVATE_FIELDS \\\n  struct queue waiting; \\\n  int depth;\n"
        "#define FIELDS struct other own; int kind;\n#define ALL_FIELDS int of; PRIVATE_FIELDS\n"
        f"struct Box {{\n  FIELDS\n  ALL_FIELDS\n{UNUSED}}};\n"
    )
    document = _document(tmp_path, _box(members, "int user(Box *box) { return box->depth + 1000000; }"), "user")
    assert "struct Box {\n  ALL_FIELDS\n};" in document.text and " FIELDS" not in document.text
    assert document.text.index("struct queue {") < document.text.index("struct Box {")


def test_a_member_is_under_the_condition_that_it_has_in_its_class(tmp_path: Path) -> None:
    arms = "#ifdef WIDE\n  long map;\n#else\n  int map;\n  int marks;\n#endif\n"
    members = f"struct Box {{\n{UNUSED}{arms}  int after;\n}};\n"
    root = "int user(Box &box) { return box.map + box.marks + box.after + 1000000; }"
    document = _document(tmp_path, _box(members, root), "user")
    assert "struct Box {\n#ifdef WIDE\n#else\n  int map;\n  int marks;\n#endif\n  int after;\n};" in document.text


def test_the_macro_of_a_condition_comes_with_the_member_that_is_under_it(tmp_path: Path) -> None:
    config = "#ifdef NARROW\n#define SMALL\n#else\n#define HAS_WIDE\n#endif\n"
    wide = "#if defined(HAS_WIDE)\n  long wide() const;\n#endif\n"
    sources = {
        "config.h": config,
        "box.h": f'#include "config.h"\nstruct Box {{\n{UNUSED}{wide}  int narrow() const;\n}};\n',
        "use.cc": '#include "box.h"\nlong use(const Box &box) { return box.wide() + box.wide(); }\n'
        "int other(const Box &box) { return box.narrow() + box.narrow(); }\n",
    }
    use, other = (_document(tmp_path / root, sources, root).text for root in ("use", "other"))
    assert "#define HAS_WIDE" in use and "#if defined(HAS_WIDE)\n  long wide() const;\n#endif" in use
    assert "HAS_WIDE" not in other


def test_a_class_that_looks_into_another_comes_after_it_though_that_one_has_an_alias_of_it(tmp_path: Path) -> None:
    sources = {
        "value.h": "class Walker;\nclass Value {\n public:\n  typedef Walker walker;\n  typedef int *Values;\n"
        "  walker begin() const;\n};\n",
        "a.h": '#include "value.h"\nclass Steps {\n public:\n  Value::Values current;\n};\n'
        "class Walker : public Steps {\n public:\n  Walker *next(Value &of);\n};\n",
        "user.cc": '#include "a.h"\nint user(Value &of) { return of.begin().next(of) ? 1 : 1000000; }\n',
    }
    text = _document(tmp_path, sources, "user").text
    assert text.index("class Value {") < text.index("class Steps {")


def test_a_comment_behind_a_head_is_no_part_of_the_declaration(tmp_path: Path) -> None:
    members = f"struct Box // NOLINT(a)\n{{\n{UNUSED}  int of(int) const // NOLINT(b)\n  {{ return 7; }}\n}};\n"
    far = f'struct Far /* c */ // "d"\n{{\n{UNUSED}}};\nint from(const char *text = "//") // e\n{{ return 1000000; }}\n'
    root = "int user(Box &box, Far *far) { return far ? box.of(3) : from() + 1000000; }"
    text = _document(tmp_path, _box(members + far, root), "user").text
    assert "int of(int) const;" in text and "struct Far;" in text and 'int from(const char *text = "//");' in text
    assert "NOLINT(b)" not in text


def test_a_member_that_an_unknown_macro_ends_is_closed(tmp_path: Path) -> None:
    moved = "  Box(Box &&other) UNKNOWN\n  {\n    use(other);\n  }\n"
    members = f"template <class T> struct Box {{\n  Box() = default;\n{moved}{UNUSED}}};\n"
    text = _document(tmp_path, _box(members, "template <class T> int first() { Box<T> box; return 1000003; }"), "first")
    assert "  Box(Box &&other);\n" in text.text and "never_used" not in text.text


def test_a_template_comes_with_its_constructors_and_the_members_that_a_template_calls(tmp_path: Path) -> None:
    queue = (
        f"template <typename T> struct Queue {{\n  explicit Queue(int most);\n  bool full() const;\n{UNUSED}}};\n"
        "template <typename T> int user(int most) {\n  Queue<T> queue(most);\n  return queue.full() + 1000003;\n}"
    )
    text = _document(tmp_path, {"a.h": "#pragma once\n" + queue}, "user").text
    assert "explicit Queue(int most);" in text and "bool full() const;" in text and "never_used" not in text


def test_a_loop_over_a_range_needs_its_begin_and_end(tmp_path: Path) -> None:
    declared = ("const int *begin() const;", "const int *end() const;")
    members = f"struct Box {{\n  {declared[0]}\n  {declared[1]}\n{UNUSED}}};\n"
    root = "int first(Box &box) { int side = 1000003; for (int each : box) side += each; return side; }"
    text = _document(tmp_path, _box(members, root), "first").text
    assert all(each in text for each in declared) and "never_used" not in text


def test_a_loop_over_a_range_needs_the_operators_of_its_iterator(tmp_path: Path) -> None:
    operators = ("bool operator!=(const Step &) const;", "int operator*() const;", "Step &operator++();")
    step = f"struct Step {{\n  {operators[0]}\n  {operators[1]}\n  {operators[2]}\n{UNUSED}}};\n"
    members = f"{step}struct Box {{\n  Step begin() const;\n  Step end() const;\n{UNUSED}}};\n"
    root = "int first(Box &box) { int side = 1000003; for (int each : box) side += each; return side; }"
    text = _document(tmp_path, _box(members, root), "first", 300).text
    assert all(each in text for each in operators) and "never_used" not in text


def test_a_destructor_overrides_that_of_a_base_of_its_base(tmp_path: Path) -> None:
    bases = f"struct Low {{\n  virtual ~Low();\n{UNUSED}}};\nstruct Middle : Low {{\n  int at;\n{UNUSED}}};\n"
    root = "struct High : Middle {\n  int side = 1000003;\n  ~High() override {}\n};"
    text = _document(tmp_path, _box(bases, root), "High", 300).text
    assert "virtual ~Low();" in text and "never_used" not in text


def test_a_container_of_an_insert_iterator_shows_the_type_of_its_values(tmp_path: Path) -> None:
    members = f"struct Bag {{\n  using value_type = int;\n  Bag();\n  void push_back(int value);\n{UNUSED}}};\n"
    source = f"#include <iterator>\n{members}"
    root = "void fill() {\n  Bag bag;\n  int side = 1000003;\n  *std::back_inserter(bag) = side;\n}"
    text = _document(tmp_path, {"bag.h": source, "a.cc": f'#include "bag.h"\n{root}\n'}, "fill").text
    assert "using value_type = int;" in text and "never_used" not in text


def test_a_class_that_a_function_returns_under_another_name_is_complete(tmp_path: Path) -> None:
    members = (
        f"template <typename T> struct Place {{\n  T at;\n{UNUSED}}};\nusing Here = Place<int>;\n"
        f"struct Box {{\n  using iterator = Here;\n  iterator first() const;\n{UNUSED}}};\n"
    )
    text = _document(tmp_path, _box(members, "void user(Box &box) { int n = 1000003; n++; box.first(); }"), "user").text
    assert "struct Place {" in text and "never_used" not in text


def test_a_struct_that_is_filled_in_braces_has_all_its_fields(tmp_path: Path) -> None:
    members = f"struct Box {{\n  int width;\n  int height;\n{UNUSED}}};\n"
    text = _document(tmp_path, _box(members, "int first() { Box box = {1000003, 2}; return box.width; }"), "first").text
    assert "int width;" in text and "int height;" in text and "never_used" not in text


@pytest.mark.parametrize("call", ["MAKE_LOCK(lock)", "// The lock of all.\nEXPORT MAKE_LOCK(lock)"])
def test_a_struct_that_a_macro_fills_in_braces_has_all_its_fields(call: str, tmp_path: Path) -> None:
    members = f"struct Lock {{\n  int state;\n  int owner;\n{UNUSED}}};\n"
    macro = "#define EXPORT extern\n#define MAKE_LOCK(name) Lock name = {1000003, 1}\n"
    sources = {
        "lock.h": f"#pragma once\n{members}{macro}",
        "lock.cc": f'#include "lock.h"\n{call};\n',
        "user.cc": '#include "lock.h"\nextern Lock lock;\nint user() { int n = 1000033; return lock.state + n; }\n',
    }
    text = _document(tmp_path, sources, "user").text
    assert "int state;" in text and "int owner;" in text and "never_used" not in text
