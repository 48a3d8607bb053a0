"""docs/seeds.md has a file, a way in and a test for each thing, and its imports exist.

`tests/test_documents.py` checks its files and commands.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "seeds.md"


def rows() -> Iterator[list[str]]:
    """The cells of each row of the page's tables, without heads."""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| ") and cells[0] != "thing of the seed":
            yield cells


def words_of(cell: str) -> list[str]:
    """What stands in backticks."""
    return re.findall(r"`([^`]+)`", cell)


def test_every_row_has_a_thing_a_file_a_way_in_and_a_test() -> None:
    assert [row for row in rows() if len(row) != 4 or not all(map(words_of, row[1:]))] == []


def names_of(module: str) -> set[str]:
    """Names that the top level of a module of the package defines or imports; it is read, for torch loads slowly."""
    path = ROOT.joinpath(*module.split("."))
    tree = ast.parse((path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8"))
    found = {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom | ast.Import):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found | {child.stem for child in path.glob("*.py")}


@pytest.mark.parametrize(
    "word", sorted({w for row in rows() for w in words_of(row[2]) if w.startswith("megacpp_assets.")})
)
def test_every_import_of_the_page_exists(word: str) -> None:
    module, name = word.rsplit(".", 1)
    assert name in names_of(module)
