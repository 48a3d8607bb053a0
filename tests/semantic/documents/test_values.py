"""A structure of C that is used by value, behind its keyword, is defined in the document and not only declared."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.contract.recipe.documents import SemanticRecipe
from megacpp_assets.semantic.documents.text.document import Document
from tests.semantic.sources import Sources, assembled

FILLER = "".join(f"  int filler_number_{number};\n" for number in range(60))
SOURCES: Sources = {
    "queue.h": f"""\
#pragma once
struct queue {{ struct queue *next; struct queue *prev; }};
struct far {{ int distance;
{FILLER}}};
struct handle {{
  struct queue waiting;
  struct far *owner;
  int state;
{FILLER}}};
""",
    "use.c": """\
#include "queue.h"
int state_of(struct handle *given) { return given->state + (given->waiting.next == &given->waiting) + 1000000; }
int size_of(int count) { return count * (int)sizeof(struct queue) + 1000000; }
int owned(struct handle *given) { return given->owner != 0 ? 1000000 : 2000000; }
""",
}


def _text(tree: Path, root: str) -> str:
    recipe = SemanticRecipe(strategy="per_chunk", replication=2.0, parsed_documents=0)
    made = (entry for entry in assembled(tree, SOURCES, recipe) if isinstance(entry, Document))
    return next(entry.text for entry in made if entry.root.name == root)


@pytest.mark.parametrize("root", ["state_of", "size_of"])
def test_a_structure_that_is_used_by_value_is_defined(tmp_path: Path, root: str) -> None:
    text = _text(tmp_path, root)
    assert text.index("struct queue {") < text.index(f"int {root}(")


def test_a_structure_behind_a_pointer_is_only_declared(tmp_path: Path) -> None:
    text = _text(tmp_path, "owned")
    assert "struct far *owner;" in text and "struct far {" not in text
