"""Documents of C whose declarations would not compile in another order, or in another form."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from megacpp_assets.contract.recipe.documents import SemanticRecipe
from megacpp_assets.semantic.documents.documents import documents
from megacpp_assets.semantic.documents.text.document import Document
from megacpp_assets.semantic.graph.analysis.analysis import FileFacts
from megacpp_assets.semantic.graph.repository import build_repository
from megacpp_assets.semantic.labels.char_store import CharStore
from tests.semantic.documents.assembling import documents_of
from tests.semantic.sources import EACH_ITS_OWN, Sources, analysed, assembled, by_root

CLUSTERED = SemanticRecipe(strategy="file", replication=0, body_depth=0)


def _text(tree: Path, sources: Sources, root: str) -> str:
    documents = by_root(assembled(tree, sources, CLUSTERED))
    return next(document.text for document in documents.values() if root in document.text)


def test_a_typedef_comes_before_the_struct_whose_field_has_its_type(tmp_path: Path) -> None:
    text = "typedef struct elem_s elem_t;\nstruct elem_s {\n  char *key;\n  elem_t *next;\n};\n"
    assert _text(tmp_path, {"a.h": text}, "elem_s {") == (
        "typedef struct elem_s elem_t;\nstruct elem_s {\n  char *key;\n  elem_t *next;\n};"
    )


def test_a_struct_that_only_a_typedef_names_comes_below_the_types_of_its_fields(tmp_path: Path) -> None:
    base = "typedef struct base_s base;\nstruct base_s {\n  int kind;\n  struct base_s *next;\n};\n"
    sources = {
        "a.h": f"{base}typedef struct {{\n  base head;\n  double from;\n}} range;\n",
        "a.cc": '#include "a.h"\ndouble user(const range *v) { return v->from + 1000000; }\n',
    }
    text = documents_of(tmp_path, sources, dependency_depth=1)["user"].text
    assert text.index("struct base_s {") < text.index("base head;")


def test_in_a_circle_a_struct_without_a_name_comes_below_the_types_of_its_fields(tmp_path: Path) -> None:
    names = "typedef struct class_s class_t;\ntypedef struct object_s object;\n"
    range_t = "typedef struct {\n  object base;\n  int size;\n} range;\n"
    class_s = "struct class_s {\n  object base;\n  range *ranges;\n};\n"
    sources = {
        "names.h": f"#pragma once\n{names}",
        "object.h": '#pragma once\n#include "names.h"\nstruct object_s {\n  int type;\n  class_t *its;\n};\n',
        "class.h": f'#pragma once\n#include "object.h"\n{range_t}{class_s}',
        "a.cc": '#include "class.h"\nint user(const range *v) { return v->base.its->ranges->size + 1000000; }\n',
    }
    text = documents_of(tmp_path, sources)["user"].text
    assert text.index("struct object_s {") < text.index("object base;")


def test_a_variable_comes_below_the_struct_that_its_typedef_names(tmp_path: Path) -> None:
    base = "typedef struct base_s base;\nstruct base_s {\n  int kind;\n  struct base_s *next;\n};\n"
    sources = {
        "a.h": f"{base}static base first_of_all;\n",
        "a.cc": '#include "a.h"\nlong user(long v) { return (long)&first_of_all + v + 1000000; }\n',
    }
    text = documents_of(tmp_path, sources, dependency_depth=1)["user"].text
    assert text.index("struct base_s {") < text.index("base first_of_all;")


def test_a_static_prototype_comes_before_the_definition(tmp_path: Path) -> None:
    functions = "int first(int v) { return walk(v) + 1000000; }\nint walk(int depth) { return first(depth); }\n"
    text = f"static int walk(int depth);\n{functions}"
    shown = _text(tmp_path, {"a.cc": text}, "int first(int v) {")
    assert shown.index("static int walk(int depth);") < shown.index("int walk(int depth) {")


def test_a_standard_type_of_a_tree_without_its_header_comes_by_the_header(tmp_path: Path) -> None:
    sources = {
        "ints.h": "#ifdef HAVE_STDINT_H\n#include <stdint.h>\n#else\ntypedef int int32_t;\n#endif\n",
        "a.cc": '#include "ints.h"\nint32_t user(int32_t v) { return v + 1000000; }\n',
    }
    text = documents_of(tmp_path, sources)["user"].text
    assert "#include <cstdint>" in text and "typedef" not in text


def test_a_long_variable_is_declared_by_its_extern(tmp_path: Path) -> None:
    values = ", ".join(map(str, range(100)))
    sources = {
        "a.h": "extern const int numbers[];\n",
        "a.cc": f'#include "a.h"\nconst int numbers[] = {{ {values} }};\n',
        "b.cc": '#include "a.h"\nint user(int v) { return numbers[v] + 1000000; }\n',
    }
    assert documents_of(tmp_path, sources)["user"].text.startswith("extern const int numbers[];\n")


def test_what_is_under_a_condition_comes_with_the_macro_that_decides_it(tmp_path: Path) -> None:
    flags = "#if !defined(EXTENDED)\n#define EXTENDED 1\n#endif\n#define LIMITED 1\n"
    arms = "#if EXTENDED\n#define FLAG_SYNTAX 0x01\n#else\n#define FLAG_SYNTAX 0x10\n#endif\n"
    sources = {
        "a.h": f"{flags}{arms}",
        "a.cc": '#include "a.h"\nint user(int v) { return v + FLAG_SYNTAX + 1000000; }\n',
    }
    text = documents_of(tmp_path, sources)["user"].text
    assert text.index("#define EXTENDED 1") < text.index("#if EXTENDED\n") and "LIMITED" not in text


def test_a_signature_brings_no_variable_of_the_type_that_it_names(tmp_path: Path) -> None:
    values = ", ".join(f'{{ "name number {number}", {number} }}' for number in range(400))
    sources = {
        "a.h": "typedef struct entry { const char *name; int value; } entry;\nconst entry *find(int v);\n",
        "a.cc": f'#include "a.h"\nstatic const entry all[] = {{ {values} }};\n'
        "const entry *find(int v) { return v > 400 ? nullptr : &all[v]; }\n",
        "b.cc": '#include "a.h"\nint user(int v) { return find(v)->value + 1000000; }\n',
    }
    text = documents_of(tmp_path, sources, budget=600, body_depth=0)["user"].text
    assert "const entry *find(int v);" in text and "name number" not in text


def test_a_macro_with_the_name_of_a_field_comes_after_the_struct(tmp_path: Path) -> None:
    sources = {
        "a.h": "struct step { int state; int depth; };\nstruct run { struct step *stack; int depth; };\n",
        "a.cc": '#include "a.h"\n#define state run->stack[run->depth].state\n'
        "int user(struct run *run) { return state + run->stack[0].depth + 1000000; }\n",
    }
    text = documents_of(tmp_path, sources)["user"].text
    assert text.index("int state;") < text.index("#define state")


def test_a_header_that_lacks_a_typedef_means_it_by_the_name_of_its_struct(tmp_path: Path) -> None:
    sources = {
        "types.h": "typedef struct box box;\n",
        "private.h": "struct box { int width; };\n",
        "a.h": '#include "private.h"\nmissing_type lost;\ntypedef int (*handler)(box *of, int wide);\n',
        "a.cc": '#include "types.h"\n#include "a.h"\nint user(handler call) { return call(nullptr, 1) + 1000000; }\n',
    }
    text = documents_of(tmp_path, sources)["user"].text
    assert text.index("typedef struct box box;") < text.index("typedef int (*handler)")


def test_a_macro_that_is_another_name_of_a_function_brings_the_function(tmp_path: Path) -> None:
    sources = {
        "a.h": "int made_of(long value);\n#define MADE made_of\n",
        "a.cc": '#include "missing.h"\n#include "a.h"\nint user(int v) { UNKNOWN(MADE(v)); return v + 1000000; }\n',
    }
    assert "int made_of(long value);" in documents_of(tmp_path, sources)["user"].text


def test_a_variable_comes_after_the_struct_of_its_typedef(tmp_path: Path) -> None:
    sources = {
        "a.h": "typedef struct line_s line;\nstruct line_s { int begin; int end; };\n",
        "a.cc": '#include "a.h"\nstatic const line blank = { 0, 0 };\n'
        "int user(int v) { const line *at = &blank; return at->end + v + 1000000; }\n",
    }
    text = documents_of(tmp_path, sources)["user"].text
    assert text.index("struct line_s {") < text.index("static const line blank")


def test_a_typedef_with_the_name_of_its_enumeration_is_shown_beside_it(tmp_path: Path) -> None:
    sources = {
        "a.h": "enum kind { KIND_A = 1000001, KIND_B };\ntypedef enum kind kind;\n",
        "a.c": '#include "a.h"\nint user(kind k) { return k == KIND_B ? 1000000 : KIND_A; }\n',
    }
    text = documents_of(tmp_path, sources)["user"].text
    assert text.index("enum kind {") < text.index("typedef enum kind kind;") < text.index("int user")


def test_a_typedef_behind_the_declaration_of_its_struct_comes_before_a_class_that_the_struct_has(
    tmp_path: Path,
) -> None:
    source = (
        "struct inst;\ntypedef struct inst inst;\n\ntypedef struct { inst *first; inst *last; } block;\n\n"
        "struct inst { struct inst *next; block body; };\n\n"
        "int user(inst *v) { return v->next == v->body.first ? 1000000 : 1000001; }\n"
    )
    text = _text(tmp_path, {"a.c": source}, "int user")
    assert text.index("typedef struct inst inst;") < text.index("} block;") < text.index("struct inst { struct")


def test_what_a_header_in_cpp_links_as_c_is_shown_in_c_without_the_linkage(tmp_path: Path) -> None:
    header = """\
#pragma once
#ifdef __cplusplus
extern "C" {
#endif
#define LIB_API
/* In C++ lib::State does this. */
typedef struct lib_state { int depth; int limit; } lib_state;
LIB_API int lib_open(lib_state *state);
#ifdef __cplusplus
}
namespace lib { class State : public lib_state { public: State(); }; }
#endif
"""
    sources = {
        "lib.h": header,
        "lib.cc": '#include "lib.h"\nlib::State::State() { depth = lib_open(this) + 1000003; }\n',
        "user.c": '#include "lib.h"\nint user(int v) { lib_state state; state.limit = v; return lib_open(&state); }\n',
    }
    store = CharStore(tmp_path)
    facts: list[FileFacts] = []
    for found, chars in analysed(tmp_path / "tree", sources):
        store.put(len(facts), chars)
        standard = "gnu11" if found.source.path == "user.c" else "c++17"
        facts.append(replace(found, parsed=replace(found.parsed, standard=standard)))
    made = documents(build_repository(facts), store.seal(), EACH_ITS_OWN, 4096)
    (text,) = (each.text for each in made if isinstance(each, Document) and each.root.name == "user")
    assert "int lib_open(lib_state *state);" in text and "int limit;" in text and "#define LIB_API" in text
    assert "extern" not in text and "namespace" not in text
