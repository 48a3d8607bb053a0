"""Text that a declaration includes within its braces belongs to the declaration."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.semantic.sources import index

LIST = "OP(LOAD)\nOP(STORE)\n"
ENUM = '#pragma once\nenum opcode {\n#define OP(name) name,\n#include "list.h"\n#undef OP\n};\n'


def _named(tree: Path, sources: dict[str, str]) -> set[tuple[str, str]]:
    """The files of chunks that name others by words alone, each with the files of those."""
    repository, _ = index(tree, sources)
    files = [repository.files[node.file].source.path for node in repository.nodes]
    return {(files[user], files[used]) for user, found in enumerate(repository.spelled) for used in found}


@pytest.mark.parametrize("path", ["list.h", "src/list.h"])
def test_an_enumeration_and_the_list_that_it_includes_use_each_other(path: str, tmp_path: Path) -> None:
    named = _named(tmp_path, {path: LIST, "src/code.h": ENUM})
    assert {("src/code.h", path), (path, "src/code.h")} <= named


def test_a_list_whose_name_two_files_have_is_not_guessed(tmp_path: Path) -> None:
    named = _named(tmp_path, {"one/list.h": LIST, "two/list.h": LIST, "src/code.h": ENUM})
    assert not any("list.h" in used for _, used in named)


def test_a_header_that_is_included_outside_of_braces_is_no_part_of_anything(tmp_path: Path) -> None:
    named = _named(
        tmp_path, {"list.h": "int listed;\n", "code.h": '#include "list.h"\nint size() { return 1000003; }\n'}
    )
    assert named == set()


def test_who_names_a_value_that_is_an_included_text_uses_the_enumeration(tmp_path: Path) -> None:
    enum = 'enum {\n  COUNT =\n#define OP(name) +1\n#include "list.h"\n#undef OP\n};\n'
    user = '#include "code.h"\nint count() { return COUNT * 1000003; }\n'
    assert ("user.cc", "code.h") in _named(
        tmp_path, {"list.h": LIST, "code.h": "#pragma once\n" + enum, "user.cc": user}
    )


def test_who_names_another_enumerator_of_that_enumeration_is_left_alone(tmp_path: Path) -> None:
    enum = 'enum {\n  NONE = 0,\n  COUNT =\n#define OP(name) +1\n#include "list.h"\n#undef OP\n};\n'
    sources = {"list.h": LIST, "code.h": "#pragma once\n" + enum, "other.cc": "int NONE() { return 1000003; }\n"}
    assert ("other.cc", "code.h") not in _named(tmp_path, sources)
