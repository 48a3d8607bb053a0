"""Text that a declaration includes within its braces is shown in place of the directive."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.contract.names import CONTEXT_ROLE, ROOT_ROLE
from megacpp_assets.semantic.documents.text.document import Document
from tests.semantic.documents.assembling import documents_of

LIST = "".join(f"OP(OPCODE_{name}, {number}000003)\n" for number, name in enumerate(("LOAD", "STORE", "JUMP"), 1))
HEADER = """\
#pragma once
enum opcode {
#define OP(name, value) name = value,
#include "list.inc.h"
#undef OP
};
enum {
  NUMBER_OF_OPCODES =
#define OP(name, value) +1
#include "list.inc.h"
#undef OP
};
"""


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Document]:
    sources = {
        "list.inc.h": LIST,
        "code.h": HEADER,
        "jump.c": '#include "code.h"\nint is_jump(enum opcode op) { return op == OPCODE_JUMP; }\n',
        "count.c": '#include "code.h"\nint count(void) { return NUMBER_OF_OPCODES + 1000; }\n',
        "both.c": '#include "code.h"\nint both(enum opcode op) { return op < NUMBER_OF_OPCODES && op != 1000033; }\n',
    }
    return documents_of(tmp_path_factory.mktemp("tree"), sources)


def test_an_enumeration_is_shown_with_the_list_that_it_includes(documents: dict[str, Document]) -> None:
    text = documents["is_jump"].text
    assert "#include" not in text
    assert text.index("enum opcode {") < text.index("#define OP(") < text.index(LIST) < text.index("#undef OP")


def test_the_list_of_a_value_is_shown_where_the_value_is_used(documents: dict[str, Document]) -> None:
    text = documents["count"].text
    assert "NUMBER_OF_OPCODES =" in text and LIST in text


def test_a_list_that_two_declarations_include_is_in_both_and_its_bytes_are_shown_once(
    documents: dict[str, Document],
) -> None:
    document = documents["both"]
    assert document.text.count(LIST) == 2
    assert sum(part.filepath == "list.inc.h" for part in document.constituents) == 1


def test_a_list_that_is_a_root_stands_within_the_declaration(documents: dict[str, Document]) -> None:
    document = next(each for each in documents.values() if each.root.name.startswith("OP"))
    roles = {part.role for part in document.constituents if part.filepath == "list.inc.h"}
    assert roles == {ROOT_ROLE}
    begin = document.text.index(LIST)
    assert document.text.rindex("enum opcode {", 0, begin) < begin
    assert CONTEXT_ROLE in {part.role for part in document.constituents if part.filepath == "code.h"}


def test_chunks_keep_their_places_around_the_list(documents: dict[str, Document]) -> None:
    document = documents["is_jump"]
    (chunk,) = (each for each in document.boundaries if each.name == "is_jump")
    assert document.text[chunk.char_offset : chunk.char_end].startswith("int is_jump(")


def test_a_root_that_includes_a_list_keeps_all_of_its_bytes(documents: dict[str, Document]) -> None:
    document = next(each for each in documents.values() if each.root.name == "opcode")
    parts = [part for part in document.constituents if part.filepath == "code.h" and part.role == ROOT_ROLE]
    assert "".join(document.text[part.char_start : part.char_end] for part in parts) in HEADER
    assert [part.byte_end for part in parts[:-1]] == [part.byte_start for part in parts[1:]]
    assert LIST in document.text


def test_a_body_that_is_left_out_does_not_come_back_with_the_file_that_is_included(tmp_path: Path) -> None:
    body = "  value += 1000003;\n" * 30
    sources = {
        "members.inc": f"int area(int value) {{\n{body}  return value;\n}}\nint side;\n",
        "box.h": '#pragma once\nstruct Box {\n#include "members.inc"\n};\n',
        "user.cc": '#include "box.h"\nint user(Box &box) { return box.side + 1000033; }\n',
    }
    text = documents_of(tmp_path, sources, body_depth=0)["user"].text
    assert "1000003" not in text


def test_a_list_between_a_macro_and_its_undef_stands_in_place_of_the_directive(tmp_path: Path) -> None:
    sources = {
        "list.inc.h": "EACH(sine)\nEACH(cosine)\n",
        "a.c": "#define EACH(name) static int f_ ## name(int v) { return v + 1000000; }\n"
        '#include "list.inc.h"\n#undef EACH\n'
        "int user(int v) { return f_sine(v) + f_cosine(v) + 1000000; }\n",
    }
    found = documents_of(tmp_path, sources)
    for root, includes in (("EACH", 1), ("sine", 0)):
        places = [found[root].text.index(each) for each in ("#define EACH", "EACH(sine)\nEACH(cosine)", "#undef EACH")]
        assert places == sorted(places) and found[root].text.count("#include") == includes


def test_a_table_that_includes_a_list_has_the_nearest_definition_of_its_macro(tmp_path: Path) -> None:
    sources = {
        "list.inc.h": "EACH(1000001)\nEACH(1000002)\n",
        "a.c": "#define EACH(value) + value\nint sum(void) {\n  return 0\n"
        '#include "list.inc.h"\n  ;\n}\n#undef EACH\n#define EACH(value) value,\n'
        'static const int values[] = {\n#include "list.inc.h"\n};\nint user(int v) { return values[v] + 1000000; }\n',
    }
    text = documents_of(tmp_path, sources)["user"].text
    assert text.index("#define EACH(value) value,") < text.index("values[] = {") < text.index("EACH(1000001)")
    assert "EACH(value) + value" not in text


def test_an_include_behind_a_macro_that_nothing_undefines_stays_a_directive(tmp_path: Path) -> None:
    sources = {
        "b.h": "#define SIDE 1000004\n",
        "a.c": '#define WITH_SIDES 1000001\n#include "b.h"\n#define OTHER_SIDES 1000002\n',
    }
    assert not any("1000004" in each.text for name, each in documents_of(tmp_path, sources).items() if name != "SIDE")
