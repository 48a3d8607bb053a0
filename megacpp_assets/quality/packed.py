"""Invariants of `packed_rows`: columns, rows of exactly T tokens, whole documents, each as often as its weight says.

A function for a block of rows returns how many rows, tokens or other units of the block break the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import SPLITS, TRAIN_SPLIT, VALID_SPLIT, fixed_max_chunks
from megacpp_assets.contract.platforms import MAX_PLATFORM_IDS
from megacpp_assets.contract.step import CheckResult
from megacpp_assets.contract.tokens.specials import BOS_ID, FIM_MARKS, PAD_ID
from megacpp_assets.quality.shared.lineage import EXPECTED, NAME, tokenizer_lineage
from megacpp_assets.quality.shared.table import Check, Verdict, fail_dependent, run_checks
from megacpp_assets.storage.artifact import Artifact

if TYPE_CHECKING:
    from megacpp_assets.quality.reading.packed.blocks import SplitRows
    from megacpp_assets.quality.reading.packed.rows import Packed


def check(artifact: Artifact) -> list[CheckResult]:
    """Return the results of all checks, in the order of `CHECKS`.

    Raises `LineageGap` if an enriched artifact is missing.
    """
    from megacpp_assets.quality.reading.packed.rows import check_rows, wrong_columns
    from megacpp_assets.quality.reading.upstream import inputs_of

    if wrong := wrong_columns(artifact):
        return fail_dependent(CHECKS, Verdict(False, ", ".join(wrong)))
    rules = [check.judge.count for check in CHECKS if isinstance(check.judge, _CountIsZero)]
    return run_checks(CHECKS, check_rows(artifact, inputs_of(artifact, "v6_enriched"), rules))


@dataclass(frozen=True, slots=True)
class _CountIsZero:
    """A judge that holds if `count`, summed over all blocks of rows, is 0. `unit` names what is counted."""

    count: Callable[[SplitRows], int]
    unit: str

    def __call__(self, packed: Packed) -> Verdict:
        broken = packed.broken[self.count]
        return Verdict(
            not broken, f"{broken} {self.unit} break the rule" + _first_place([packed.first.get(self.count, "")])
        )


def _first_place(firsts: Iterable[str]) -> str:
    """Return text that names the first place which is not "", so that a reader knows where to look; "" if there
    is none.
    """
    return next((f"; the first is {name}" for name in firsts if name), "")


def _documents(packed: Packed, wrong: int, *faults: str) -> Verdict:
    firsts = (
        f"{name} of {split}" if (name := sources.first.get(fault)) else ""
        for split, sources in packed.sources.items()
        for fault in faults
    )
    return Verdict(not wrong, f"{wrong} documents break the rule" + _first_place(firsts))


def _uneven(block: SplitRows) -> int:
    return block.uneven


def _disagreeing(block: SplitRows) -> int:
    valid, documents = block.number(c.VALID_TOKEN_COUNT), block.number(c.NUM_DOCS)
    wrong = block.number(c.SLACK_TOKENS) != block.width - valid
    for name in (*c.CARRIED.values(), c.SOURCE_DOC_TOKEN_LENGTHS):
        wrong |= block.lengths(name) != documents
    wrong |= block.lengths(c.SOURCE_PLATFORM_IDS) != MAX_PLATFORM_IDS * documents
    lengths = block.lists(c.SOURCE_DOC_TOKEN_LENGTHS)
    wrong |= lengths.sums(lengths.values) != valid
    wrong |= block.tokens(c.LOSS_MASK).sum(axis=1, dtype="int64") != block.number(c.TRAINED_TOKEN_COUNT)
    wrong |= (valid < 1) | (valid > block.width) | (documents < 1)
    return int(wrong.sum())


def _misnumbered(block: SplitRows) -> int:
    return int((block.number(c.PACK_ID) != block.numbers).sum())


def _wrong_bos_counts(block: SplitRows) -> int:
    return int(((block.tokens(c.INPUT_IDS) == BOS_ID).sum(axis=1) != block.number(c.NUM_DOCS)).sum())


def _wrong_document_ids(block: SplitRows) -> int:
    # The first document id is 0, and each BOS starts the next document. This equals cumsum(ids == BOS) - 1.
    ids, documents = block.tokens(c.INPUT_IDS), block.tokens(c.DOC_IDS)
    first = (documents[:, 0] != 0) | (ids[:, 0] != BOS_ID)
    return int(first.sum() + (documents[:, 1:] != documents[:, :-1] + (ids[:, 1:] == BOS_ID)).sum())


def _wrong_targets(block: SplitRows) -> int:
    # The last target of a row has no next token; it is padding.
    ids, targets = block.tokens(c.INPUT_IDS), block.tokens(c.TARGET_IDS)
    return int((targets[:, :-1] != ids[:, 1:]).sum() + (targets[:, -1] != PAD_ID).sum())


def _wrong_loss_masks(block: SplitRows) -> int:
    # A loss counts where the next token continues the document: it is valid and is not a BOS.
    mask, inside = block.tokens(c.LOSS_MASK), block.valid & (block.tokens(c.INPUT_IDS) != BOS_ID)
    return int((mask[:, :-1] != inside[:, 1:]).sum() + (mask[:, -1] != 0).sum())


def _chunks_outside(block: SplitRows) -> int:
    starts, ends = (block.lists(name) for name in (c.TOKEN_CHUNK_STARTS_COLUMN, c.TOKEN_CHUNK_ENDS_COLUMN))
    names = c.PACKED_ROWS_CHUNK_METADATA_COLUMNS[:4]
    wrong = starts.lengths > fixed_max_chunks(block.width)
    for name in names[1:]:
        wrong |= block.lengths(name) != starts.lengths
    absent = sum(block.nulls(name) for name in names)
    if (starts.lengths != ends.lengths).any():  # starts and ends cannot be paired: only the rows are counted
        return int(wrong.sum()) + absent
    outside = (starts.values >= ends.values) | (ends.values > ends.repeat(block.number(c.VALID_TOKEN_COUNT)))
    return int(wrong.sum() + outside.sum()) + absent


def _edges_outside(block: SplitRows) -> int:
    chunks, outside = block.lengths(c.TOKEN_CHUNK_STARTS_COLUMN), 0
    for name in (c.TOKEN_CALL_EDGES_COLUMN, c.TOKEN_TYPE_EDGES_COLUMN):
        larger_ends = block.edges(name)
        outside += int((larger_ends.values >= larger_ends.repeat(chunks)).sum())
    return outside


def _wrong_padding(block: SplitRows) -> int:
    fills = {c.INPUT_IDS: PAD_ID}
    fills |= {name: c.PACKED_ROWS_DENSE_FALLBACK_FILL_VALUES[name] for name in c.TOKEN_METADATA_COLUMNS}
    return sum(int((block.tokens(name).reshape(-1)[block.padding] != fill).sum()) for name, fill in fills.items())


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
    trained, validated = packed.marks[TRAIN_SPLIT], packed.marks[VALID_SPLIT]
    found = f"{trained} marks of {documents} documents in training, {validated} in validation"
    # Each rearranged document has every mark once.
    holds = trained == len(FIM_MARKS) * documents and (allowed or not documents)
    return Verdict(holds and not validated, found)


def _duplicates_recorded(packed: Packed) -> Verdict:
    return Verdict(not packed.duplicates, packed.duplicates or "as expected")


def _kept(packed: Packed) -> Verdict:
    first = f", first {packed.first_overflowed}" if packed.first_overflowed else ""
    return Verdict(not packed.overflowed_wrong, f"{packed.overflowed_wrong} lines break the rule{first}")


def _held_out(packed: Packed) -> Verdict:
    leak = packed.leaks.leaked()
    return Verdict(leak.is_allowed, str(leak))


def _conserved(packed: Packed) -> Verdict:
    holds, found = True, []
    for split in SPLITS:
        least, most = packed.sources[split].bounds()
        rows = packed.tokens[split]
        recorded = packed.artifact.manifest.stats["tokens" if split == TRAIN_SPLIT else "valid_tokens"]
        # The sources have no fill-in-the-middle marks: packing added them.
        holds &= least <= rows - packed.marks[split] <= most and rows == recorded
        found.append(f"{split} {rows} in rows, {recorded} in statistics, {least} to {most} by the sources")
    return Verdict(holds, "; ".join(found))


CHECKS: Final[tuple[Check[Packed], ...]] = (
    Check("columns_and_types", "the columns of packed rows, each of its type", _columns),
    Check("rows_are_exactly_t_tokens", "every token column T long, without nulls", _CountIsZero(_uneven, "rows")),
    Check("counts_agree", "counts that agree with the lists they count", _CountIsZero(_disagreeing, "rows")),
    Check("pack_ids_are_row_numbers", "0, 1, 2, … in each split", _CountIsZero(_misnumbered, "rows")),
    Check("bos_count_is_num_docs", "one BOS per document", _CountIsZero(_wrong_bos_counts, "rows")),
    Check("doc_ids_are_the_bos_inference", "cumsum(input_ids == BOS) - 1", _CountIsZero(_wrong_document_ids, "tokens")),
    Check("targets_are_the_shifted_inputs", "input_ids shifted left by one", _CountIsZero(_wrong_targets, "tokens")),
    Check(
        "loss_mask_stays_inside_documents",
        "1 where the next token belongs to the same document, else 0",
        _CountIsZero(_wrong_loss_masks, "tokens"),
    ),
    Check(
        "chunk_spans_are_inside_the_valid_prefix",
        "at most max(128, T / 32) chunks per row, each a span of its valid prefix",
        _CountIsZero(_chunks_outside, "chunks or rows"),
    ),
    Check(
        "edges_are_between_chunks_of_the_row",
        "both ends below the row's chunk count",
        _CountIsZero(_edges_outside, "edges"),
    ),
    Check("pads_carry_fill_values", "for each pad the fill value of its column", _CountIsZero(_wrong_padding, "pads")),
    Check("documents_are_taken_as_the_mixture_says", "each source document as often as its weight says", _taken),
    Check(
        "documents_are_whole_and_unchanged", "every token column and the platforms as in the source document", _whole
    ),
    Check(
        "fill_in_the_middle_is_of_training_alone",
        "four marks per rearranged training document, if the recipe asks for it, and none in validation",
        _rearranged,
    ),
    Check(
        "duplicates_recorded",
        "the clusters of near-duplicates across repositories, if the recipe asks for them",
        _duplicates_recorded,
    ),
    Check(
        "overflow_is_kept",
        "each document that is too long for a row, whole, in the overflow file, if the recipe asks for it",
        _kept,
    ),
    Check(
        "no_validation_leak",
        "at most 0.1 % of the bytes of held-out roots of 200 bytes or more in training documents",
        _held_out,
    ),
    Check("tokens_are_conserved", "the tokens of the sources, as the weights and the statistics say", _conserved),
    Check(NAME, EXPECTED, tokenizer_lineage),
)
