"""Definitions of macros in the head of a document that switch on what a header shows to some files only."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.semantic.documents.items.items import Items
from megacpp_assets.semantic.documents.text.document import DocumentWriter
from megacpp_assets.semantic.documents.text.heads import Heads
from tests.semantic.documents.text.pieces import alone
from tests.semantic.sources import Sources, index

COMMON = "#pragma once\n#ifdef PROGRAM\nextern const char *path;\n#endif\n"
INCLUDE = '#include "common.h"\n'
USER = f"int user(int x) {{ int n = 1000003; return path[0] + x * n{' - n * x' * 20}; }}\n"


def _head(tree: Path, sources: Sources, roots: tuple[str, ...] = ("user",), context: tuple[str, ...] = ()) -> list[str]:
    """Return the directives in the head of a document of the `roots`, which shows `path` and the `context` too.

    Includes of the repository's own files are left out.
    """
    repository, _ = index(tree, {"common.h": COMMON, **sources})
    numbers = {node.chunk.name: number for number, node in enumerate(repository.nodes)}
    pieces = [alone(repository, numbers[name]) for name in (*context, "path")]
    pieces += [alone(repository, numbers[name], 0) for name in roots]
    writer = DocumentWriter(repository)
    Heads(repository, Items(repository)).write(writer, pieces, 10_000, set())
    found = (repository.files[part.file].source.text[part.start : part.end] for part in writer.parts)
    return [line for line in found if '"' not in line]


@pytest.mark.parametrize(
    ("definitions", "value"),
    [
        ({"user.c": "1"}, "1"),
        ({"z.h": "1"}, "1"),
        ({"user.c": "1", "a.h": "2"}, "1"),
        ({"z.h": "2", "a.h": "1"}, "1"),
    ],
)
def test_a_switch_is_defined_by_the_file_of_the_root_else_by_the_first_file_that_it_includes(
    definitions: dict[str, str], value: str, tmp_path: Path
) -> None:
    sources = {path: f"#define PROGRAM {each}\n{INCLUDE}" for path, each in definitions.items()}
    included = "".join(f'#include "{path}"\n' for path in sorted(sources, reverse=True) if path != "user.c")
    sources["user.c"] = included + sources.get("user.c", "") + USER
    assert _head(tmp_path, sources) == [f"#define PROGRAM {value}"]


def test_of_two_definitions_of_a_switch_in_a_file_the_first_counts(tmp_path: Path) -> None:
    sources = {"user.c": f"#define PROGRAM 1\n#undef PROGRAM\n#define PROGRAM 2\n{INCLUDE}{USER}"}
    assert _head(tmp_path, sources) == ["#define PROGRAM 1"]


def test_the_switch_of_the_first_root_counts(tmp_path: Path) -> None:
    other = USER.replace("user", "other")
    sources = {path: f"#define PROGRAM {path[0]}\n{INCLUDE}" for path in ("1.c", "2.c")}
    sources = {"1.c": sources["1.c"] + USER, "2.c": sources["2.c"] + other}
    sources["helper.c"] = "int helper = 1000003;\n"
    assert _head(tmp_path, sources, ("user", "other"), ("helper",)) == ["#define PROGRAM 1"]


def test_the_file_of_a_piece_that_is_no_root_defines_no_switch(tmp_path: Path) -> None:
    sources = {"main.c": f"#define PROGRAM 2\n{INCLUDE}int helper = 1000003;\n", "user.c": f"{INCLUDE}{USER}"}
    assert _head(tmp_path, sources, context=("helper",)) == []


def test_a_switch_that_its_file_defines_under_a_condition_does_not_come(tmp_path: Path) -> None:
    sources = {"user.c": f"#ifdef OLD\n#define PROGRAM 1\n#endif\n{INCLUDE}{USER}"}
    assert _head(tmp_path, sources) == []


def test_an_include_with_the_name_of_a_switch_is_no_definition_of_it(tmp_path: Path) -> None:
    common = COMMON.replace("PROGRAM", "version")
    sources = {"a.h": f"#include <version>\n{INCLUDE}", "common.h": common, "user.c": f'#include "a.h"\n{USER}'}
    assert _head(tmp_path, sources) == []


def test_a_switch_that_configures_an_include_too_comes_once(tmp_path: Path) -> None:
    sources = {"user.c": f"#define PROGRAM 1\n#include <lib/lib.h>\n{INCLUDE}{USER}"}
    assert _head(tmp_path, sources) == ["#define PROGRAM 1", "#include <lib/lib.h>"]


def test_switches_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    common = COMMON.replace("#ifdef PROGRAM", "#if defined(PROGRAM) && defined(PACKER)")
    sources = {"common.h": common, "user.c": f"#define PROGRAM 1\n#define PACKER 1\n{INCLUDE}{USER}"}
    assert _head(tmp_path, sources) == ["#define PACKER 1", "#define PROGRAM 1"]


def test_a_macro_that_hides_the_text_is_no_switch(tmp_path: Path) -> None:
    common = COMMON.replace("#ifdef", "#ifndef")
    sources = {"common.h": common, "user.c": f"#define PROGRAM 1\n{INCLUDE}#undef PROGRAM\n{INCLUDE}{USER}"}
    assert _head(tmp_path, sources) == []
