"""The top of a document: includes, and what configures them."""

from __future__ import annotations

from pathlib import Path

from megacpp_assets.contract.names import ROOT_ROLE
from megacpp_assets.contract.recipe.documents import SemanticRecipe
from tests.semantic.sources import assembled, by_root

FILE = SemanticRecipe(strategy="file", replication=0, body_depth=0)


def test_a_reserved_name_that_a_root_defines_is_repeated_above_the_includes(tmp_path: Path) -> None:
    sources = {
        "time.c": "#ifndef __sun__\n# define _XOPEN_SOURCE 700\n#else\n# define _XPG6\n#endif\n#include <time.h>\n"
        "#include <stdlib.h>\nint parsed(const char *text) {\n"
        '  struct tm out;\n  return strptime(text, "%Y", &out) != NULL ? atoi(text) : 1000000;\n}\n',
    }
    document = by_root(assembled(tmp_path, sources, FILE))["_XOPEN_SOURCE"]
    assert document.text.index("_XOPEN_SOURCE 700") < document.text.index("#include")
    roots = [document.text[part.char_start : part.char_end] for part in document.constituents if part.role == ROOT_ROLE]
    assert "_XOPEN_SOURCE 700" in roots[0]
    assert [part.byte_start for part in document.constituents].count(0) == 1
