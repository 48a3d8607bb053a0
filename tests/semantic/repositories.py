"""A repository of real git objects for the whole of `semantic_jsonl`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from megacpp_assets.contract.names import DOCUMENT_TOKENS
from megacpp_assets.curation.stage import CuratedFilesSpec
from megacpp_assets.curation.stage import run as curate
from megacpp_assets.repos.catalogue import CatalogueEntry
from megacpp_assets.repos.pins import pin
from megacpp_assets.repos.stage import PinnedReposSpec
from megacpp_assets.repos.stage import run as fetch
from megacpp_assets.semantic.commands.toolchain import Toolchain
from megacpp_assets.semantic.stage import SemanticJsonlSpec
from tests.repos.git_tree import make_repository
from tests.semantic.sources import EACH_ITS_OWN

FILES = {
    "include/shape.h": b"""\
#pragma once
namespace shape {
// An area, \xc3\xa9.
struct Box { int width; int height; };
int area(const Box &box);
}
""",
    "src/shape.cc": b"""\
#include "shape.h"
namespace shape {
static int times(int a, int b) { return a * b; }
int area(const Box &box) { return times(box.width, box.height); }
}
""",
    "src/main.cc": b"""\
#include "shape.h"
#define SIDE 3
int main() { return shape::area(shape::Box{SIDE, SIDE}); }
""",
    "src/binary.cc": b"int \0;",
    "LICENSE": b"Apache License, Version 2.0\n",
}


def semantic_spec(
    base: Path,
    root: Path,
    toolchain: Toolchain,
    budgets: tuple[int, ...] = (DOCUMENT_TOKENS,),
    files: Mapping[str, bytes] = FILES,
) -> SemanticJsonlSpec:
    """`semantic_jsonl` of a repository of `files`, its upstream under `base`, its `pinned_repos` done in `root`."""
    upstream = base / "upstream"
    if not upstream.exists():
        make_repository(upstream, dict(files))
    root.mkdir(parents=True, exist_ok=True)
    chosen = pin(CatalogueEntry("shape", str(upstream), "v1"), "v1", root)
    fetch(PinnedReposSpec(root, chosen))
    curate(CuratedFilesSpec(root, "dataset", chosen.partition, chosen.license))
    return SemanticJsonlSpec(
        root, "dataset", chosen.partition, chosen.commit, chosen.license, EACH_ITS_OWN, toolchain, budgets
    )
