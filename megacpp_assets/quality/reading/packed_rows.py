"""Packed rows as their checks read them: a bounded block of rows at a time, beside the documents they are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from megacpp_assets.contract.names import SPLITS
from megacpp_assets.contract.schemas import PACKED
from megacpp_assets.quality.reading.packed_beside import overflow_misfits, recorded_duplicates
from megacpp_assets.quality.reading.packed_blocks import Block
from megacpp_assets.quality.reading.packed_sources import Sources, Upstream, first_of, outside_and_sides, sources_of
from megacpp_assets.quality.reading.sides import Sides
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.parquet import batches, read_schema

_BLOCK_TOKENS = 1 << 18


def wrong_columns(artifact: Artifact) -> list[str]:
    """`file: column` for each column of packed rows that a file lacks or has with another type."""
    wrong = []
    for file in artifact.files(".parquet"):
        schema = read_schema(file)
        for column in PACKED:
            index = schema.get_field_index(column.name)
            if index < 0 or schema.field(index).type != column.type:
                wrong.append(f"{file.name}: {column.name}")
    return wrong


Rule = Callable[[Block], int]
"""What a block of rows holds that breaks it."""


@dataclass(slots=True)
class Packed:
    """What one pass over the rows and their sources found: `broken` by rule, sources, valid tokens and marks by split,
    and what is wrong with the files beside the rows."""

    artifact: Artifact
    broken: dict[Rule, int]
    sides: Sides
    first: dict[Rule, str] = field(default_factory=dict)
    """The first row that breaks a rule, where one does."""
    sources: dict[str, Sources] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    marks: dict[str, int] = field(default_factory=dict)
    overflowed_wrong: int = 0
    first_overflowed: str = ""
    duplicates: str = ""


def pass_over(artifact: Artifact, inputs: Sequence[Artifact], rules: Sequence[Rule]) -> Packed:
    """Read every row once, and every source document once for all mixtures of them in a row."""
    width = int(artifact.manifest.config["row_tokens"])
    upstream = Upstream.of(artifact, inputs)
    found = Packed(artifact, dict.fromkeys(rules, 0), outside_and_sides(upstream)[1])
    found.duplicates = recorded_duplicates(artifact, inputs)
    for split in SPLITS:
        sources = found.sources[split] = sources_of(upstream, split)
        if artifact.manifest.config["packing"]["overflow"] == "file":
            for misfit in overflow_misfits(artifact, inputs, split):
                found.overflowed_wrong += 1
                found.first_overflowed = found.first_overflowed or misfit
        found.tokens[split] = found.marks[split] = 0
        for block in _blocks(artifact, split, width):
            for rule in rules:
                count = rule(block)
                found.broken[rule] += count
                if count and rule not in found.first:
                    found.first[rule] = f"row {block.first_row(rule)} of {split}"
            sources.take(block)
            sources.compare(block)
            found.tokens[split] += block.held
            found.marks[split] += block.marks
        if len(misfits := sources.misfits()):
            sources.first["misfit"] = first_of(upstream, split, misfits)
    return found


def _blocks(artifact: Artifact, split: str, width: int) -> Iterator[Block]:
    first = 0
    for file in artifact.files(".parquet"):
        if not file.name.startswith(f"{split}_"):
            continue
        for batch in batches(file, max(1, _BLOCK_TOKENS // width)):
            yield Block(batch, first, width)
            first += batch.num_rows
