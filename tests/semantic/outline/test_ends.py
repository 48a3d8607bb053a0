"""Where declarations end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.semantic.documents.assembling import documents_of

USER = "int user(int v) { return page_size + v + 1000000; }\n"


@pytest.mark.parametrize(
    "value",
    [
        "\n#ifdef PAGE\n  PAGE\n#else\n  4096\n#endif\n  ",
        " 4096\n#if PAGES > 1\n  * PAGES\n#endif\n  ",
        "\n#if A\n  1\n#elif B\n# if C\n  2\n# endif\n#else\n  3\n#endif\n",
    ],
)
def test_a_declaration_goes_on_to_the_semicolon_behind_its_conditional(value: str, tmp_path: Path) -> None:
    declaration = f"static const int page_size ={value};"
    assert (
        declaration
        in documents_of(tmp_path, {"a.h": declaration + "\n", "a.cc": f'#include "a.h"\n{USER}'})["user"].text
    )


def test_a_declaration_takes_no_semicolon_that_is_behind_other_code(tmp_path: Path) -> None:
    source = f"static const int page_size = 1\n#ifdef A\n  + 2;\nint other;\n#else\n  ;\n#endif\nint third;\n{USER}"
    assert "int third" not in documents_of(tmp_path, {"a.cc": source})["user"].text
