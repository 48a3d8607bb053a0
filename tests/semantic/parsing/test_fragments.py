"""What is made to be included is read where it is included, with the meaning that it has there."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.semantic.commands.plan import Standards
from megacpp_assets.semantic.parsing.parsed import ParsedFile
from tests.semantic.parsing_trees import parse_in_process, planned, write_tree

CALL, ENUM_CONSTANT = 103, 7

OPERATIONS = {
    "operations.def": "// All of them.\nOPERATION(Add, 1)\nOPERATION(Subtract, 2)\n",
    "run.cc": """\
int helper(int value);
enum Operation {
#define OPERATION(name, value) name = value,
#include "operations.def"
#undef OPERATION
};
int run(Operation operation) {
  switch (operation) {
#define OPERATION(name, value) case name: return helper(value);
#include "operations.def"
#undef OPERATION
  }
  return 0;
}
""",
}
MEMBERS = {
    "table/members.inc": "int get(int key) const { return helper(key) + field; }\nint field = 3;\n",
    "table/table.cc": 'int helper(int);\nstruct Table {\n#include "members.inc"\n};\n',
}


def _declared(file: ParsedFile) -> list[str]:
    assert file.cursors is not None
    return [file.symbols.qualified_name[row] for row in file.cursors.declares.tolist() if row >= 0]


def _called(file: ParsedFile) -> list[str]:
    assert file.cursors is not None
    calls = file.cursors.uses[file.cursors.kind == CALL].tolist()
    return [file.symbols.qualified_name[row] for row in calls if row >= 0]


def test_members_that_a_class_includes_are_its_members(tmp_path: Path) -> None:
    found = parse_in_process(tmp_path, MEMBERS)["table/members.inc"]
    assert (found.status, found.errors) == ("clean", 0)
    assert _declared(found) == ["Table::get", "Table::get::key", "Table::field"]
    assert _called(found) == ["helper"]


def test_an_x_macro_list_declares_what_its_first_use_makes_of_it(tmp_path: Path) -> None:
    found = parse_in_process(tmp_path, OPERATIONS)["operations.def"]
    assert found.errors == 0 and found.cursors is not None
    constants = found.cursors.kind == ENUM_CONSTANT
    text = OPERATIONS["operations.def"]
    spans = zip(found.cursors.start[constants].tolist(), found.cursors.end[constants].tolist(), strict=True)
    assert [text[start:end] for start, end in spans] == ["Add, 1", "Subtract, 2"]
    assert _declared(found) == ["Operation::Add", "Operation::Subtract"]
    assert _called(found) == []  # the switch includes it again


def test_a_fragment_that_a_condition_removes_is_parsed_by_itself(tmp_path: Path) -> None:
    sources = {"a.cc": '#ifdef NEVER\n#include "b.inc"\n#endif\n', "b.inc": "int alone() { return 1; }\n"}
    found = parse_in_process(tmp_path, sources)["b.inc"]
    assert (found.errors, _declared(found), found.includes) == (0, ["alone"], ())


def test_a_fragment_of_a_fragment_is_parsed_in_the_source(tmp_path: Path) -> None:
    sources = {
        "a.cc": 'struct A {\n#include "b.inc"\n};\n',
        "b.inc": 'int b;\n#include "c.inc"\n',
        "c.inc": "int c() { return b; }\n",
    }
    found = parse_in_process(tmp_path, sources)
    assert [(path, _declared(found[path])) for path in ("b.inc", "c.inc")] == [("b.inc", ["A::b"]), ("c.inc", ["A::c"])]


INCLUDERS = {
    "b.cc": '#include "x.inc"\n',
    "a.h": '#include "x.inc"\n',
    "a.cc": '#ifdef A\n#include "x.inc"\n#endif\n',
    "x.inc": "1\n",
}


@pytest.mark.parametrize(
    ("without", "through"), [((), "b.cc"), (("b.cc",), "a.h"), (("b.cc", "a.h"), "a.cc"), (("b.cc", "a.h", "a.cc"), "")]
)
def test_the_best_includer_has_no_condition_then_is_a_source(
    without: tuple[str, ...], through: str, tmp_path: Path
) -> None:
    files = write_tree(tmp_path, {path: text for path, text in INCLUDERS.items() if path not in without})
    units = {unit.path: unit for unit in planned(tmp_path, files, Standards())}
    assert units.pop("x.inc").through == through
    assert not any(unit.through for unit in units.values())


def test_two_fragments_that_include_each_other_are_parsed(tmp_path: Path) -> None:
    sources = {"a.inc": '#pragma once\n#include "b.inc"\nint a;\n', "b.inc": '#pragma once\n#include "a.inc"\nint b;\n'}
    found = parse_in_process(tmp_path, sources)
    assert [_declared(found[path]) for path in ("a.inc", "b.inc")] == [["a"], ["b"]]
