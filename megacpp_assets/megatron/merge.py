"""Merges several pairs into one, with their sidecars.

Documents are concatenated in the given order, as Megatron's `tools/merge_datasets.py` does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path

import numpy as np

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.megatron_files import BIN, IDX, SIDECAR_RECORD
from megacpp_assets.megatron.outputs import UnpaddedRows, open_outputs
from megacpp_assets.megatron.pair.index_format import CODES
from megacpp_assets.megatron.pair.reader import BinIdx, blocks, open_bin_idx, token_starts
from megacpp_assets.megatron.pair.writer import BinIdxWriter, open_writer
from megacpp_assets.megatron.sidecars.sidecars import Sidecars, open_sidecars, require_one_sequence_per_document
from megacpp_assets.storage.parquet import batches
from megacpp_assets.storage.publish import PendingFile

_DOCUMENTS = 1 << 12
_ROW_TOKENS = 1 << 20
"""The most tokens of rows that are merged at a time."""


def merge_pairs(
    prefixes: Sequence[Path], destination: Path, vocabulary_size: int | None, *, multimodal: bool = False
) -> BinIdx:
    """Write the documents of all `prefixes` as the pair `destination`, with sidecars if all have them; open it.

    Documents keep their sequences, and sequences keep their modes. Memory does not grow with the pairs. For pairs of
    floats `vocabulary_size` is None: their values are not compared with a vocabulary.

    Raises:
        SpecError: there is no prefix, dtypes or row lengths differ, only some pairs have sidecars, or `destination`
            exists.
        IndexCorrupt: a file is malformed.
    """
    pairs = [open_bin_idx(prefix, multimodal=multimodal) for prefix in prefixes]
    codes = {pair.header.code for pair in pairs}
    if len(codes) != 1:
        do = "merge pairs with the same token type"
        raise SpecError("pairs to merge", expected="one token type", found=sorted(codes) or "no pair", do=do)
    bin_path, idx_path = (destination.with_name(destination.name + suffix) for suffix in (BIN, IDX))
    if bin_path.exists() or idx_path.exists():
        raise SpecError(
            f"{destination.name}", expected="a new name", found="an existing pair", do="name another destination"
        )
    opened = [open_sidecars(prefix) for prefix in prefixes]
    sidecars = [each for each in opened if each is not None]
    if sidecars:
        _require_mergeable(prefixes, opened)
        _merge_rows(pairs, sidecars, destination, vocabulary_size)
        return open_bin_idx(destination, multimodal=multimodal)
    with open_writer(bin_path, idx_path, vocabulary_size, code=codes.pop(), multimodal=multimodal) as writer:
        for pair in pairs:
            _append(pair, writer)
    return open_bin_idx(destination, multimodal=multimodal)


def _require_mergeable(prefixes: Sequence[Path], sidecars: Sequence[Sidecars | None]) -> None:
    """Raise `SpecError` unless each pair has sidecars and all rows have the same length."""
    without = [prefix.name for prefix, each in zip(prefixes, sidecars, strict=True) if each is None]
    if without:
        found, do = f"no sidecars for {', '.join(without)}", "merge pairs with sidecars separately from those without"
        raise SpecError("pairs to merge", expected="sidecars for all pairs, or for none", found=found, do=do)
    lengths = sorted({each.record.row_tokens for each in sidecars if each is not None})
    if len(lengths) > 1:
        raise SpecError("pairs to merge", expected="rows of one length", found=lengths, do="merge pairs of one phase")


def _merge_rows(
    pairs: Sequence[BinIdx], sidecars: Sequence[Sidecars], destination: Path, vocabulary_size: int | None
) -> None:
    code, row_tokens = pairs[0].header.code, sidecars[0].record.row_tokens

    def opened(suffix: str) -> AbstractContextManager[PendingFile]:
        return nullcontext(PendingFile(destination.with_name(destination.name + suffix)))

    with ExitStack() as stack:
        multimodal = pairs[0].modes is not None
        outputs = open_outputs(stack, opened, vocabulary_size, code=code, row_tokens=row_tokens, multimodal=multimodal)
        for pair, pair_sidecars in zip(pairs, sidecars, strict=True):
            require_one_sequence_per_document(pair, pair_sidecars)
            for rows in _rows(pair, pair_sidecars):
                outputs.write(rows)
            for batch in batches(pair_sidecars.documents_path, _DOCUMENTS, [c.DOC_ID, c.REPO, c.TOKENS]):
                outputs.write_documents(batch.column(c.DOC_ID), batch.column(c.REPO), batch.column(c.TOKENS).to_numpy())
        totals = outputs.finish()
    # The record is written last: a prefix without a record has no sidecars, so an interrupted merge leaves none.
    record = totals.record(destination.name, row_tokens, np.dtype(CODES[code]).str)
    destination.with_name(destination.name + SIDECAR_RECORD).write_bytes(record.to_bytes())


def _rows(pair: BinIdx, sidecars: Sidecars) -> Iterator[UnpaddedRows]:
    """Yield the rows of a pair, in blocks."""
    starts = token_starts(pair, sidecars.row_starts)
    for part in blocks(sidecars.record.rows, max(1, _ROW_TOKENS // sidecars.record.row_tokens)):
        first, end = int(sidecars.row_starts[part.start]), int(sidecars.row_starts[part.stop])
        yield UnpaddedRows(
            tokens=pair.tokens[starts[part.start] : starts[part.stop]],
            lengths=np.asarray(pair.lengths[first:end]),
            documents_per_row=np.diff(sidecars.row_starts[part.start : part.stop + 1]),
            tokens_per_row=np.diff(starts[part.start : part.stop + 1]),
            channels={
                name: channel.consecutive(part.start, starts[part.start : part.stop + 1])
                for name, channel in sidecars.channels.items()
            },
            chunks=sidecars.chunks.lists(np.arange(part.start, part.stop)).table(),
            platforms=sidecars.platforms[first:end],
            modes=None if pair.modes is None else np.asarray(pair.modes[first:end]),
        )


def _append(pair: BinIdx, writer: BinIdxWriter) -> None:
    for part in blocks(pair.documents, _DOCUMENTS):
        boundaries = pair.boundaries[part.start : part.stop + 1]
        first, end = int(boundaries[0]), int(boundaries[-1])
        modes = None if pair.modes is None else np.asarray(pair.modes[first:end])
        writer.append(pair.values(first, end), np.asarray(pair.lengths[first:end]), modes, np.diff(boundaries))
