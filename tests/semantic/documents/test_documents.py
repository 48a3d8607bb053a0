from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from megacpp_assets.contract.names import CONTEXT_ROLE, ROOT_ROLE, SYNTHETIC_ROLE
from megacpp_assets.contract.recipe.documents import STRATEGIES, SemanticRecipe
from megacpp_assets.semantic.documents.composer import Skipped
from megacpp_assets.semantic.documents.documents import SHORT
from megacpp_assets.semantic.documents.text.document import Document
from tests.semantic.documents.assembling import SOURCES, all_of, documents_of
from tests.semantic.sources import assembled


def test_what_is_used_comes_before_what_uses_it_inside_its_namespace(tmp_path: Path) -> None:
    document = documents_of(tmp_path)["main"]
    assert [(chunk.kind, chunk.name) for chunk in document.boundaries] == [
        ("preamble", ""),
        ("namespace", "lib"),
        ("func_body", "lib::add"),
        ("class_decl", "lib::Pair"),
        ("func_body", "lib::sum"),
        ("preamble", "Pair"),
        ("func_body", "main"),
    ]
    assert document.text == (
        "#include <cstddef>\n\nnamespace lib {\n\n"
        "static int add(int a, int b) { return a + b; }\n\n"
        "struct Pair { int left; /* the first one */ int right; };\n\n"
        "int sum(const Pair &pair) { return add(pair.left, pair.right); }\n\n"
        "}  // namespace lib\n\nusing lib::Pair;\nint main() { Pair pair{1, 2}; return lib::sum(pair); }"
    )


def test_roles_tell_roots_context_and_what_is_of_no_file(tmp_path: Path) -> None:
    document = documents_of(tmp_path)["main"]
    role = dict(zip(range(len(document.text)), document.roles.tolist(), strict=True))
    assert role[document.text.index("int main")] == ROOT_ROLE
    assert role[document.text.index("namespace lib {")] == role[document.text.index("static int add")] == CONTEXT_ROLE
    assert role[document.text.index("}  // namespace lib")] == role[document.text.index("\n\n")] == SYNTHETIC_ROLE


def test_a_namespace_opened_again_is_no_byte_of_a_file_twice(tmp_path: Path) -> None:
    text = "namespace a {\nint one() { return 1000001; }\n}\nint two() { return a::one() + 1; }\nnamespace a {\n" + (
        "int three() { return two() + one(); }\n}\n"
    )
    document = documents_of(tmp_path, {"a.cc": text.replace("namespace a {\nint three", "namespace a {\nint three")})
    three = document["a::three"].text
    assert three.count("namespace a {") == 2
    places = [(part.byte_start, part.byte_end) for part in document["a::three"].constituents]
    assert all(first[1] <= second[0] for first, second in pairwise(sorted(places)))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_byte_of_a_file_appears_twice_in_a_document(strategy: str, tmp_path: Path) -> None:
    for document in all_of(tmp_path, strategy=strategy):
        places = sorted((part.filepath, part.byte_start, part.byte_end) for part in document.constituents)
        assert all(first[0] != second[0] or first[2] <= second[1] for first, second in pairwise(places))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_root_is_the_root_of_one_document_whatever_the_strategy(strategy: str, tmp_path: Path) -> None:
    entries = assembled(tmp_path, SOURCES, SemanticRecipe(strategy=strategy))
    roots = [unit for entry in entries if isinstance(entry, Document) for unit in entry.roots]
    assert len(roots) == len(set(roots)) == 6 - sum(isinstance(entry, Skipped) for entry in entries)


def test_a_larger_budget_gives_longer_documents_with_the_same_roots(tmp_path: Path) -> None:
    lines = "".join(f"    total += values[{n}] * {n};\n" for n in range(60))
    sources = {
        f"part{n}.cc": f"int last{n - 1}(const int *);\n"
        f"int last{n}(const int *values) {{\n    int total = last{n - 1}(values);\n{lines}    return total;\n}}\n"
        for n in range(1, 60)
    }
    small, large = (all_of(tmp_path / str(budget), sources, budget=budget) for budget in (4096, 65_536))
    assert max(len(document.text) for document in small) <= 4096 * 4
    assert 65_536 * 4 > max(len(document.text) for document in large) > 4 * 4096 * 4
    assert len(large) < len(small)
    roots = [sorted(root for document in documents for root in document.roots) for documents in (small, large)]
    assert roots[0] == roots[1] and len(set(roots[1])) == len(roots[1]) >= 59


def test_a_declaration_comes_with_all_that_it_names_or_not_at_all(tmp_path: Path) -> None:
    handler = "typedef int (*Handler)(int the_first_argument, int the_second_argument, int the_third_argument);\n"
    root = "int root(int value) {\n" + "  value += far(nullptr) * near(value);\n" * 6 + "  return value;\n}\n"
    uses = "int near(int v) { return v + 1000; }\nint far(Handler handler) { return handler(1, 2, 3); }\n" + root
    sources = {"a.h": handler, "b.cc": '#include "a.h"\n' + uses}
    poor, rich = (
        documents_of(tmp_path / str(budget), sources, budget=budget, body_depth=0)["root"].text for budget in (95, 4096)
    )
    assert "int near(int v);" in poor and "int far(Handler handler);" not in poor and "Handler" not in poor
    assert "int near(int v);" in rich and "int far(Handler handler);" in rich and "typedef int (*Handler)" in rich


def test_functions_that_use_each_other_share_a_document(tmp_path: Path) -> None:
    far = {f"far{n}.cc": f"static int far{n}(int v) {{ return v * {n} + 1000000; }}\n" for n in range(40)}
    sources = {
        **far,
        "a.cc": "int used(int v) { return v + 1000; }\n",
        "z.cc": "int used(int);\nint user() { return used(1000); }\n",
    }
    documents = all_of(tmp_path, sources, budget=64, replication=1.0)
    texts = [document.text for document in documents if "int user()" in document.text]
    assert len(texts) == 1 and "int used(int v)" in texts[0]


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5])
def test_the_share_of_text_that_the_recipe_says_stays_in_documents_of_a_quarter(share: float, tmp_path: Path) -> None:
    sources = {
        f"part{n}.cc": f"int last{n - 1}(int);\n"
        f"int last{n}(int value) {{ {'value = value + 1; ' * (5 + n % 7)} return last{n - 1}(value); }}\n"
        for n in range(1, 60)
    }
    documents = all_of(tmp_path, sources, budget=1024, small_share=share)
    own = [int((document.roles == ROOT_ROLE).sum()) for document in documents]
    small = sum(size for size in own if size <= 1024 * 4 * 0.9 / 1.5 / 4)
    assert share <= small / sum(own) < share + 0.15
    assert sum(len(document.roots) for document in documents) == len({*sum((d.roots for d in documents), ())}) >= 59


def test_two_programs_do_not_share_a_document(tmp_path: Path) -> None:
    sources = {name: f"int main() {{ return {n} + 1000000; }}\n" for n, name in enumerate(("a.cc", "b.cc"))}
    assert [document.text.count("int main") for document in all_of(tmp_path, sources)] == [1, 1]


def test_of_a_class_in_a_generated_header_and_its_source_one_is_shown(tmp_path: Path) -> None:
    struct = "struct state {{\n  int depth;\n  int limit;\n{}}};\n"
    sources = {
        "parser.h": "#pragma once\n" + struct.format("") + "int open_in(struct state *s);\n",
        "parser.c": struct.format("  int only_in_the_source;\n")
        + "int open_in(struct state *s) { return s->depth + 1000003; }\n",
        "user.c": '#include "parser.h"\nint user(struct state *s) { return open_in(s) + s->limit + 1000033; }\n',
    }
    (document,) = (each for each in all_of(tmp_path, sources, small_share=0.0) if "1000033" in each.text)
    assert "1000003" in document.text and document.text.count("struct state {") == 1


def test_of_two_enumerations_with_the_same_enumerators_one_is_shown(tmp_path: Path) -> None:
    sources = {
        "one.h": "#pragma once\ntypedef enum { HEAD_MODE, LAST_MODE } inflate_mode;\nint one(inflate_mode mode);\n",
        "two.h": "#pragma once\ntypedef enum { HEAD_MODE, MIDDLE_MODE, LAST_MODE } inflate_mode;\n",
        "one.c": '#include "one.h"\nint one(inflate_mode mode) { return mode == HEAD_MODE ? 1000003 : 0; }\n',
        "two.c": '#include "two.h"\nint one(int);\nint two(inflate_mode m) { return one(m) + 1000033; }\n',
    }
    (document,) = (each for each in all_of(tmp_path, sources, small_share=0.0) if "1000033" in each.text)
    assert "1000003" in document.text and document.text.count("HEAD_MODE,") == 1


def test_a_function_whose_body_is_too_far_comes_as_its_signature(tmp_path: Path) -> None:
    document = documents_of(tmp_path, body_depth=1)["main"]
    assert "static int add(int a, int b);" in document.text
    kinds = {chunk.name: chunk.kind for chunk in document.boundaries}
    assert kinds["lib::add"] == "func_sig" and kinds["lib::sum"] == "func_body"


def test_a_class_brought_along_shows_the_methods_that_are_used_and_the_signatures_of_others(tmp_path: Path) -> None:
    body = "int x = 0; " * 20
    text = f"""\
struct Tool {{
  int first;
  int turn() {{ {body} return first; }}
  int halt() {{ {body} return -first; }}
}};
int user(Tool &tool) {{ return tool.turn(); }}
"""
    document = documents_of(tmp_path, {"a.cc": text})["user"]
    assert "int halt();" in document.text and f"int turn() {{ {body}" in document.text
    assert [(chunk.kind, chunk.name) for chunk in document.boundaries] == [
        ("class_decl", "Tool"),
        ("func_body", "Tool::turn"),
        ("func_sig", "Tool::halt"),
        ("class_decl", "Tool"),
        ("func_body", "user"),
    ]


@pytest.mark.parametrize("word", ["", " final"])
def test_a_class_that_there_is_no_room_for_comes_as_its_head_without_final(word: str, tmp_path: Path) -> None:
    members = "".join(f"  int member{n};\n" for n in range(100))
    text = f"class Large{word} {{\n{members}}};\nint user(Large *large) {{ return large ? 1000000 : 2000000; }}\n"
    document = documents_of(tmp_path, {"a.cc": text}, budget=200)["user"]
    assert document.text.startswith("class Large;\nint user")


def test_a_class_is_declared_once_though_several_files_declare_it(tmp_path: Path) -> None:
    members = "".join(f"  int member{n};\n" for n in range(100))
    sources = {
        "large.h": f"class Large {{\n{members}}};\n",
        "user.cc": "class Large;\nint one(Large *large) { return large ? 1000000 : 2000000; }\n"
        '#include "large.h"\nint user(Large *large) { return one(large) + large->member7; }\n',
    }
    (document,) = (
        entry for entry in all_of(tmp_path, sources, budget=200, strategy="file") if "int user" in entry.text
    )
    assert document.text.count("class Large;") == 1


def test_a_method_defined_outside_comes_after_its_class(tmp_path: Path) -> None:
    text = "struct Box { int area() const; int side; };\nint Box::area() const { return side * side; }\n"
    document = documents_of(tmp_path, {"a.cc": text})["Box::area"]
    assert document.text.index("struct Box") < document.text.index("int Box::area() const {")


def test_constants_and_macros_that_a_root_uses_come_along(tmp_path: Path) -> None:
    text = "#define TWICE(x) ((x) + (x))\nconst int limit = 1000;\n\nint user(int v) { return TWICE(v) < limit; }\n"
    filler = "".join(f"int filler{n}() {{ return {n} + 1000000; }}\n" for n in range(3))
    document = documents_of(tmp_path, {"a.cc": text.replace("\n\n", f"\n{filler}\n")})["user"]
    assert "#define TWICE" in document.text and "const int limit" in document.text
    assert "filler" not in document.text


def test_a_macro_whose_text_needs_more_than_there_is_room_for_comes_alone(tmp_path: Path) -> None:
    calls = "".join(f"  check({number}, (x)); \\\n" for number in range(60))
    header = f"#pragma once\nvoid check(int, int);\n#define CHECK_ALL(x) \\\n{calls}  check(60, (x))\n"
    short = "#define CHECK(x) CHECK_ALL(x)\n"
    sources = {"check.h": header + short, "main.cc": '#include "check.h"\nint main() { CHECK(1); return 0; }\n'}
    assert "#define CHECK_ALL" in documents_of(tmp_path / "long", sources)["main"].text
    text = documents_of(tmp_path / "short", sources, budget=128)["main"].text
    assert short in text and "#define CHECK_ALL" not in text


def test_of_declarations_that_stand_together_the_one_that_is_used_comes_along(tmp_path: Path) -> None:
    declared = "class Apple;\nclass Brick;\nclass Cup;\ntypedef int Number;\ntypedef long Other;\n"
    sources = {"a.h": declared, "b.cc": '#include "a.h"\nNumber f(Brick *brick) { return brick ? 1000000 : 2; }\n'}
    text = documents_of(tmp_path, sources)["f"].text
    assert sorted(text.split("\n\n")[:-1]) == ["class Brick;", "typedef int Number;"]


def test_small_declarations_of_one_kind_that_stand_together_share_a_chunk(tmp_path: Path) -> None:
    lines = "".join(f"extern int the_number_{n:02};\n" for n in range(40))
    (document,) = all_of(tmp_path, {"a.cc": f"{lines}typedef int Number;\n"})
    chunks = [(chunk.kind, chunk.char_end - chunk.char_offset) for chunk in document.boundaries]
    assert [kind for kind, _ in chunks] == ["other"] * 3 + ["typedef"]
    assert all(400 <= size < 430 for _, size in chunks[:2])


def test_small_declarations_of_two_levels_share_no_chunk(tmp_path: Path) -> None:
    (document,) = all_of(tmp_path, {"a.cc": "typedef int First;\ntypedef First Second;\ntypedef int Third;\n"})
    assert [(chunk.name, chunk.dep_level) for chunk in document.boundaries] == [
        ("First", 0),
        ("Second", 1),
        ("Third", 0),
    ]


def test_a_declaration_comes_without_the_comment_before_it_and_a_body_with_it(tmp_path: Path) -> None:
    text = "// About the number.\ntypedef int Number;\n// About what it does.\nNumber used() { return 1000000; }\n"
    sources = {"a.cc": text, "b.cc": '#include "a.cc"\nNumber user() { return used() + 1000; }\n'}
    whole, short = (documents_of(tmp_path / str(n), sources, body_depth=n)["user"].text for n in (1, 0))
    assert "// About what it does.\nNumber used() {" in whole and "About the number" not in whole
    assert "Number used();" in short and "About" not in short


def test_a_namespace_that_a_macro_opens_is_closed_by_its_macro_and_its_macro_comes_along(tmp_path: Path) -> None:
    text = """\
#define OPEN namespace lib { inline namespace v1 {
#define CLOSE }}
OPEN
int inner() { return 1000000; }
CLOSE
int outer() { return lib::inner() + 1; }
"""
    document = documents_of(tmp_path, {"a.cc": text})["outer"]
    lines = [line for line in document.text.splitlines() if line]
    assert lines[-4:] == [
        "OPEN",
        "int inner() { return 1000000; }",
        "CLOSE",
        "int outer() { return lib::inner() + 1; }",
    ]
    assert lines[0].startswith("#define OPEN") and lines[1].startswith("#define CLOSE")


def test_what_a_signature_hides_is_used_by_nobody(tmp_path: Path) -> None:
    document = documents_of(tmp_path, body_depth=0)["main"]
    names = [chunk.name for chunk in document.boundaries]
    assert {(names[caller], names[callee]) for caller, callee, _ in document.call_edges()} == {("main", "lib::sum")}


def test_what_is_too_far_is_left_out_but_for_declarations_that_a_body_needs(tmp_path: Path) -> None:
    text = SOURCES["lib.cc"].replace("return a + b", "return twice(a) + b")
    sources = {**SOURCES, "lib.cc": text.replace("static", "static int twice(int a) { return a * 2; }\nstatic", 1)}
    document = documents_of(tmp_path, sources, dependency_depth=1)["main"]
    assert "int sum(const Pair &pair) { return" in document.text
    assert "static int add(int a, int b);" in document.text and "twice" not in document.text


def test_a_document_keeps_within_its_tokens_and_drops_the_farthest_first(tmp_path: Path) -> None:
    document = documents_of(tmp_path, budget=64)["main"]
    assert len(document.text) // 4 <= 64
    assert document.boundaries[-1].name == "main"


def test_context_leaves_room_for_what_the_estimate_misses(tmp_path: Path) -> None:
    long = "v = v + 1; " * 30
    steps = "".join(f"int step{n}(int v) {{ {long} return step{n - 1}(v); }}\n" for n in range(1, 30))
    text = f"int step0(int v) {{ return v + 1 - 1 + 0; }}\n{steps}int all(int v) {{ return step29(v); }}\n"
    recipe = {"budget": 1000, "dependency_depth": 30, "body_depth": 30}
    document = documents_of(tmp_path, {"a.cc": text}, **recipe)["all"]
    assert 0.7 * 4 * 1000 < len(document.text) <= 0.9 * 4 * 1000


def test_a_root_over_the_limit_stays_whole(tmp_path: Path) -> None:
    text = f"int big() {{ {'int x = 1; ' * 100} return 0; }}\n"
    document = documents_of(tmp_path, {"a.cc": text}, budget=10)["big"]
    assert document.text == text.strip()


def test_a_circle_of_functions_ends(tmp_path: Path) -> None:
    count = 300
    declared = "".join(f"int ring{n}(int);\n" for n in range(count))
    rings = "".join(f"int ring{n}(int v) {{ return ring{(n + 1) % count}(v - 1); }}\n" for n in range(count))
    for number, strategy in enumerate(STRATEGIES):
        documents = all_of(tmp_path / str(number), {"a.cc": declared + rings}, strategy=strategy)
        assert sum(document.text.count("return ring") for document in documents) >= count


def test_a_text_is_the_root_of_one_document_and_its_copy_is_recorded(tmp_path: Path) -> None:
    text = "static int twin(int v) { return v * 2; }\n"
    entries = assembled(tmp_path, {"a.cc": text, "b.cc": text})
    assert sorted(type(entry).__name__ for entry in entries) == ["Document", "Skipped"]
    assert Skipped("b.cc", "twin", 0, len(text) - 1, "same text as a.cc:0") in entries


def test_what_is_too_short_is_recorded(tmp_path: Path) -> None:
    (entry,) = assembled(tmp_path, {"a.cc": "void f() {}\n"})
    assert isinstance(entry, Skipped) and entry.reason == SHORT


def test_every_definition_is_in_a_document_or_in_the_skip_list(tmp_path: Path) -> None:
    entries = assembled(tmp_path, SOURCES)
    chunks = {chunk.name for entry in entries if isinstance(entry, Document) for chunk in entry.boundaries}
    assert {"lib::Pair", "lib::sum", "lib::add", "main"} <= chunks | {e.name for e in entries if isinstance(e, Skipped)}


def test_a_roots_namespaces_are_those_open_around_it(tmp_path: Path) -> None:
    text = """\
namespace a {
namespace b {
int inner() { return 100000; }
}
int outer() { return 200000; }
}
namespace c { int other() { return 300000; } }
"""
    texts = {name: document.text for name, document in documents_of(tmp_path, {"a.cc": text}).items()}
    assert texts == {
        "a::b::inner": "namespace a {\nnamespace b {\n\nint inner() { return 100000; }\n\n"
        "}  // namespace b\n}  // namespace a",
        "a::outer": "namespace a {\n\nint outer() { return 200000; }\n\n}  // namespace a",
        "c::other": "namespace c {\n\nint other() { return 300000; }\n\n}  // namespace c",
    }


def test_variables_of_one_name_in_two_files_are_in_different_documents(tmp_path: Path) -> None:
    sources = {
        "a.cc": "int second();\nstatic int limits[] = {1000003};\nint first() { return limits[0] + second(); }\n",
        "b.cc": "static int limits[] = {1000033};\nint second() { return limits[0]; }\n",
    }
    made = all_of(tmp_path, sources, body_depth=0)
    assert not any("1000003" in each.text and "1000033" in each.text for each in made)
