"""Analyses the files of a repository in workers with limits, because an untrusted text decides the cost of its
analysis.

In: files with their texts and parses, in path order. Out: the facts and characters of each file, or the reason why they
are missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.compute.limits import allow, allow_all, limit_memory, used_cpu_s
from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.semantic.graph.analysis.analysis import FileFacts, analyse
from megacpp_assets.semantic.graph.link import no_links
from megacpp_assets.semantic.graph.symbol_rows import entities_of
from megacpp_assets.semantic.labels.paint import CHAR_DTYPE
from megacpp_assets.semantic.outline.nodes import EMPTY
from megacpp_assets.semantic.parsing.lots import Crew, FailureAction, cut, kept_journal, ran_out, run_lots
from megacpp_assets.semantic.parsing.parsed import ParsedFile
from megacpp_assets.semantic.parsing.stored.parsed_store import ParsedStore
from megacpp_assets.semantic.tree.text import SourceText

_LOT_FILES = 32
_MEMORY_BYTES = 5 << 29
"""The address space of a worker: four times the need of a file of one megabyte, libraries included."""
_NO_SOURCE = SourceText("", b"", "")
_NOT_PARSED = ParsedFile("", "failed", "")


class AnyItem(Protocol):
    """A file to analyse: its text, its parse and its path in the tree."""

    @property
    def file(self) -> SourceFile: ...
    @property
    def source(self) -> SourceText: ...
    @property
    def parsed(self) -> ParsedFile: ...
    @property
    def path(self) -> str: ...


class Item(NamedTuple):
    """A file to analyse, with its parse in memory."""

    file: SourceFile
    source: SourceText
    parsed: ParsedFile

    @property
    def path(self) -> str:
        """Its path in the tree."""
        return self.file.path


class StoredItem:
    """A file to analyse whose text and parse are read when they are needed. It is pickled as an `Item`."""

    def __init__(self, file: SourceFile, texts: Mapping[str, SourceText], parses: ParsedStore) -> None:
        self.file = file
        self._texts = texts
        self._parses = parses

    @property
    def source(self) -> SourceText:
        """Its text."""
        return self._texts[self.file.path]

    @property
    def parsed(self) -> ParsedFile:
        """Its parse."""
        return self._parses[self.file.path]

    @property
    def reason(self) -> str:
        """The reason of a failed parse, or ""."""
        return self._parses.reasons.get(self.file.path, "")

    @property
    def path(self) -> str:
        """Its path in the tree."""
        return self.file.path

    def __reduce__(self) -> tuple[type[Item], tuple[SourceFile, SourceText, ParsedFile]]:
        return Item, (self.file, self.source, self.parsed)


@dataclass(frozen=True, slots=True)
class Lot:
    """Files for one worker. Each may take `cpu_s` CPU and `wall_s` wall seconds. `again`: this is not the first try."""

    units: tuple[AnyItem, ...]
    cpu_s: int
    wall_s: float
    again: bool = False
    journal: str = ""


class Analysed(NamedTuple):
    """The facts of a file, its labelled characters, their cost, and the reason of a failure or ""."""

    facts: FileFacts
    chars: NDArray[np.void]
    cpu_ms: int
    reason: str = ""


def analyse_files(items: Sequence[AnyItem], crew: Crew, *, cpu_s: int, wall_s: float) -> Iterator[Analysed]:
    """Yield the analysis of each of `items` that the allowance accepts, in any order.

    A file may take `cpu_s` CPU seconds. If it ended its worker for another reason than CPU time, it is tried once more,
    in a lot of its own, with as many seconds.
    """
    lots = cut(Lot(tuple(items), cpu_s, wall_s), _LOT_FILES)
    for lot, results in run_lots(analyse_lot, lots, crew, _after_failure):
        for item, (facts, chars, cpu_ms, reason) in zip(lot.units, results, strict=True):
            parsed = replace(item.parsed, status="failed", reason=reason) if reason else item.parsed
            yield Analysed(replace(facts, file=item.file, source=item.source, parsed=parsed), chars, cpu_ms, reason)


def analyse_lot(lot: Lot) -> tuple[Analysed, ...]:
    """In a worker: analyse the files of `lot`. Texts and parses are not returned, because the parent has them."""
    limited = bool(lot.journal)
    if limited:
        limit_memory(_MEMORY_BYTES)
    results = []
    with kept_journal(lot.journal) as note:
        for item in lot.units:
            began = used_cpu_s()
            if limited:
                allow(lot.cpu_s, lot.wall_s)
            facts, chars = analyse(item.file, item.source, item.parsed)
            cpu_ms = round(1000 * (used_cpu_s() - began))
            results.append(Analysed(replace(facts, source=_NO_SOURCE, parsed=_NOT_PARSED), chars, cpu_ms))
            note()
    if limited:
        allow_all()
    return tuple(results)


def unread(item: AnyItem, reason: str) -> Analysed:
    """Return an analysis without chunks for a file that could not be analysed, with the `reason`."""
    facts = FileFacts(
        file=item.file,
        source=item.source,
        parsed=ParsedFile(item.path, "failed", item.parsed.mode, reason, standard=item.parsed.standard),
        chunks=(),
        spans=(),
        signatures=(),
        roots=(),
        root_spans=(),
        links=no_links(),
        includes=(),
        spaces=(),
        entities=entities_of(EMPTY, _NOT_PARSED),
        unlabelled=len(item.source.text),
    )
    return Analysed(facts, np.zeros(len(item.source.text), dtype=CHAR_DTYPE), 0, reason)


def _after_failure(lot: Lot, failure: str) -> FailureAction:
    if not lot.again and not ran_out(failure):
        return FailureAction(replace(lot, again=True))
    reason = f"{failure.partition(':')[0]}: the file could not be analysed"
    if ran_out(failure):
        reason = f"over budget: not analysed in {lot.cpu_s} CPU seconds"
    (item,) = lot.units
    return FailureAction(cancelled=(lot, unread(item, reason)._replace(cpu_ms=1000 * lot.cpu_s * (1 + lot.again))))
