"""Small source trees on disk, the installed toolchain, and the simplest executor, for the tests of the parsing half."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from megacpp_assets.compute.executors.executor import BatchExecutor, Outcome
from megacpp_assets.compute.executors.folders import SharedFolder
from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.semantic.commands.plan import Standards, Unit
from megacpp_assets.semantic.commands.toolchain import Toolchain, find_toolchain
from megacpp_assets.semantic.parsing.parse import DEFAULT_OPTIONS, ParseOptions, parse_tree
from megacpp_assets.semantic.parsing.parsed import ParsedFile
from megacpp_assets.semantic.parsing.planning import Question, make_plan
from megacpp_assets.semantic.parsing.worker import Limits

SOURCES = {".c": "c", ".cc": "c++", ".cpp": "c++", ".cu": "c++"}
HEADERS = dict.fromkeys((".h", ".hpp", ".cuh", ".inc", ".def"), "c++")
IN_PROCESS = replace(DEFAULT_OPTIONS, limits=Limits(applied=False))


@cache
def toolchain() -> Toolchain:
    return find_toolchain()


class InProcess:
    """Runs batches here and now, in the order given."""

    def run(
        self, function: Callable[[Any], Any], batches: Iterable[Any], *, timeout_s: float
    ) -> Iterator[Outcome[Any]]:
        return (Outcome(index, here(function, batch)) for index, batch in enumerate(batches))

    def provide(self, *folders: SharedFolder) -> None:
        for folder in folders:
            folder.prepare(folder.path)

    @property
    def here(self) -> BatchExecutor:
        return self

    def close(self) -> None: ...


def here(function: Callable[[Any], Any], batch: Any) -> Any:
    """What `function` makes of `batch` in this process, which gets back the limits that a worker sets on itself."""
    limits = {number: resource.getrlimit(number) for number in (resource.RLIMIT_AS, resource.RLIMIT_CORE)}
    try:
        return function(batch)
    finally:
        for number, held in limits.items():
            resource.setrlimit(number, held)


def write_tree(folder: Path, files: Mapping[str, str | bytes]) -> list[SourceFile]:
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text if isinstance(text, bytes) else text.encode())
    return listing(files)


def listing(files: Mapping[str, str | bytes]) -> list[SourceFile]:
    result = []
    for path, text in sorted(files.items()):
        suffix = PurePosixPath(path).suffix
        language = {**SOURCES, **HEADERS}.get(suffix, "")
        skipped = "" if language else "not C or C++"
        result.append(SourceFile(path, "0" * 40, len(text), language, suffix in HEADERS, "MIT", skipped))
    return result


def planned(folder: Path, files: Sequence[SourceFile], standards: Standards) -> list[Unit]:
    """The units of a tree, without its database's headers of this machine."""
    return make_plan(Question(str(folder), tuple(files), standards, (), IN_PROCESS.limits)).units


def parse_in_process(
    folder: Path, files: Mapping[str, str | bytes], options: ParseOptions = IN_PROCESS
) -> dict[str, ParsedFile]:
    found = parse_tree(folder, write_tree(folder, files), toolchain(), InProcess(), options=options)
    return {file.path: file for file in found}
