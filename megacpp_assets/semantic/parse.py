"""A tree of source bytes in, one `ParsedFile` per C/C++ file out, in path order. A file may fail; the call does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from megacpp_assets.compute.executor import BatchExecutor
from megacpp_assets.contract.progress import Progress, silent
from megacpp_assets.contract.sources import SourceFile
from megacpp_assets.semantic.parsed import ParsedFile
from megacpp_assets.semantic.toolchain import Toolchain


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """What decides the outcome beside tree and toolchain; belongs in the stage's configuration."""

    c_standard: str = "gnu11"
    cpp_standard: str = "c++17"


DEFAULT_OPTIONS = ParseOptions()


def parse_tree(
    tree: Path,
    files: Sequence[SourceFile],
    toolchain: Toolchain,
    executor: BatchExecutor,
    progress: Progress = silent,
    *,
    options: ParseOptions = DEFAULT_OPTIONS,
) -> list[ParsedFile]:
    """Parse every file of `files` that is selected (`skipped == ""`, a language), sorted by path bytes.

    `tree` is a scratch folder of this run that holds the repository's files as regular files under their own paths;
    the call may add `tree/.megacpp` (stub headers, precompiled headers) and nothing else. The result depends on the
    bytes of the tree, the toolchain's identity and the options, never on where the tree lies or who parses.
    """
    raise NotImplementedError
