"""Invariants of `packed_rows`: columns, rows of exactly T tokens, whole documents taken as the mixture says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.check import CheckResult
from megacpp_assets.contract.names import SPLITS, TRAIN_SPLIT, VALID_SPLIT, fixed_max_chunks
from megacpp_assets.contract.platforms import MAX_PLATFORM_IDS
from megacpp_assets.contract.specials import BOS_ID, FIM_MARKS, PAD_ID
from megacpp_assets.quality.lineage import EXPECTED, NAME, tokenizer_lineage
from megacpp_assets.quality.table import Check, Verdict, judged, unmeasured
from megacpp_assets.storage.artifact import Artifact

if TYPE_CHECKING:
    from megacpp_assets.quality.reading.packed_blocks import Block
    from megacpp_assets.quality.reading.packed_rows import Packed


def check(artifact: Artifact) -> list[CheckResult]:
    """Assert every invariant; results in the order of `CHECKS`. `LineageGap` if an enriched artifact is gone."""
    from megacpp_assets.quality.reading.packed_rows import pass_over, wrong_columns
    from megacpp_assets.quality.upstream import inputs_of

    if wrong := wrong_columns(artifact):
        return unmeasured(CHECKS, Verdict(False, ", ".join(wrong)))
    rules = [check.judge.count for check in CHECKS if isinstance(check.judge, _CountIsZero)]
    return judged(CHECKS, pass_over(artifact, inputs_of(artifact, "v6_enriched"), rules))


@dataclass(frozen=True, slots=True)
class _CountIsZero:
    """Passes if `count`, summed over all blocks of rows, is 0. `unit` names what it counts."""

    count: Callable[[Block], int]
    unit: str

    def __call__(self, packed: Packed) -> Verdict:
        broken = packed.broken[self.count]
        return Verdict(not broken, f"{broken} {self.unit} otherwise" + _by_name([packed.first.get(self.count, "")]))


def _by_name(firsts: Iterable[str]) -> str:
    """What is added to what was found, so that its reader knows where to look: the first of the names that are told."""
    return next((f"; the first is {name}" for name in firsts if name), "")


def _documents(packed: Packed, wrong: int, *faults: str) -> Verdict:
    firsts = (
        f"{name} of {split}" if (name := sources.first.get(fault)) else ""
        for split, sources in packed.sources.items()
        for fault in faults
    )
    return Verdict(not wrong, f"{wrong} documents otherwise" + _by_name(firsts))


def _uneven(block: Block) -> int:
    return block.uneven


def _disagreeing(block: Block) -> int:
    valid, documents = block.number(c.VALID_TOKEN_COUNT), block.number(c.NUM_DOCS)
    wrong = block.number(c.SLACK_TOKENS) != block.width - valid
    for name in (c.SOURCE_DOC_IDS, c.SOURCE_REPOS, c.SOURCE_DOC_TOKEN_LENGTHS):
        wrong |= block.lengths(name) != documents
    wrong |= block.lengths(c.SOURCE_PLATFORM_IDS) != MAX_PLATFORM_IDS * documents
    lengths = block.lists(c.SOURCE_DOC_TOKEN_LENGTHS)
    wrong |= lengths.sums(lengths.values) != valid
    wrong |= block.tokens(c.LOSS_MASK).sum(axis=1, dtype="int64") != block.number(c.TRAINED_TOKEN_COUNT)
    wrong |= (valid < 1) | (valid > block.width) | (documents < 1)
    return int(wrong.sum())


def _misnumbered(block: Block) -> int:
    return int((block.number(c.PACK_ID) != block.numbers).sum())


def _other_bos(block: Block) -> int:
    return int(((block.tokens(c.INPUT_IDS) == BOS_ID).sum(axis=1) != block.number(c.NUM_DOCS)).sum())


def _other_documents(block: Block) -> int:
    ids, documents = block.tokens(c.INPUT_IDS), block.tokens(c.DOC_IDS)
    first = (documents[:, 0] != 0) | (ids[:, 0] != BOS_ID)
    return int(first.sum() + (documents[:, 1:] != documents[:, :-1] + (ids[:, 1:] == BOS_ID)).sum())


def _other_targets(block: Block) -> int:
    ids, targets = block.tokens(c.INPUT_IDS), block.tokens(c.TARGET_IDS)
    return int((targets[:, :-1] != ids[:, 1:]).sum() + (targets[:, -1] != PAD_ID).sum())


def _other_losses(block: Block) -> int:
    mask, inside = block.tokens(c.LOSS_MASK), block.valid & (block.tokens(c.INPUT_IDS) != BOS_ID)
    return int((mask[:, :-1] != inside[:, 1:]).sum() + (mask[:, -1] != 0).sum())


def _chunks_outside(block: Block) -> int:
    starts, ends = (block.lists(name) for name in (c.TOKEN_CHUNK_STARTS_COLUMN, c.TOKEN_CHUNK_ENDS_COLUMN))
    names = c.PACKED_ROWS_CHUNK_METADATA_COLUMNS[:4]
    wrong = starts.lengths > fixed_max_chunks(block.width)
    for name in names[1:]:
        wrong |= block.lengths(name) != starts.lengths
    absent = sum(block.nulls(name) for name in names)
    if (starts.lengths != ends.lengths).any():  # no start has its end: the rows are counted, their chunks cannot be
        return int(wrong.sum()) + absent
    outside = (starts.values >= ends.values) | (ends.values > ends.repeat(block.number(c.VALID_TOKEN_COUNT)))
    return int(wrong.sum() + outside.sum()) + absent


def _edges_outside(block: Block) -> int:
    chunks, lost = block.lengths(c.TOKEN_CHUNK_STARTS_COLUMN), 0
    for name in (c.TOKEN_CALL_EDGES_COLUMN, c.TOKEN_TYPE_EDGES_COLUMN):
        edges = block.edges(name)
        lost += int((edges.values >= edges.repeat(chunks)).sum())
    return lost


def _other_pads(block: Block) -> int:
    fills = {c.INPUT_IDS: PAD_ID}
    fills |= {name: c.PACKED_ROWS_DENSE_FALLBACK_FILL_VALUES[name] for name in c.TOKEN_METADATA_COLUMNS}
    return sum(int((block.tokens(name).reshape(-1)[block.pads] != fill).sum()) for name, fill in fills.items())


def _columns(packed: Packed) -> Verdict:
    return Verdict(True, f"every column in {len(packed.artifact.files('.parquet'))} files")


def _taken(packed: Packed) -> Verdict:
    wrong = sum(sources.wrong for sources in packed.sources.values())
    return _documents(packed, wrong, "unknown", "misfit")


def _whole(packed: Packed) -> Verdict:
    changed = sum(sources.changed for sources in packed.sources.values())
    return _documents(packed, changed, "changed")


def _rearranged(packed: Packed) -> Verdict:
    documents = packed.artifact.manifest.stats["rearranged_documents"]
    allowed = packed.artifact.manifest.config["packing"]["fim_rate"] > 0
    found = f"{packed.marks[TRAIN_SPLIT]} marks of {documents} in training, {packed.marks[VALID_SPLIT]} in validation"
    holds = packed.marks[TRAIN_SPLIT] == len(FIM_MARKS) * documents and (allowed or not documents)
    return Verdict(holds and not packed.marks[VALID_SPLIT], found)


def _duplicates_recorded(packed: Packed) -> Verdict:
    return Verdict(not packed.duplicates, packed.duplicates or "as expected")


def _kept(packed: Packed) -> Verdict:
    first = f", first {packed.first_overflowed}" if packed.first_overflowed else ""
    return Verdict(not packed.overflowed_wrong, f"{packed.overflowed_wrong} documents otherwise{first}")


def _held_out(packed: Packed) -> Verdict:
    leaked = packed.sides.leaked()
    return Verdict(leaked.is_allowed, str(leaked))


def _conserved(packed: Packed) -> Verdict:
    holds, found = True, []
    for split in SPLITS:
        least, most = packed.sources[split].bounds()
        rows = packed.tokens[split]
        told = packed.artifact.manifest.stats["tokens" if split == TRAIN_SPLIT else "valid_tokens"]
        holds &= least <= rows - packed.marks[split] <= most and rows == told
        found.append(f"{split} {rows} in rows, {told} in statistics, {least} to {most} by the sources")
    return Verdict(holds, "; ".join(found))


CHECKS: Final[tuple[Check[Packed], ...]] = (
    Check("columns_and_types", "the columns of packed rows, each of its type", _columns),
    Check("rows_are_exactly_t_tokens", "every token column T long, without nulls", _CountIsZero(_uneven, "rows")),
    Check("counts_agree", "counts that agree with the lists they count", _CountIsZero(_disagreeing, "rows")),
    Check("pack_ids_are_row_numbers", "0, 1, 2, … in each split", _CountIsZero(_misnumbered, "rows")),
    Check("bos_count_is_num_docs", "one BOS per document", _CountIsZero(_other_bos, "rows")),
    Check("doc_ids_are_the_bos_inference", "cumsum(input_ids == BOS) - 1", _CountIsZero(_other_documents, "tokens")),
    Check("targets_are_the_shifted_inputs", "input_ids shifted left by one", _CountIsZero(_other_targets, "tokens")),
    Check(
        "loss_mask_stays_inside_documents",
        "1 where this token and the next are of one document",
        _CountIsZero(_other_losses, "tokens"),
    ),
    Check(
        "chunk_spans_are_inside_the_valid_prefix",
        "at most max(128, T / 32) chunks a row, each a span of its valid prefix",
        _CountIsZero(_chunks_outside, "chunks or rows"),
    ),
    Check(
        "edges_are_between_chunks_of_the_row",
        "both ends below the row's chunk count",
        _CountIsZero(_edges_outside, "edges"),
    ),
    Check("pads_carry_fill_values", "every pad its column's fill value", _CountIsZero(_other_pads, "pads")),
    Check("documents_are_taken_as_the_mixture_says", "each source document as often as its weight says", _taken),
    Check(
        "documents_are_whole_and_unchanged", "every token column and the platforms as in the source document", _whole
    ),
    Check(
        "fill_in_the_middle_is_of_training_alone",
        "four marks a rearranged document, where the recipe asks for it, and none that validates",
        _rearranged,
    ),
    Check(
        "duplicates_recorded",
        "the clusters of documents that several repositories have, if asked for",
        _duplicates_recorded,
    ),
    Check("overflow_is_kept", "each document that no row holds, whole, in the file that the recipe asks for", _kept),
    Check(
        "no_validation_leak",
        "at most 0.1 % of the bytes of held-out roots of 200 bytes or more in training documents",
        _held_out,
    ),
    Check("tokens_are_conserved", "the tokens of the sources, as the weights and the statistics say", _conserved),
    Check(NAME, EXPECTED, tokenizer_lineage),
)
