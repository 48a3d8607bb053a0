"""What libclang's parse lost is found by syntax: no definition is in no document, and none is there twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.contract.names import ROOT_ROLE
from megacpp_assets.semantic.documents.text.document import Document
from tests.semantic.sources import assembled, labels

LOST = {
    "an unknown macro behind a head": "int third(int a) MY_NOEXCEPT { return a + 1000000; }",
    "an unknown macro before a name": "class MY_API Eight { int x; public: int eight(int a) { return a + 100000; } };",
    "an unknown type": "missing::thing sixth(int a) { return a + 1000000; }",
    "a later standard": "int r(T a) { return a + 1000000; }",
}
HEADS = {"a later standard": "template <class T> requires (sizeof(T) > 1) "}
"""What stands before the definition, of which libclang makes something of its own."""


@pytest.mark.parametrize("scope", ["{}", "namespace n {{\n{}\n}}", 'extern "C++" {{ namespace n {{\n{}\n}} }}'])
@pytest.mark.parametrize("case", LOST)
def test_every_definition_is_in_one_document_though_the_parse_has_errors(tmp_path: Path, case: str, scope: str) -> None:
    definitions = ("int first() { return 100000; }", LOST[case], "int last() { return 1000000000; }")
    body = "{}\n{}{}\n{}".format(definitions[0], HEADS.get(case, ""), *definitions[1:])
    entries = assembled(tmp_path, {"a.cc": f"#include <missing/config.h>\n{scope.format(body)}\n"})
    documents = [entry for entry in entries if isinstance(entry, Document)]
    for definition in definitions:
        assert sum(definition in document.text for document in documents) == 1, definition


def test_a_forward_declaration_stays_a_class_if_the_parse_has_errors() -> None:
    found = labels('#include "none.h"\nnamespace n {\nclass Named;\nint f(Named *);\n}\n')
    assert found["class_decl"] == "classNamed;"
    assert found["func_sig"] == "intf(Named*);"
    assert found["namespace"] == "namespacen{}"


_OUT_OF_CLASS = (
    "INLINE box::box(const int &value)\n    : held{value}\n{\n    grow(value + 1);\n    shrink(value);\n}",
    "INLINE box::box(box &&other) NOEXCEPT : held{other.held}, size{std::move(other.size)}\n{\n    grow(2);\n}",
    "INLINE box &box::operator=(box &&other) NOEXCEPT\n{\n    base::operator=(other);\n    return *this;\n}",
    "INLINE void box::grow(int value)\n{\n    held = range{value, value};\n}",
)


def test_methods_after_macros_are_complete_without_their_class(tmp_path: Path) -> None:
    head = (
        "#pragma once\n#define INLINE inline\n#define NOEXCEPT noexcept\n#ifndef NONE\n#include <missing.h>\n#endif\n"
    )
    text = head + "namespace n {\nnamespace m {\n\n" + "\n\n".join(_OUT_OF_CLASS) + "\n\n}\n}\n"
    documents = [entry for entry in assembled(tmp_path, {"a.cc": text}) if isinstance(entry, Document)]
    for definition in _OUT_OF_CLASS:
        assert sum(definition in _root_text(document) for document in documents) == 1, definition


def _root_text(document: Document) -> str:
    """Return the text of a document without its context: a method that another one calls is context there."""
    return "".join(char for char, role in zip(document.text, document.roles, strict=True) if role == ROOT_ROLE)


def test_an_initializer_that_the_parser_gave_up_stays_with_its_variable(tmp_path: Path) -> None:
    table = (
        'static struct {\n  const char *name;\n  int flag;\n} all[] = {\n  {"a", MISSING_A},\n  {"b", MISSING_B},\n};'
    )
    text = f"#include <missing.h>\n{table}\nint user(int v) {{ return all[v].flag + 1000000; }}\n"
    documents = [entry for entry in assembled(tmp_path, {"a.cc": text}) if isinstance(entry, Document)]
    assert all(table in document.text for document in documents if "} all[]" in document.text)
    assert sum(document.root.name == "all" for document in documents) == 1


def test_words_that_are_no_code_do_not_tear_the_type_behind_them(tmp_path: Path) -> None:
    union = "typedef union { double d; Long L[2]; } U;"
    text = f"#if defined(A) + defined(B) != 1\nExactly one of A, B, or C should be defined.\n#endif\n\n{union}\n"
    user = "int user(U *of) { return of->d + 1000000; }\n"
    documents = [each for each in assembled(tmp_path, {"a.cc": text + user}) if isinstance(each, Document)]
    assert any(union in document.text for document in documents if user.strip() in document.text)
