from __future__ import annotations

import pytest

from megacpp_assets.semantic.tree.attribute_macros import attribute_macros, generated, is_generated


@pytest.mark.parametrize(
    ("texts", "macros"),
    [
        (["class LIB_EXPORT Reader {};", "  LIB_EXPORT void run();"], ["LIB_EXPORT"]),
        (["NET_API\nint start(void);", "A_DEPRECATED int old(void);"], ["A_DEPRECATED", "NET_API"]),
        (["class LIB_EXPORT Reader {};", "# define LIB_EXPORT __attribute__((used))"], []),
        (["class LIB_EXPORT Reader {};", "#undef LIB_EXPORT\n#define LIB_EXPORT\n"], ["LIB_EXPORT"]),
        (["switch (command) { case FILE_EXPORT: run(); }", "int sum = FILE_EXPORT + 1;"], []),
    ],
)
def test_macros_in_front_of_declarations_that_no_file_defines_are_found(texts: list[str], macros: list[str]) -> None:
    assert attribute_macros(text.encode() for text in texts) == macros


def test_a_document_may_define_only_such_macros() -> None:
    assert is_generated(generated("LIB_EXPORT"))
    assert not any(map(is_generated, ("#define LIB_EXPORT 1", "#define LIMIT", "int LIB_EXPORT")))
