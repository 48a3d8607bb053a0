"""A root that fills more than a document is cut into parts at the ends of statements, and nothing of it is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.contract.names import ROOT_ROLE
from megacpp_assets.semantic.documents.judge import Rules
from megacpp_assets.semantic.documents.roots.parts import RootPart, parts_of
from megacpp_assets.semantic.documents.text.document import Document
from tests.semantic.documents.assembling import all_of
from tests.semantic.sources import index

STEPS = "".join(f"  total += step({n}, // the {n}th;\n                '}}');\n" for n in range(60))
LOOP = "".join(f"    total -= step({n}, '{{');\n" for n in range(60))
SOURCE = f"""\
int step(int number, char mark);
/* Adds; long. */
int longest(int total) {{
{STEPS}  return total;
}}
int looping(int total) {{
#ifdef TRACED
  total += 1;
#endif
  for (int i = 0; i < total; ++i) {{
{LOOP}  }}
  return total;
}}
const int table[] = {{
{"".join(f"    {n}, {n + 1}," + chr(10) for n in range(200))}}};
int mixed(int total) {{
{STEPS}#ifdef ASKED
{STEPS}#endif
{STEPS}  return total;
}}
int skipped(int total) {{
#ifdef ASKED
{STEPS}#endif
  return total;
}}
"""


def _parts(tmp_path: Path, name: str) -> tuple[str, list[RootPart]]:
    repository, _ = index(tmp_path, {"a.cc": SOURCE})
    place = next(each for each in repository.roots if each.root.name == name)
    return SOURCE, parts_of(repository, place, len, 1000)


@pytest.mark.parametrize(
    ("name", "opens", "closing"),
    [
        ("longest", ["int longest(int total) {"], "}"),
        ("looping", ["int looping(int total) {", "for (int i = 0; i < total; ++i) {"], "}}"),
        ("table", ["const int table[] = {"], "};"),
    ],
)
def test_parts_follow_each_other_and_show_what_opens_their_blocks(
    tmp_path: Path, name: str, opens: list[str], closing: str
) -> None:
    text, parts = _parts(tmp_path, name)
    assert len(parts) > 1
    assert [each.span.end for each in parts[:-1]] == [each.span.start for each in parts[1:]]
    assert all(each.span.char_end - each.span.char_start <= 1000 for each in parts)
    assert [text[each.char_start : each.char_end] for each in parts[1].opened] == opens
    lengths = [each.span.char_end - each.span.char_start for each in parts]
    assert min(lengths) > max(lengths) / 2
    assert parts[0].closing == closing and parts[-1].closing == ""
    assert not parts[0].opened


def test_a_root_whose_text_is_in_a_conditional_is_not_cut(tmp_path: Path) -> None:
    _, parts = _parts(tmp_path, "skipped")
    assert parts == []


def test_a_conditional_that_is_longer_than_a_part_stays_whole_and_the_rest_is_cut(tmp_path: Path) -> None:
    text, parts = _parts(tmp_path, "mixed")
    texts = [text[each.span.char_start : each.span.char_end] for each in parts]
    assert [each for each in texts if "#ifdef ASKED" in each] == [each for each in texts if "#endif" in each]
    assert len(parts) > 3 and sum(len(each) > 1000 for each in texts) == 1


def test_a_root_of_more_than_a_document_has_one_for_each_part_and_no_other_root_has(tmp_path: Path) -> None:
    found = [each for each in all_of(tmp_path, {"a.cc": SOURCE}, 512) if each.root.name == "longest"]
    assert len(found) > 1 and len({each.text for each in found}) == len(found)
    assert "".join(map(_own_text, found)) == SOURCE[SOURCE.index("/* Adds") : SOURCE.index("int looping")].rstrip()
    assert all(each.text.count("int longest(int total) {") == 1 for each in found)
    assert all("int step(int number, char mark);" in each.text for each in found)
    (whole,) = (each for each in all_of(tmp_path, {"a.cc": SOURCE}, 4096) if each.root.name == "longest")
    assert whole.text.count("int longest(int total) {") == 1
    repository, _ = index(tmp_path / "again", {"a.cc": SOURCE})
    assert not any(Rules(repository).fault(each) for each in found)


def _own_text(document: Document) -> str:
    parts = (each for each in document.constituents if each.role == ROOT_ROLE)
    return "".join(document.text[part.char_start : part.char_end] for part in parts)


def test_a_part_closes_an_initializer_and_a_class_with_a_semicolon(tmp_path: Path) -> None:
    rows = "".join(f"    {{{n}, {n + 1}}},\n" for n in range(300))
    methods = "".join(f"    int step_{n}(int number) {{ return number + {n}; }}\n" for n in range(60))
    source = (
        f"int total(int at) {{\n  static const int table[][2] = {{\n{rows}  }};\n  return table[at][0];\n}}\n"
        f"class Outer {{\n  class Inner {{\n{methods}  }};\n}};\n"
    )
    found = all_of(tmp_path, {"a.cc": source}, 512)
    texts = ["".join(each.text.split()) for each in found if each.root.name in ("total", "Outer")]
    assert any("table[][2]={" in text and text.endswith("};}") for text in texts)
    assert any("classInner{" in text and text.endswith("};};") for text in texts)
