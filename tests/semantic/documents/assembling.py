"""A small tree of sources, and its documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from megacpp_assets.contract.names import DOCUMENT_TOKENS
from megacpp_assets.contract.recipe.documents import SemanticRecipe
from megacpp_assets.semantic.documents.text.document import Document
from tests.semantic.sources import Sources, assembled, by_root

SOURCES: Sources = {
    "lib.h": """\
#pragma once
#include <cstddef>
namespace lib {
// A pair of numbers, é.
struct Pair { int left; /* the first one */ int right; };
int sum(const Pair &pair);
}
""",
    "lib.cc": """\
#include "lib.h"
namespace lib {
static int add(int a, int b) { return a + b; }
int sum(const Pair &pair) { return add(pair.left, pair.right); }
}
""",
    "main.cc": """\
#include "lib.h"
using lib::Pair;
int main() { Pair pair{1, 2}; return lib::sum(pair); }
""",
}
PER_CHUNK: dict[str, Any] = {"strategy": "per_chunk", "body_depth": 5, "replication": 0}


def documents_of(
    tree: Path, sources: Sources = SOURCES, budget: int = DOCUMENT_TOKENS, **recipe: Any
) -> dict[str, Document]:
    return by_root(assembled(tree, sources, SemanticRecipe(**{**PER_CHUNK, **recipe}), budget))


def all_of(tree: Path, sources: Sources = SOURCES, budget: int = DOCUMENT_TOKENS, **recipe: Any) -> list[Document]:
    return [
        entry for entry in assembled(tree, sources, SemanticRecipe(**recipe), budget) if isinstance(entry, Document)
    ]
