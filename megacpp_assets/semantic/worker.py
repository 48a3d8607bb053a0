"""What a worker process does: parse a batch of files of one tree, under limits, and check which files were read.

The working directory is the tree and every path is relative to it, so that no result depends on where the tree lies.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic import _visitor
from megacpp_assets.semantic.parsed import Cursors, ParsedFile, Symbol
from megacpp_assets.semantic.plan import Unit
from megacpp_assets.semantic.toolchain import Toolchain, working_directory

DETAILED_RECORD = 1
INCOMPLETE = 2
"""The unit may go on elsewhere: bodies of implicit instantiations are not made at its end. That halves the time, and
changes nothing that a file itself spells; an error inside an instantiation is not counted."""
KEEP_GOING = 0x200
PLAIN_FLAGS = DETAILED_RECORD | INCOMPLETE | KEEP_GOING


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one worker: CPU seconds per file, address space in bytes, cursors per file. `applied` is off in-process."""

    cpu_s: int = 60
    memory_bytes: int = 4 << 30
    cursors: int = 2_000_000
    applied: bool = True


@dataclass(frozen=True, slots=True)
class Batch:
    """Units of one tree for one worker, in path order."""

    tree: str
    units: tuple[Unit, ...]
    toolchain: Toolchain
    limits: Limits


@dataclass(frozen=True, slots=True)
class BatchResult:
    """Outcomes in the order of the batch's units. `checks` pairs each USR hash met with a second hash of its USR."""

    files: tuple[ParsedFile, ...]
    checks: NDArray[np.uint64]


def parse_batch(batch: Batch) -> BatchResult:
    """Parse every unit of `batch`. Raises nothing for what a file holds; a crash of libclang ends the process."""
    with working_directory(Path(batch.tree)):
        if batch.limits.applied:
            _limit(resource.RLIMIT_AS, batch.limits.memory_bytes)
            _limit(resource.RLIMIT_CORE, 0)
        readable = _Readable(os.getcwd(), batch.toolchain)
        outcomes = [_parse(unit, batch, readable) for unit in batch.units]
        if batch.limits.applied:
            _limit(resource.RLIMIT_CPU, resource.getrlimit(resource.RLIMIT_CPU)[1])
    checks = [checks for _, checks in outcomes if checks.size]
    return BatchResult(
        tuple(file for file, _ in outcomes),
        np.unique(np.concatenate(checks), axis=0) if checks else np.empty((0, 2), np.uint64),
    )


def _limit(what: int, value: int) -> None:
    _, hard = resource.getrlimit(what)
    soft = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(what, (soft, hard))


class _Readable:
    """Remembers which files a parse may have read: those of the tree and the toolchain's own."""

    def __init__(self, tree: str, toolchain: Toolchain) -> None:
        self._tree = os.path.realpath(tree)
        self._toolchain = toolchain
        self._known: dict[bytes, bool] = {}

    def count_outside(self, paths: Sequence[bytes]) -> int:
        return sum(not self._allows(path) for path in paths)

    def _allows(self, path: bytes) -> bool:
        if path not in self._known:
            real = os.path.realpath(os.fsdecode(path))
            self._known[path] = real.startswith(self._tree + os.sep) or self._toolchain.owns(real)
        return self._known[path]


def _parse(unit: Unit, batch: Batch, readable: _Readable) -> tuple[ParsedFile, NDArray[np.uint64]]:
    nothing = np.empty((0, 2), np.uint64)
    if batch.limits.applied:
        used = resource.getrusage(resource.RUSAGE_SELF)
        _limit(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + 1 + batch.limits.cpu_s)
    arguments = [*unit.arguments, "-w", "-ferror-limit=0", "-resource-dir", batch.toolchain.resource_dir]
    try:
        found = _visitor.parse(batch.toolchain.library, unit.path, arguments, PLAIN_FLAGS, batch.limits.cursors)
    except RuntimeError as error:
        return ParsedFile(unit.path, "failed", unit.mode, str(error)), nothing
    outside = readable.count_outside(found["includes"])
    if outside:
        return ParsedFile(unit.path, "failed", unit.mode, f"reads outside the tree: {outside} files"), nothing
    checks = np.array([(row[0], row[4]) for row in found["symbols"]], np.uint64).reshape(-1, 2)
    return _parsed_file(unit, found), checks


def _parsed_file(unit: Unit, found: dict[str, Any]) -> ParsedFile:
    symbols = sorted(
        Symbol(usr, name.decode("utf-8", "replace"), kind, spelling.decode("utf-8", "replace"))
        for usr, name, kind, spelling, _ in found["symbols"]
    )
    inside = {os.fsdecode(path) for path in found["includes"] if not path.startswith(b"/")}
    return ParsedFile(
        path=unit.path,
        status="errors" if found["errors"] else "clean",
        mode=unit.mode,
        errors=found["errors"],
        cursors=Cursors(**found["cursors"]),
        symbols=tuple(symbols),
        includes=tuple(sorted(inside - {unit.path})),
        skipped_ranges=tuple(found["skipped_ranges"]),
    )
