"""The files of a repository analysed in workers: what lexing, outlining and painting a text costs, its author decides.

In: files with their texts and parses, in path order. Out: the facts and characters of each, or why it has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.compute.limits import allow, allow_all, limit_memory, used_cpu_s
from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.semantic.graph.analysis import FileFacts, analyse
from megacpp_assets.semantic.graph.link import no_links
from megacpp_assets.semantic.graph.symbol_rows import entities_of
from megacpp_assets.semantic.labels.paint import CHAR_DTYPE
from megacpp_assets.semantic.outline.nodes import EMPTY
from megacpp_assets.semantic.parsing.lots import Crew, Sentence, cut, kept_journal, ran_out, run_lots
from megacpp_assets.semantic.parsing.parsed import ParsedFile
from megacpp_assets.semantic.tree.text import SourceText

_LOT_FILES = 32
_MEMORY_BYTES = 5 << 29
"""Address space of a worker that analyses: four times what a megabyte of anybody's code takes, libraries included."""
_NO_SOURCE = SourceText("", b"", "")
_NOT_PARSED = ParsedFile("", "failed", "")


class Item(NamedTuple):
    """A file to analyse."""

    file: SourceFile
    source: SourceText
    parsed: ParsedFile

    @property
    def path(self) -> str:
        """Its path in the tree."""
        return self.file.path


@dataclass(frozen=True, slots=True)
class Lot:
    """Files for one worker, and the CPU and wall seconds that each may take; `again`: not the first try."""

    units: tuple[Item, ...]
    cpu_s: int
    wall_s: float
    again: bool = False
    journal: str = ""


class Analysed(NamedTuple):
    """The facts of a file, its painted characters, what they cost, and why there are none, or ""."""

    facts: FileFacts
    chars: NDArray[np.void]
    cpu_ms: int
    reason: str = ""


def analyse_files(items: Sequence[Item], crew: Crew, *, cpu_s: int, wall_s: float) -> Iterator[Analysed]:
    """Each of `items` that the allowance does not refuse, in any order.

    A file may take `cpu_s` CPU seconds, and again so many alone if it ended its worker in another way.
    """
    lots = cut(Lot(tuple(items), cpu_s, wall_s), _LOT_FILES)
    for lot, results in run_lots(analyse_lot, lots, crew, _judge):
        for item, (facts, chars, cpu_ms, reason) in zip(lot.units, results, strict=True):
            parsed = replace(item.parsed, status="failed", reason=reason) if reason else item.parsed
            yield Analysed(replace(facts, file=item.file, source=item.source, parsed=parsed), chars, cpu_ms, reason)


def analyse_lot(lot: Lot) -> tuple[Analysed, ...]:
    """In a worker: the files of `lot`. Their texts and parses do not come back: the parent has them."""
    limited = bool(lot.journal)
    if limited:
        limit_memory(_MEMORY_BYTES)
    results = []
    with kept_journal(lot.journal) as note:
        for item in lot.units:
            began = used_cpu_s()
            if limited:
                allow(lot.cpu_s, lot.wall_s)
            facts, chars = analyse(*item)
            cpu_ms = round(1000 * (used_cpu_s() - began))
            results.append(Analysed(replace(facts, source=_NO_SOURCE, parsed=_NOT_PARSED), chars, cpu_ms))
            note()
    if limited:
        allow_all()
    return tuple(results)


def unread(item: Item, reason: str) -> Analysed:
    """A file of which nothing is known but that it is there, for this `reason`."""
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


def _judge(lot: Lot, failure: str) -> Sentence:
    if not lot.again and not ran_out(failure):
        return Sentence(replace(lot, again=True))
    reason = f"{failure.partition(':')[0]}: the file could not be analysed"
    if ran_out(failure):
        reason = f"over budget: not analysed in {lot.cpu_s} CPU seconds"
    (item,) = lot.units
    return Sentence(given_up=(lot, unread(item, reason)._replace(cpu_ms=1000 * lot.cpu_s * (1 + lot.again))))
