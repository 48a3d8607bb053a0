"""The plan of the parse at each commit. A plan is made again only if something changed that plans read."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from megacpp_assets.compute.executors.executor import BatchExecutor
from megacpp_assets.resolved.tree import ScratchTree
from megacpp_assets.semantic.commands.modules import is_of_module
from megacpp_assets.semantic.commands.plan import read_source
from megacpp_assets.semantic.parsing.planning import Plan, Question, plan_parse
from megacpp_assets.semantic.parsing.precompiled import PCH_FOLDER
from megacpp_assets.semantic.tree.build_files import describes_build
from megacpp_assets.semantic.tree.folder import WORK_FOLDER
from megacpp_assets.semantic.tree.includes import directives
from megacpp_assets.windows.trees import TreeChange

_DIGEST: Final = hashlib.sha256


@dataclass(slots=True)
class Plans:
    """Plans the tree of `question`, whose files are set for each plan. `made` counts plans.

    A plan reads the paths of files, build descriptions, the directives of sources, and whether they use modules.
    """

    question: Question
    executor: BatchExecutor
    made: int = 0
    _digests: dict[str, bytes] = field(default_factory=dict)
    _plan: Plan = field(default_factory=lambda: Plan([], [], ""))
    _planned: bytes = b""

    def follow(self, changes: Iterable[TreeChange]) -> None:
        """Forget the digests of the changed files."""
        for path, _ in changes:
            self._digests.pop(path, None)

    def plan(self, tree: ScratchTree) -> Plan:
        """Return the plan of `tree`. Raises `OverBudget` if a plan costs too much."""
        state = self._state(tree)
        if state != self._planned:
            _clear(tree.folder)
            question = replace(self.question, files=tuple(tree.sources()))
            self._plan = plan_parse(question, self.executor)
            self._planned = state
            self.made += 1
        return self._plan

    def _state(self, tree: ScratchTree) -> bytes:
        digest = _DIGEST()
        for path in sorted(tree.files):
            if path not in self._digests:
                self._digests[path] = _read_by_plans(tree, path)
            digest.update(path.encode("utf-8", "surrogateescape") + b"\0" + self._digests[path])
        return digest.digest()


def _clear(tree: Path) -> None:
    """Remove what a plan writes, but not the compiled headers: nothing of a plan is in those."""
    for path in (tree / WORK_FOLDER).glob("*"):
        if path != tree / PCH_FOLDER:
            shutil.rmtree(path, ignore_errors=True)


def _read_by_plans(tree: ScratchTree, path: str) -> bytes:
    if describes_build(path):
        return tree.files[path][0].encode()
    text = read_source(f"{tree.folder}/{path}")
    lines = b"\n".join(b" ".join(line) for line in directives(text))
    return _DIGEST(lines + b"\0" + str(is_of_module(text)).encode()).digest()
