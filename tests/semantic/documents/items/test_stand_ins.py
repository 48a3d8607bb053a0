"""An item of which no part is a declaration is declared by another one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from megacpp_assets.semantic.documents.items.items import Items
from megacpp_assets.semantic.documents.items.stand_ins import StandIns
from tests.semantic.sources import index

LONG = f'const char text[] = "{"x" * 120}";\n'


def _declared(folder: Path, files: Mapping[str, str]) -> dict[str, str]:
    """Return the text of each item that another one declares, with the text of that."""
    repository, _ = index(folder, files)
    items = Items(repository)
    stand_ins = StandIns(repository, items)
    found = {item: stand_ins.of(item) for item in items.of}
    return {items.text(item): items.text(other) for item, other in found.items() if item != other}


def test_a_long_variable_is_declared_by_extern_in_a_header(tmp_path: Path) -> None:
    files = {"a.h": "extern const char text[];\n", "a.cc": f'#include "a.h"\n{LONG}'}
    assert _declared(tmp_path, files) == {LONG.strip(): "extern const char text[];"}


def test_a_function_outside_of_its_namespace_is_declared_by_its_prototype(tmp_path: Path) -> None:
    prototype, body = "void run(int times);", "void space::run(int times) {}"
    files = {"a.h": f"namespace space {{\n{prototype}\n}}\n", "a.cc": f'#include "a.h"\n{body}\n'}
    assert _declared(tmp_path, files) == {body: prototype}


def test_functions_in_their_namespace_and_methods_are_declared_by_their_signatures(tmp_path: Path) -> None:
    header = "namespace space {\nvoid run();\nstruct Box { void open(); };\n}\n"
    bodies = "namespace space {\nvoid run() {}\n}\nvoid space::Box::open() {}\n"
    assert _declared(tmp_path, {"a.h": header, "a.cc": f'#include "a.h"\n{bodies}'}) == {}


def test_of_several_prototypes_none_is_chosen(tmp_path: Path) -> None:
    header = "namespace space {\nvoid run(int);\nvoid run(char);\n}\n"
    assert _declared(tmp_path, {"a.h": header, "a.cc": '#include "a.h"\nvoid space::run(int) {}\n'}) == {}
