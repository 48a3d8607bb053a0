"""Texts with a part of a conditional only."""

from __future__ import annotations

import pytest

from megacpp_assets.semantic.documents.context.torn import is_torn


@pytest.mark.parametrize(
    "text",
    ["#if A\nint a;\n", "int a;\n#endif\n", "int a() {\n#else\n", "#elif B\n#if A\n#endif\n#endif\n", "#else\n#if A\n"],
)
def test_a_directive_whose_conditional_is_elsewhere_tears_a_text(text: str) -> None:
    assert is_torn(text)


@pytest.mark.parametrize("text", ["int a;", "#define A\nint a;\n", "#if A\n#elif B\n#else\n#ifdef C\n#endif\n#endif\n"])
def test_a_text_with_whole_conditionals_is_not_torn(text: str) -> None:
    assert not is_torn(text)
