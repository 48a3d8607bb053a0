"""A part of a long root has the context of its own text, and its recall counts the uses of this text."""

from __future__ import annotations

from pathlib import Path

from megacpp_assets.semantic.documents.judge import Rules
from megacpp_assets.semantic.documents.text.document import Document
from tests.semantic.documents.assembling import all_of
from tests.semantic.sources import index


def _calls(name: str) -> str:
    return "".join(f"  total += {name}({n}, 'the {n}th of them');\n" for n in range(40))


FUNCTION = f"""\
int early(int number, int mark);
int late(int number, int mark);
int longest(int total) {{
{_calls("early")}{_calls("late")}  return total;
}}
"""


def _methods(first: int, name: str) -> str:
    return "".join(
        f"  int step_{n}(int number) {{\n    int found = {name}(number) + {n};\n    return found * scale_;\n  }}\n"
        for n in range(first, first + 30)
    )


CLASS = f"""\
class Longest {{
 public:
  int early(int number) {{ return number + 1; }}
{_methods(0, "late")}{_methods(30, "early")} protected:
{_methods(60, "early")}
 private:
  int late(int number) {{ return number + 2; }}
  int unused(int number) {{ return number + 3; }}
  int scale_ = 1;
}};
"""


def _parts(tmp_path: Path, source: str, name: str) -> list[Document]:
    found = [each for each in all_of(tmp_path, {"a.cc": source}, 512) if each.root.name == name]
    assert len(found) > 2
    return found


def test_a_part_of_a_function_declares_what_it_calls_and_nothing_that_other_parts_call(tmp_path: Path) -> None:
    found = _parts(tmp_path, FUNCTION, "longest")
    for each in found:
        for name in ("early", "late"):
            assert (f"int {name}(int" in each.text) == (f"= {name}(" in each.text)
    assert all(each.recall.uses == each.recall.found > 0 for each in found)


def test_a_part_of_a_class_declares_those_members_of_other_parts_that_it_names(tmp_path: Path) -> None:
    first, *others = _parts(tmp_path, CLASS, "Longest")
    assert "int late(int number);" in first.text and first.text.endswith("scale_ = 1;\n};")
    for each in others[:-1]:
        assert ("int late(int number);" in each.text) == ("= late(" in each.text)
        assert ("int early(int number);" in each.text) == ("= early(" in each.text)
    assert not any("int unused(int number);" in each.text for each in others[:-1])
    assert all(each.recall.uses == each.recall.found > 0 for each in (first, *others))
    repository, _ = index(tmp_path / "again", {"a.cc": CLASS})
    assert not any(Rules(repository).fault(each) for each in (first, *others))


def test_what_a_part_of_a_class_begins_with_has_its_access(tmp_path: Path) -> None:
    _, *others = _parts(tmp_path, CLASS, "Longest")
    for each in others[:-1]:
        number = each.text[each.text.index("step_") :].partition("(")[0].removeprefix("step_")
        label = "public" if int(number) < 60 else "protected"
        lines = each.text[: each.text.index("step_")].splitlines()
        assert [line.strip() for line in lines if line.strip().endswith(":")][-1] == f"{label}:"


def test_a_part_of_a_class_shows_the_macro_in_its_head(tmp_path: Path) -> None:
    macro = '#define EXPORTED __attribute__((visibility("default")))'
    source = f"{macro}\n{CLASS.replace('class Longest', 'class EXPORTED Longest')}"
    for each in _parts(tmp_path, source, "Longest"):
        assert "class EXPORTED Longest {" in each.text
        assert macro in each.text


def test_each_part_of_a_table_has_its_type_and_its_macros(tmp_path: Path) -> None:
    rows = "".join(f"    {{{n}, {n + 1}, 'some text of the {n}th row'}},\n" for n in range(200))
    row = "struct Row {\n  int from, to;\n  const char *text;\n};\n"
    table = f"#define ROWS 200\n{row}const Row rows[ROWS] = {{\n{rows}}};\n"
    for each in _parts(tmp_path, table.replace("'", '"'), "rows"):
        assert "#define ROWS 200" in each.text
        assert "struct Row {" in each.text
