"""The share of documents that libclang parses without an error, and the kinds of the errors."""

from __future__ import annotations

from pathlib import Path

from megacpp_assets.semantic.documents.measures.compiles import Compiled, count_compiling
from megacpp_assets.semantic.documents.measures.drawn import Drawn
from megacpp_assets.semantic.parsing.worker import Limits
from megacpp_assets.storage.caching.cache import Cache
from tests.semantic.parsing_trees import InProcess, toolchain

LOCAL = Limits(applied=False)
CLEAN = Drawn('#include "own.h"\n#include <stddef.h>\nsize_t size(void) { return 1; }\n', "c", "c11")
ERRORS = {
    "undeclared_name": "int f() { return grow(1); }\n",
    "unknown_type": "int f(Stranger &given);\n",
    "incomplete_class": "class Widget;\nint Widget::grow() { return 1; }\n",
    "redefinition": "int f() { return 1; }\nint f() { return 2; }\n",
    "syntax": "int f( { return 1; }\n",
}


def _count(*documents: Drawn, store: Cache | None = None) -> Compiled:
    return count_compiling(documents, toolchain(), InProcess(), LOCAL, store=store)


def test_each_kind_of_error_is_counted_once_for_a_document() -> None:
    found = _count(CLEAN, *(Drawn(text, "c++", "c++17") for text in ERRORS.values()))
    assert (found.parsed, found.clean) == (6, 1)
    assert {kind: found.kinds[kind] for kind in ERRORS} == dict.fromkeys(ERRORS, 1)
    assert found.as_stats()["documents_compile_parsed"] == 6
    assert found.as_stats()["documents_compiled_per_cent"] == round(100 / 6, 3)


def test_a_document_is_parsed_in_its_own_language_and_standard() -> None:
    text = "int f(void) { int class = 1; return class; }\n"
    assert _count(Drawn(text, "c++", "c11")).clean == 1
    assert _count(Drawn(text, "c++", "c++17")).clean == _count(Drawn(text, "c++")).clean == 0
    assert _count(Drawn(text, "c")).clean == 1


def test_a_text_of_an_earlier_run_is_not_parsed_again(tmp_path: Path) -> None:
    class Refusing(InProcess):
        def run(self, *_: object, **__: object) -> object:  # type: ignore[override]
            raise AssertionError("parsed again")

    store = Cache(tmp_path)
    first = _count(CLEAN, store=store)
    assert count_compiling([CLEAN], toolchain(), Refusing(), LOCAL, store=store) == first  # type: ignore[arg-type]
