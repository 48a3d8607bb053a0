"""The work of a worker process: parse a batch of files of one tree under limits, and check which files were read.

The working directory is the tree and every path is relative to it, so no result depends on where the tree is.
"""

from __future__ import annotations

import fcntl
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.compute.executors.folders import located
from megacpp_assets.compute.gc_disabled import gc_disabled
from megacpp_assets.compute.limits import allow, allow_all, limit_memory, used_cpu_s
from megacpp_assets.semantic import _visitor
from megacpp_assets.semantic.commands.compiler_view import view_arguments
from megacpp_assets.semantic.commands.cuda import toolchain_arguments
from megacpp_assets.semantic.commands.plan import Unit, read_source
from megacpp_assets.semantic.commands.toolchain import Toolchain, working_directory
from megacpp_assets.semantic.parsing.inclusions import Inclusions, SharedInclusions, reached, shared_inclusions
from megacpp_assets.semantic.parsing.lots import kept_journal
from megacpp_assets.semantic.parsing.parsed import FLAG_OVERLOADED, Cursors, ParsedFile, Symbols
from megacpp_assets.semantic.parsing.precompiled import outside_part
from megacpp_assets.semantic.tree.includes import is_hollow
from megacpp_assets.semantic.tree.real_paths import RealPaths

DETAILED_RECORD = 1  # CXTranslationUnit_DetailedPreprocessingRecord: macro uses and skipped ranges need it
INCOMPLETE = 2
"""CXTranslationUnit_Incomplete. clang then does not instantiate the bodies of templates at the end of the unit.

This halves the time and changes nothing about the source text. But errors inside of such bodies are not counted.
"""
LONGEST_MESSAGE = 200
KEEP_GOING = 0x200  # CXTranslationUnit_KeepGoing: parse on after a fatal error, such as a missing header
PLAIN_FLAGS = DETAILED_RECORD | INCOMPLETE | KEEP_GOING
SKIP_BODIES = 64
HEADER_FLAGS = PLAIN_FLAGS | 16 | SKIP_BODIES
"""For a precompiled header: 16 is CXTranslationUnit_ForSerialization, and bodies of functions are skipped.

Bodies in the header are not needed, because only the main file of a unit is walked; the unit's own bodies are parsed.
Some code may still get another meaning, so each run audits the header (see `parse._SharedHeaderParser`).
"""
CALL_EXPRESSION = 103
FIRST_OF_PREPROCESSOR = 500

READS_OUTSIDE = "reads outside the tree"
NO_CHECKS = np.empty((0, 2), np.uint64)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one worker.

    `cpu_s` is for the first try of a file, with and without its header together; `again_cpu_s` is for each further try.
    Only a stalled machine exceeds `wall_s`. `cursors` is the limit per file. `applied` is false if parses run in this
    process.
    """

    cpu_s: int = 60
    again_cpu_s: int = 30
    wall_s: float = 600.0
    memory_bytes: int = 4 << 30
    cursors: int = 2_000_000
    applied: bool = True


@dataclass(frozen=True, slots=True)
class Header:
    """A precompiled header: its text, the tree-relative path of its compiled form, and the inclusions inside of it."""

    text: str
    output: str
    inclusions: Inclusions = ()


@dataclass(frozen=True, slots=True)
class Batch:
    """Units of one tree for one worker, in path order. All have the same arguments, and `header` if there is one.

    With `audit` each unit is also parsed without the header, and the calls of both are compared. `unlucky`: the machine
    may have caused a failure of the header or of an earlier try. `again`: this is not the first try
    of its unit. The worker writes to `journal` how many units are done.
    """

    tree: str
    units: tuple[Unit, ...]
    toolchain: Toolchain
    limits: Limits
    header: Header | None = None
    audit: bool = False
    unlucky: bool = False
    again: bool = False
    journal: str = ""

    @property
    def cpu_s(self) -> int:
        """CPU seconds that each unit may take."""
        return self.limits.again_cpu_s if self.again else self.limits.cpu_s

    @property
    def wall_s(self) -> float:
        """Wall seconds that each unit may take."""
        return self.limits.wall_s


@dataclass(frozen=True, slots=True)
class UnitResult:
    """The outcome of one unit. `checks` pairs each USR hash with a second hash of its USR.

    `reads` are the files that were read, without those of the batch's header: paths in the tree, or of the compiler on
    this machine. `calls` and `differing` are counts of the audit: call expressions without the header, and those that
    it changes. `shares`: `file` is the parse with the batch's header. `missing` is the number of errors about included
    files that do not exist. `cpu_ms` are the milliseconds of CPU time of all tries together.
    """

    file: ParsedFile
    checks: NDArray[np.uint64] = field(default_factory=lambda: NO_CHECKS)
    reads: tuple[str, ...] = ()
    calls: int = 0
    differing: int = 0
    shares: bool = False
    missing: int = 0
    cpu_ms: int = 0

    @property
    def faults(self) -> tuple[bool, int]:
        """An order of results: the lower value is the better result."""
        return self.file.status == "failed", self.file.errors


@gc_disabled
def parse_batch(batch: Batch) -> tuple[UnitResult, ...]:
    """Parse every unit of `batch` in order. No file raises an error, but a crash of libclang ends the process."""
    with confined(batch) as readable, kept_journal(batch.journal) as note:
        if batch.header:
            _have_header(batch, readable)
        job = _Job(batch, readable, shared_inclusions(batch.header.inclusions if batch.header else ()))
        results = []
        for unit in batch.units:
            results.append(_measured(unit, job))
            note()
        return tuple(results)


def _measured(unit: Unit, job: _Job) -> UnitResult:
    began = used_cpu_s()
    allow_unit(job.batch)
    result = _outcome(unit, job)
    return replace(result, cpu_ms=round(1000 * (used_cpu_s() - began)))


def build_header(batch: Batch) -> Header | None:
    """Compile `batch.header` with the arguments of its units; if that fails, only its part from outside of the tree.

    Return the header with the text that was compiled, or None if both fail.
    """
    header = batch.header
    if header is None:
        return None
    with confined(batch) as readable:
        texts = dict.fromkeys((header.text, outside_part(header.text)))
        built = (_compile(replace(header, text=text), batch, readable) for text in texts if text)
        return next((header for header in built if header is not None), None)


def _compile(header: Header, batch: Batch, readable: Readable) -> Header | None:
    """Return the header with its inclusions; None if it has errors or reads files outside of the tree."""
    source = Path(header.output).with_suffix(".h")
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(header.text, encoding="utf-8")
    _, language, *rest = batch.units[0].arguments
    # Without time stamps: the same headers may have other modification times on another machine.
    arguments = ["-x", f"{language}-header", *rest, *common_arguments(batch), "-Xclang", "-fno-pch-timestamp"]
    allow_unit(batch)
    try:
        found = _visitor.precompile(batch.toolchain.library, str(source), arguments, HEADER_FLAGS, header.output)
    except RuntimeError:
        return None
    if found["errors"] or readable.count_outside(found["includes"]):
        return None
    return replace(header, inclusions=tuple(found["inclusions"]))


def _have_header(batch: Batch, readable: Readable) -> None:
    """Compile the batch's header if another host did. It was compiled there, so it can be compiled here."""
    assert batch.header is not None
    output = batch.header.output
    if os.path.exists(output):
        return
    os.makedirs(os.path.dirname(output), exist_ok=True)
    with open(f"{output}.lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(output) and _compile(batch.header, batch, readable) is None:
            raise RuntimeError("a shared header that was compiled on another host does not compile on this one")


@contextmanager
def confined(batch: Batch) -> Iterator[Readable]:
    """Set the working directory to the tree, and apply the limits if `limits.applied`."""
    with working_directory(Path(located(batch.tree))):
        if batch.limits.applied:
            limit_memory(batch.limits.memory_bytes)
        yield Readable(os.getcwd(), batch.toolchain)
        if batch.limits.applied:
            allow_all()


def allow_unit(batch: Batch) -> None:
    """Give the next unit of `batch` its CPU and wall time."""
    if batch.limits.applied:
        allow(batch.cpu_s, batch.limits.wall_s)


def common_arguments(batch: Batch) -> list[str]:
    """Return the arguments that every unit of `batch` gets in addition to its own.

    Warnings are off because nothing reads them. The number of errors is not limited because it decides which of two
    parses is better. Without `-resource-dir` libclang does not find its own headers, such as `stddef.h`.
    """
    return ["-w", "-ferror-limit=0", "-resource-dir", batch.toolchain.resource_dir, *view_arguments(batch.tree)]


class Readable:
    """Decides which files a parse may read: those of the tree and of the toolchain. Its decisions are cached."""

    def __init__(self, tree: str, toolchain: Toolchain) -> None:
        self._paths = RealPaths(tree)
        self._toolchain = toolchain
        self._inside: set[bytes] = set()
        self._names = _Names()

    def names(self, paths: Iterable[bytes]) -> tuple[str, ...]:
        """Return `paths` as text. Equal ones are one object, which keeps the worker's answer small."""
        return tuple(map(self._names.__getitem__, paths))

    def count_outside(self, paths: Collection[bytes]) -> int:
        """Return how many of `paths` may not be read."""
        unknown = set(paths) - self._inside
        outside = {path for path in unknown if not self._allows(self._names[path])}
        self._inside |= unknown - outside
        return len(outside)

    def _allows(self, path: str) -> bool:
        """Return whether the real path may be read. The likelier folder is checked first."""
        if path.startswith("/"):
            return self._toolchain.owns(path) or self._paths.inside(path)
        return self._paths.inside(path) or self._toolchain.owns(os.path.join(self._paths.root, path))


class _Names(dict[bytes, str]):
    """Paths as text, each made when it is first needed."""

    def __missing__(self, path: bytes) -> str:
        name = self[path] = os.fsdecode(path)
        return name


@dataclass(frozen=True, slots=True)
class _Job:
    """A batch at work: what it may read, and the inclusions inside of its header."""

    batch: Batch
    readable: Readable
    shared: SharedInclusions


def _outcome(unit: Unit, job: _Job) -> UnitResult:
    """Return the parse with the batch's header, even if it has errors. An audit returns the better of both parses.

    A unit that the header includes would be empty with it, because its include guard is set; so would a unit with the
    same guard. Then the plain parse counts. It also counts if the parse with the header fails.
    """
    batch = job.batch
    if unit.through:
        return _outcome_within(unit, job)
    header = None if os.fsencode(unit.path) in job.shared.files else batch.header
    quick = _parse(unit, job, header)
    if header is None:
        return quick
    useless = quick.file.status == "failed" or (unit.header and _is_empty(quick.file) and not _is_hollow(unit))
    if not (batch.audit or useless):
        return quick
    plain = _parse(unit, job, None)
    reads = tuple(sorted({*quick.reads, *plain.reads}))
    if useless:
        return replace(plain, reads=reads)
    calls, differing = _judge(plain.file, quick.file)
    return replace(better(quick, plain), reads=reads, calls=calls, differing=differing)


def _outcome_within(unit: Unit, job: _Job) -> UnitResult:
    """Parse a fragment inside the file that includes it; by itself if a condition of that file removes it."""
    within = _parse(unit, job, None)
    return within if within.file.status != "failed" else _parse(replace(unit, through=""), job, None)


def better(quick: UnitResult, plain: UnitResult) -> UnitResult:
    """Return the better of the parses with and without header: the first if it is clean or has fewer errors."""
    return quick if quick.file.status == "clean" or quick.faults < plain.faults else plain


def _is_empty(file: ParsedFile) -> bool:
    return file.cursors is None or not (file.cursors.kind < FIRST_OF_PREPROCESSOR).any()


def _is_hollow(unit: Unit) -> bool:
    return is_hollow(read_source(unit.path))


def _judge(plain: ParsedFile, quick: ParsedFile) -> tuple[int, int]:
    """Return the number of calls in `plain`, and how many of them `quick` lacks or adds.

    Calls are equal if they have the same place and entity. If `plain` has errors, only the calls that it resolves are
    compared, because it may have lost others. If only `quick` has errors, nothing is compared, and it is not used.
    """
    if plain.status == "clean":
        if quick.status != "clean":
            return 0, 0
        ours, theirs = _calls(plain), _calls(quick)
        return ours.total(), max((ours - theirs).total(), (theirs - ours).total())
    ours, theirs = _calls(plain, resolved=True), _calls(quick, resolved=True)
    return ours.total(), (ours - theirs).total()


def _calls(file: ParsedFile, *, resolved: bool = False) -> Counter[tuple[int, int, int | str]]:
    """Return calls as (start, end, entity). If there are several candidates, the name is compared instead of the
    entity.
    """
    if file.cursors is None:
        return Counter()
    calls = file.cursors.kind == CALL_EXPRESSION
    if resolved:
        calls &= file.cursors.uses >= 0
    used = file.cursors.uses[calls]
    guessed = (file.cursors.flags[calls] & FLAG_OVERLOADED) != 0
    entities = np.where(guessed, file.symbols.names(used), file.symbols.usrs(used).astype(np.object_))
    return Counter(
        zip(*(c.tolist() for c in (file.cursors.start[calls], file.cursors.end[calls], entities)), strict=True)
    )


def _parse(unit: Unit, job: _Job, header: Header | None) -> UnitResult:
    batch, readable = job.batch, job.readable
    needed = [*toolchain_arguments(unit.arguments, batch.toolchain.resource_dir), *common_arguments(batch)]
    arguments = [*unit.arguments, *needed, *(("-include-pch", header.output) if header else ())]
    try:
        found = _visitor.parse(
            batch.toolchain.library, unit.parsed, arguments, flags_of(unit), batch.limits.cursors, unit.path
        )
    except RuntimeError as error:
        return UnitResult(ParsedFile(unit.path, "failed", unit.mode, str(error)))
    outside = readable.count_outside(found["includes"])
    if outside:
        return UnitResult(ParsedFile(unit.path, "failed", unit.mode, f"{READS_OUTSIDE}: {outside} files"))
    reads = readable.names(found["includes"])
    inside = {name for name in reads if not name.startswith("/")}
    if header:
        inside.update(readable.names(reached(os.fsencode(unit.path), found["inclusions"], job.shared)))
    return UnitResult(
        _parsed_file(unit, found, inside - {unit.path}),
        found["checks"].reshape(-1, 2),
        reads,
        shares=header is not None,
        missing=found["missing"],
    )


def flags_of(unit: Unit) -> int:
    """Return the flags of a parse. A file with only directives has no bodies of its own, so bodies are skipped."""
    return PLAIN_FLAGS | (SKIP_BODIES if _is_hollow(unit) else 0)


def one_line(message: bytes) -> str:
    """Return a compiler's message without characters that cannot be printed, and without its end if it is long."""
    printable = "".join(each for each in message.decode("utf-8", "replace") if each.isprintable())
    return printable[:LONGEST_MESSAGE]


def _parsed_file(unit: Unit, found: dict[str, Any], includes: set[str]) -> ParsedFile:
    return ParsedFile(
        path=unit.path,
        status="errors" if found["errors"] else "clean",
        mode=unit.mode,
        errors=found["errors"],
        first_error=one_line(found["first_error"]),
        cursors=Cursors(**found["cursors"]),
        symbols=Symbols(**found["symbols"]),
        includes=tuple(sorted(includes)),
        skipped_ranges=tuple(found["skipped_ranges"]),
    )
