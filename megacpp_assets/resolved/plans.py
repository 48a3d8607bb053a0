"""The plan of the parse at each commit. A plan is made again only if something changed that plans read."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from megacpp_assets.compute.executors.executor import BatchExecutor
from megacpp_assets.resolved.tree import ScratchTree
from megacpp_assets.semantic.commands.modules import is_of_module
from megacpp_assets.semantic.commands.plan import Unit, read_source
from megacpp_assets.semantic.parsing.planning import Question, plan_parse
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
    _units: list[Unit] = field(default_factory=list)
    _planned: bytes = b""

    def follow(self, changes: Iterable[TreeChange]) -> None:
        """Forget the digests of the changed files."""
        for path, _ in changes:
            self._digests.pop(path, None)

    def units(self, tree: ScratchTree) -> list[Unit]:
        """Return the units of `tree`. Raises `OverBudget` if a plan costs too much."""
        state = self._state(tree)
        if state != self._planned:
            shutil.rmtree(tree.folder / WORK_FOLDER, ignore_errors=True)
            question = replace(self.question, files=tuple(tree.sources()))
            self._units = plan_parse(question, self.executor).units
            self._planned = state
            self.made += 1
        return self._units

    def _state(self, tree: ScratchTree) -> bytes:
        digest = _DIGEST()
        for path in sorted(tree.files):
            if path not in self._digests:
                self._digests[path] = _read_by_plans(tree, path)
            digest.update(path.encode("utf-8", "surrogateescape") + b"\0" + self._digests[path])
        return digest.digest()


def _read_by_plans(tree: ScratchTree, path: str) -> bytes:
    if describes_build(path):
        return tree.files[path][0].encode()
    text = read_source(f"{tree.folder}/{path}")
    lines = b"\n".join(b" ".join(line) for line in directives(text))
    return _DIGEST(lines + b"\0" + str(is_of_module(text)).encode()).digest()
