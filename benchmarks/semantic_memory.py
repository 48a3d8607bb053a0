"""Peak memory of stage `semantic_jsonl` on generated trees: megacpp bench semantic_memory --shape llvm --units 100 400.

A tree is shaped like LLVM (classes, headers, C++ units) or like Linux (C files with tables of functions). The same
shape, number of units and seed give the same bytes. Each size runs in processes of its own and prints one JSON line.
`bytes_per_added_character` compares the parent's peak with that of the first size, so constant memory does not count.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from megacpp_assets.contract.names import DOCUMENT_TOKENS
from megacpp_assets.contract.recipe.documents import SemanticRecipe
from megacpp_assets.curation.stage import CuratedFilesSpec
from megacpp_assets.curation.stage import run as curate
from megacpp_assets.repos.catalogue import CatalogueEntry
from megacpp_assets.repos.pins import pin
from megacpp_assets.repos.stage import PinnedReposSpec
from megacpp_assets.repos.stage import run as fetch
from megacpp_assets.semantic import stage
from megacpp_assets.semantic.commands.toolchain import find_toolchain

_FOLDER_UNITS = 50
_FUNCTIONS = 12
_SUFFIXES = (".h", ".c", ".cpp")
_GIT = ("git", "-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "commit.gpgsign=false")


def _body(draw: random.Random, call: str) -> str:
    steps = "".join(f"  Value = Value * {draw.randrange(2, 99)} + {draw.randrange(9999)};\n" for _ in range(6))
    return f"{{\n{steps}  if (Value > {draw.randrange(9999)})\n    Value += {call};\n  return Value;\n}}\n"


def _llvm(units: int, draw: random.Random) -> Iterator[tuple[str, str]]:
    for unit in range(units):
        name, part = f"Pass{unit}", f"Part{unit // _FOLDER_UNITS}"
        other = draw.randrange(unit) if unit else 0
        methods = [f"transform{step}" for step in range(_FUNCTIONS)]
        declared = "".join(f"  /// Transforms a value in step {step}.\n  int {step}(int Value);\n" for step in methods)
        yield (
            f"include/{part}/{name}.h",
            f"#pragma once\nnamespace gen {{\n/// A pass of {part}.\nclass {name} {{\npublic:\n{declared}}};\n}}\n",
        )
        called = f"Pass{other}().transform{draw.randrange(_FUNCTIONS)}(Value)"
        included = f'#include "../../include/Part{other // _FOLDER_UNITS}/Pass{other}.h"\n'
        defined = "".join(f"int {name}::{step}(int Value) {_body(draw, called)}\n" for step in methods)
        own = f'#include "../../include/{part}/{name}.h"\n'
        yield f"lib/{part}/{name}.cpp", f"{own}{included}namespace gen {{\n{defined}}}\n"


def _linux(units: int, draw: random.Random) -> Iterator[tuple[str, str]]:
    yield "include/driver.h", "#pragma once\nstruct driver {\n  const char *name;\n  int (*probe)(int Value);\n};\n"
    for unit in range(units):
        steps = [f"dev{unit}_step{step}" for step in range(_FUNCTIONS)]
        calls = ["Value", *(f"{step}(Value)" for step in steps)]
        defined = (
            f"static int {step}(int Value)\n{_body(draw, call)}\n" for step, call in zip(steps, calls[:-1], strict=True)
        )
        table = f'struct driver dev{unit}_driver = {{\n  .name = "dev{unit}",\n  .probe = {steps[-1]},\n}};\n'
        path = f"drivers/part{unit // _FOLDER_UNITS}/dev{unit}.c"
        yield path, '#include "../../include/driver.h"\n' + "".join(defined) + table


_SHAPES = {"llvm": _llvm, "linux": _linux}


def _write_tree(folder: Path, shape: str, units: int, seed: int) -> int:
    """Write a git repository with the tag v1, and return the characters of its sources."""
    characters = 0
    for path, text in (*_SHAPES[shape](units, random.Random(seed)), ("LICENSE", "Apache License, Version 2.0\n")):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
        characters += len(text) if path.endswith(_SUFFIXES) else 0
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "tree"], ["tag", "v1"]):
        subprocess.run([*_GIT, *arguments], cwd=folder, check=True)
    return characters


def _cpu_s(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def _measure(shape: str, units: int, seed: int) -> None:
    with tempfile.TemporaryDirectory(prefix="megacpp-bench-") as name:
        upstream, root = Path(name, "upstream"), Path(name, "data")
        upstream.mkdir()
        root.mkdir()
        characters = _write_tree(upstream, shape, units, seed)
        chosen = pin(CatalogueEntry(shape, str(upstream), "v1"), "v1", root)
        fetch(PinnedReposSpec(root, chosen))
        curate(CuratedFilesSpec(root, "bench", chosen.partition, chosen.license))
        spec = stage.SemanticJsonlSpec(
            root, "bench", chosen.partition, chosen.commit, chosen.license, SemanticRecipe(), find_toolchain(),
            (DOCUMENT_TOKENS,),
        )  # fmt: skip
        before, parent_s = _cpu_s(resource.RUSAGE_CHILDREN), time.process_time()
        stage.run(spec)
        figures = {
            "bench": "semantic_memory",
            "shape": shape,
            "units": units,
            "characters": characters,
            "parent_peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10,
            "parent_cpu_s": round(time.process_time() - parent_s, 2),
            "children_cpu_s": round(_cpu_s(resource.RUSAGE_CHILDREN) - before, 2),
        }
    print(json.dumps(figures))


def main() -> None:
    """Measure each size in a process of its own and print its line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--shape", choices=sorted(_SHAPES), default="llvm")
    parser.add_argument("--units", type=int, nargs="+", default=[100, 400])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--here", action="store_true", help="Measure the one size in this process.")
    chosen = parser.parse_args()
    if chosen.here:
        _measure(chosen.shape, chosen.units[0], chosen.seed)
        return
    first: dict[str, int] = {}
    for units in chosen.units:
        options = ["--here", "--shape", chosen.shape, "--seed", str(chosen.seed), "--units", str(units)]
        ran = subprocess.run([sys.executable, __file__, *options], check=True, stdout=subprocess.PIPE, text=True)
        line = json.loads(ran.stdout.splitlines()[-1])
        first = first or line
        added = line["characters"] - first["characters"]
        if added > 0:
            line["bytes_per_added_character"] = round(
                (line["parent_peak_bytes"] - first["parent_peak_bytes"]) / added, 1
            )
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
