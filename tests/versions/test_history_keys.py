"""A key of `[history]` that a stage reads is in its manifest or its input's, so that a changed value outdates it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path

import pytest

import megacpp_assets
from megacpp_assets.commits import stage as commits
from megacpp_assets.contract.lock.corpus_lock import RepoPin
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.recipe.documents import HoldoutRecipe, SemanticRecipe
from megacpp_assets.contract.recipe.history import HistoryRecipe
from megacpp_assets.resolved import stage as resolved
from megacpp_assets.resolved.opened import Compiler
from megacpp_assets.semantic.commands.toolchain import find_toolchain
from megacpp_assets.semantic.parsing.parse import options_of
from megacpp_assets.storage.publish import Target
from megacpp_assets.versions import stage as versions
from megacpp_assets.versions.source import HistorySpec
from megacpp_assets.windows import stage as windows
from megacpp_assets.windows.making import WindowsSpec

PACKAGE = Path(megacpp_assets.__file__).parent
HISTORIES = tuple(f"megacpp_assets.{name}." for name in ("commits", "versions", "windows", "resolved"))
KEYS = {entry.name for entry in fields(HistoryRecipe)}
MEMBERS = {name: next(key for key in KEYS if name.startswith(key)) for name in (*KEYS, *vars(HistoryRecipe))
           if any(name.startswith(key) for key in KEYS)}  # fmt: skip
"""Key, property or method of the recipe -> the key that it reads."""


@cache
def tree_of(module: str) -> ast.Module:
    """The parsed source of a module."""
    return ast.parse((PACKAGE.parent / f"{module.replace('.', '/')}.py").read_text())


def imported(module: str) -> Iterator[str]:
    """The modules of the four packages that `module` imports, at its top or in a function."""
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(HISTORIES):
            if (PACKAGE.parent / f"{str(node.module).replace('.', '/')}.py").is_file():
                yield str(node.module)


def keys_read(stage: str) -> set[str]:
    """The keys of `[history]` that `stage` reads, itself or through what it imports: each `….recipe.KEY`."""
    reached, waiting = {stage}, [stage]
    while waiting:
        new = set(imported(waiting.pop())) - reached
        reached |= new
        waiting += new
    attributes = (node for module in reached for node in ast.walk(tree_of(module)) if isinstance(node, ast.Attribute))
    return {
        MEMBERS[node.attr] for node in attributes if node.attr in MEMBERS and ast.unparse(node.value).endswith("recipe")
    }


def targets(root: Path) -> dict[str, Target]:
    """The target of each stage for the history of one repository."""
    pin = RepoPin("lib", "v1", "refs/tags/v1", "0" * 40, "/srv/lib", "MIT", "")
    history = HistorySpec(root, "d", RepoRef("lib", "v1"), "MIT", HistoryRecipe(), HoldoutRecipe())
    asked = WindowsSpec(history, {"v4_4096": 4096})
    compiler = Compiler(find_toolchain(), options_of(SemanticRecipe()))
    return {
        commits.__name__: commits.target(commits.CommitsSpec(root, "d", pin, HistoryRecipe())),
        versions.__name__: versions.target(versions.CommitDocumentsSpec(history, ("v3_simple",))),
        windows.__name__: windows.target(asked),
        resolved.__name__: resolved.target(resolved.ResolvedWindowsSpec(asked, compiler)),
    }


@pytest.mark.parametrize("stage", [commits, versions, windows, resolved], ids=lambda stage: stage.__name__)
def test_a_manifest_has_the_keys_of_the_history_that_its_stage_reads_and_no_other(
    stage: object, tmp_path: Path
) -> None:
    made, name = targets(tmp_path), getattr(stage, "__name__", "")
    own, listed = set(made[name].config["history"]), set(made[commits.__name__].config["history"])
    # The list of commits is an input of the other stages, so a changed key of its manifest reaches theirs.
    assert own <= keys_read(name) <= own | listed


def test_every_key_of_the_history_is_read() -> None:
    assert set().union(*(keys_read(stage.__name__) for stage in (commits, versions, windows, resolved))) == KEYS
