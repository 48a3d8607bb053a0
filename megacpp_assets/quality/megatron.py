"""Invariants of `megatron_bin_idx`: index bytes, ids, documents, sidecars, and equality with the packed rows.

A function for a pair returns the problem as text, "" if there is no problem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from megacpp_assets.contract import megatron_files as files
from megacpp_assets.contract.errors import IndexCorrupt
from megacpp_assets.contract.names import SPLITS
from megacpp_assets.contract.step import CheckResult
from megacpp_assets.quality.reading.upstream import input_of
from megacpp_assets.quality.shared.lineage import EXPECTED, NAME, tokenizer_lineage
from megacpp_assets.quality.shared.table import Check, Verdict, run_checks
from megacpp_assets.storage.artifact import Artifact

if TYPE_CHECKING:
    from megacpp_assets.quality.reading.megatron_pairs import Pair


@dataclass(frozen=True, slots=True)
class _Megatron:
    """The artifact's pairs. `splits` have files, `expected` have packed rows; `pairs` are of the splits with both."""

    artifact: Artifact
    splits: tuple[str, ...]
    expected: tuple[str, ...]
    pairs: tuple[Pair, ...]


def check(artifact: Artifact) -> list[CheckResult]:
    """Return the results of all checks, in the order of `CHECKS`.

    Raises `LineageGap` if the packed rows are missing.
    """
    from megacpp_assets.megatron.pair.index_format import token_code
    from megacpp_assets.megatron.vocabulary import stated_vocabulary_size
    from megacpp_assets.quality.reading.megatron_pairs import Pair

    packed = input_of(artifact, "packed_rows")
    rows = {split: _row_files(packed, split) for split in SPLITS}
    expected = tuple(split for split in SPLITS if rows[split])
    prefixes = {split: files.prefix_name(files.pairs_name(artifact.manifest), split) for split in SPLITS}
    names = [entry.name for entry in artifact.manifest.files]
    splits = tuple(split for split in SPLITS if any(name.startswith(f"{prefixes[split]}.") for name in names))
    width = int(packed.manifest.config["row_tokens"])
    code = token_code(stated_vocabulary_size(artifact), str(artifact.manifest.config["token_dtype"]))
    pairs = (
        Pair(artifact.directory / prefixes[split], split, rows[split], width, code)
        for split in splits
        if split in expected
    )
    return run_checks(CHECKS, _Megatron(artifact, splits, expected, tuple(pairs)))


def _row_files(packed: Artifact, split: str) -> list[Path]:
    return [file for file in packed.files(".parquet") if file.name.startswith(f"{split}_")]


@dataclass(frozen=True, slots=True)
class _EachPair:
    """A judge that holds if `problem` returns "" for every pair."""

    problem: Callable[[Pair], str]

    def __call__(self, megatron: _Megatron) -> Verdict:
        problems = [f"{pair.split}: {problem}" for pair in megatron.pairs if (problem := self.problem(pair))]
        return Verdict(not problems, "; ".join(problems) or "as expected")


def _splits(megatron: _Megatron) -> Verdict:
    found = f"{list(megatron.splits)}, the rows have {list(megatron.expected)}"
    return Verdict(megatron.splits == megatron.expected, found)


def _header(pair: Pair) -> str:
    try:
        header, is_expected = pair.header()
    except IndexCorrupt as error:
        return str(error)
    return "" if is_expected else str(header)


def _index_bytes(pair: Pair) -> str:
    fits = pair.index_bytes == pair.expected_index_bytes
    return "" if fits else f"{pair.index_bytes} bytes for {pair.documents} documents"


def _bin_bytes(pair: Pair) -> str:
    size, expected = pair.bin_bytes
    return "" if size == expected else f"{size} bytes, the lengths add up to {expected}"


def _pointers(pair: Pair) -> str:
    return "" if pair.pointers_run() else "pointers or boundaries differ"


def _ids(megatron: _Megatron) -> Verdict:
    from megacpp_assets.megatron.vocabulary import vocabulary_size_of

    limit = vocabulary_size_of(megatron.artifact)
    outside = sum(pair.ids_outside(limit) for pair in megatron.pairs)
    return Verdict(not outside, f"{outside} tokens outside 0 to {limit - 1}")


def _bos(pair: Pair) -> str:
    found, at_start = pair.bos()
    is_expected = found == at_start == pair.documents
    return "" if is_expected else f"{found} BOS, {at_start} of them at the start of one of {pair.documents} documents"


def _channels(pair: Pair) -> str:
    return ", ".join(pair.uneven_channels())


def _row_starts(pair: Pair) -> str:
    return "" if pair.rows_cover() else "row starts break the rule"


def _listed(pair: Pair) -> str:
    is_complete = pair.listed == pair.rows.documents == pair.documents
    wrong_count = "" if is_complete else f"{pair.listed} lines for {pair.rows.documents} documents of rows"
    return pair.rows.other_lines or wrong_count


def _tokens(pair: Pair) -> str:
    is_complete = pair.rows.tokens == pair.total
    wrong_count = "" if is_complete else f"{pair.rows.tokens} in rows, {pair.total} in documents"
    return pair.rows.other_tokens or wrong_count


def _chunks(pair: Pair) -> str:
    return pair.rows.other_chunks


def _platforms(pair: Pair) -> str:
    wrong_size = f"{pair.surplus_platform_bytes} bytes too many" if pair.surplus_platform_bytes else ""
    return pair.rows.other_platforms or wrong_size


def _structure(pair: Pair) -> str:
    return pair.rows.other_structure


CHECKS: Final[tuple[Check[_Megatron], ...]] = (
    Check("splits_are_those_of_the_rows", "a pair for each split that has rows, and no other", _splits),
    Check(
        "header_is_megatrons",
        "MMIDIDX version 1, code 4 (8 for two bytes), one more boundary than sequences",
        _EachPair(_header),
    ),
    Check("index_bytes_fit_the_documents", "34 + 12 n + 8 (n + 1) bytes for n documents", _EachPair(_index_bytes)),
    Check("lengths_add_up_to_the_bin", "4 (or 2) bytes for each token of each document", _EachPair(_bin_bytes)),
    Check(
        "pointers_are_the_running_sum",
        "each pointer the number of bytes before its document, boundaries 0 to n",
        _EachPair(_pointers),
    ),
    Check("ids_are_below_the_vocabulary", "every token at least 0 and below the tokenizer's vocabulary size", _ids),
    Check("bos_opens_each_document_once", "as many BOS as documents, each at a document's start", _EachPair(_bos)),
    Check("sidecars_are_token_aligned", "one value per token in each structure channel", _EachPair(_channels)),
    Check(
        "row_starts_cover_the_documents",
        "row starts that rise from 0 to the document count, at most T tokens per row",
        _EachPair(_row_starts),
    ),
    Check(
        "documents_are_listed_in_order",
        "a line for each sequence, with the document and length of its row",
        _EachPair(_listed),
    ),
    Check(
        "tokens_are_those_of_the_rows", "every token of the packed rows' valid prefixes, in order", _EachPair(_tokens)
    ),
    Check(
        "structure_is_that_of_the_rows",
        "every structure value of the packed rows' valid prefixes, in order",
        _EachPair(_structure),
    ),
    Check("chunks_are_those_of_the_rows", "every chunk and edge of the packed rows, in order", _EachPair(_chunks)),
    Check(
        "platforms_are_those_of_the_rows",
        "the platforms of each document of the packed rows, in order",
        _EachPair(_platforms),
    ),
    Check(NAME, EXPECTED, tokenizer_lineage),
)
