"""What libclang's parse lost is found by syntax: no definition is in no document, and none is there twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.semantic.sources import assembled, by_root, labels

LOST = {
    "an unknown macro behind a head": "int third(int a) MY_NOEXCEPT { return a + 1000000; }",
    "an unknown macro before a name": "class MY_API Eight { int x; public: int eight(int a) { return a + 100000; } };",
    "an unknown type": "missing::thing sixth(int a) { return a + 1000000; }",
    "a later standard": "template <class T> requires (sizeof(T) > 1) int r(T a) { return a + 1000000; }",
}


@pytest.mark.parametrize("scope", ["{}", "namespace n {{\n{}\n}}", 'extern "C++" {{ namespace n {{\n{}\n}} }}'])
@pytest.mark.parametrize("lost", LOST.values(), ids=LOST)
def test_every_definition_is_in_a_document_though_the_parse_has_errors(tmp_path: Path, lost: str, scope: str) -> None:
    body = f"int first() {{ return 100000; }}\n{lost}\nint last() {{ return 1000000000; }}"
    entries = assembled(tmp_path, {"a.cc": f"#include <missing/config.h>\n{scope.format(body)}\n"})
    texts = [document.text for document in by_root(entries).values()]
    for definition in (
        lost[lost.find("int r(") :] if "requires" in lost else lost,
        "int first() { return 100000; }",
        "int last() { return 1000000000; }",
    ):
        assert any(definition in text for text in texts), definition
    assert sum(text.endswith("return 1000000000; }") for text in texts) <= 1


def test_a_class_that_is_only_named_stays_one_where_the_parse_has_errors() -> None:
    found = labels('#include "none.h"\nnamespace n {\nclass Named;\nint f(Named *);\n}\n')
    assert found["class_decl"] == "classNamed;"
    assert found["func_sig"] == "intf(Named*);"
    assert found["namespace"] == "namespacen{}"
