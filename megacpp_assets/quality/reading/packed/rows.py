"""Reads packed rows for their checks, block by block, and compares them with the documents that they are made from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from megacpp_assets.contract.names import SPLITS
from megacpp_assets.contract.schemas import PACKED
from megacpp_assets.quality.reading.leaks import LeakDetector
from megacpp_assets.quality.reading.packed.blocks import SplitRows
from megacpp_assets.quality.reading.packed.side_files import duplicates_problem, overflow_problems
from megacpp_assets.quality.reading.packed.sources import (
    SplitSources,
    Upstream,
    first_source_document,
    left_out_and_leaks,
    sources_of,
)
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.parquet import batches, read_schema

_BLOCK_TOKENS = 1 << 18


def wrong_columns(artifact: Artifact) -> list[str]:
    """Return `file: column` for each column of packed rows that a file lacks or has with another type."""
    wrong = []
    for file in artifact.files(".parquet"):
        schema = read_schema(file)
        for column in PACKED:
            index = schema.get_field_index(column.name)
            if index < 0 or schema.field(index).type != column.type:
                wrong.append(f"{file.name}: {column.name}")
    return wrong


Rule = Callable[[SplitRows], int]
"""A function from a block of rows to the number of its rows, tokens or other units that break the rule."""


@dataclass(slots=True)
class Packed:
    """The findings of one pass over the rows and their sources.

    `broken` counts by rule; `first` names the first row that breaks a rule. `sources`, `tokens` (valid tokens) and
    `marks` (of fill-in-the-middle) are by split. `overflowed_wrong` counts wrong lines of the overflow files, and
    `first_overflowed` and `duplicates` describe the first problem of these files and of the clusters; "" for none.
    """

    artifact: Artifact
    broken: dict[Rule, int]
    leaks: LeakDetector
    first: dict[Rule, str] = field(default_factory=dict)
    sources: dict[str, SplitSources] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    marks: dict[str, int] = field(default_factory=dict)
    overflowed_wrong: int = 0
    first_overflowed: str = ""
    duplicates: str = ""


def check_rows(artifact: Artifact, inputs: Sequence[Artifact], rules: Sequence[Rule]) -> Packed:
    """Read every row and every source document once, and apply `rules` to the rows.

    Mixtures of the same documents that are checked one after the other share what was read of the sources.
    """
    width = int(artifact.manifest.config["row_tokens"])
    upstream = Upstream.of(artifact, inputs)
    found = Packed(artifact, dict.fromkeys(rules, 0), left_out_and_leaks(upstream)[1])
    found.duplicates = duplicates_problem(artifact, inputs)
    for split in SPLITS:
        sources = found.sources[split] = sources_of(upstream, split)
        if artifact.manifest.config["packing"]["overflow"] == "file":
            for problem in overflow_problems(artifact, inputs, split):
                found.overflowed_wrong += 1
                found.first_overflowed = found.first_overflowed or problem
        found.tokens[split] = found.marks[split] = 0
        for block in _blocks(artifact, split, width):
            for rule in rules:
                count = rule(block)
                found.broken[rule] += count
                if count and rule not in found.first:
                    found.first[rule] = f"row {block.first_row(rule)} of {split}"
            sources.count(block)
            sources.compare(block)
            found.tokens[split] += block.valid_tokens
            found.marks[split] += block.marks
        if len(misfits := sources.misfits()):
            sources.first["misfit"] = first_source_document(upstream, split, misfits)
    return found


def _blocks(artifact: Artifact, split: str, width: int) -> Iterator[SplitRows]:
    first = 0
    for file in artifact.files(".parquet"):
        if not file.name.startswith(f"{split}_"):
            continue
        for batch in batches(file, max(1, _BLOCK_TOKENS // width)):
            yield SplitRows(batch, first, width)
            first += batch.num_rows
