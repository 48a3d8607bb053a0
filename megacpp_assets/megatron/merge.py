"""Several pairs as one: documents end to end in the order given, as Megatron's `tools/merge_datasets.py` puts them, and
what lies beside the pairs with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path

import numpy as np

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.megatron_files import BIN, IDX, SIDECAR_RECORD
from megacpp_assets.megatron.index_format import CODES
from megacpp_assets.megatron.outputs import EndToEnd, open_outputs
from megacpp_assets.megatron.reader import BinIdx, blocks, open_bin_idx, token_starts
from megacpp_assets.megatron.sidecars import Sidecars, open_sidecars, require_one_sequence_per_document
from megacpp_assets.megatron.writer import BinIdxWriter, open_writer
from megacpp_assets.storage.parquet import batches
from megacpp_assets.storage.publish import PendingFile

_DOCUMENTS = 1 << 12
_ROW_TOKENS = 1 << 20
"""Tokens of rows that are merged at a time."""


def merge_pairs(
    prefixes: Sequence[Path], destination: Path, vocabulary_size: int | None, *, multimodal: bool = False
) -> BinIdx:
    """Write the documents of all `prefixes` as the pair `destination`, with all sidecars if each has them; open it.

    Documents keep their sequences, and sequences their modes. A `vocabulary_size` of None is for pairs of floats, whose
    values are not compared with it. `SpecError` for no prefix, several dtypes or row lengths, sidecars beside some of
    the pairs only, or an existing destination; `IndexCorrupt` for broken files. Memory does not grow with the pairs.
    """
    pairs = [open_bin_idx(prefix, multimodal=multimodal) for prefix in prefixes]
    codes = {pair.header.code for pair in pairs}
    if len(codes) != 1:
        do = "merge pairs that were written alike"
        raise SpecError("pairs to merge", expected="one token type", found=sorted(codes) or "no pair", do=do)
    bin_path, idx_path = (destination.with_name(destination.name + suffix) for suffix in (BIN, IDX))
    if bin_path.exists() or idx_path.exists():
        raise SpecError(f"{destination.name}", expected="no such pair yet", found="one", do="name another destination")
    beside = [open_sidecars(prefix) for prefix in prefixes]
    sidecars = [each for each in beside if each is not None]
    if sidecars:
        _require_alike(prefixes, beside)
        _merge_rows(pairs, sidecars, destination, vocabulary_size)
        return open_bin_idx(destination, multimodal=multimodal)
    with open_writer(bin_path, idx_path, vocabulary_size, code=codes.pop(), multimodal=multimodal) as writer:
        for pair in pairs:
            _append(pair, writer)
    return open_bin_idx(destination, multimodal=multimodal)


def _require_alike(prefixes: Sequence[Path], beside: Sequence[Sidecars | None]) -> None:
    without = [prefix.name for prefix, each in zip(prefixes, beside, strict=True) if each is None]
    if without:
        found, do = f"none beside {', '.join(without)}", "merge pairs with sidecars apart from those without"
        raise SpecError("pairs to merge", expected="sidecars beside all, or beside none", found=found, do=do)
    lengths = sorted({each.record.row_tokens for each in beside if each is not None})
    if len(lengths) > 1:
        raise SpecError("pairs to merge", expected="rows of one length", found=lengths, do="merge those of one phase")


def _merge_rows(
    pairs: Sequence[BinIdx], sidecars: Sequence[Sidecars], destination: Path, vocabulary_size: int | None
) -> None:
    code, row_tokens = pairs[0].header.code, sidecars[0].record.row_tokens

    def opened(suffix: str) -> AbstractContextManager[PendingFile]:
        return nullcontext(PendingFile(destination.with_name(destination.name + suffix)))

    with ExitStack() as stack:
        multimodal = pairs[0].modes is not None
        outputs = open_outputs(stack, opened, vocabulary_size, code=code, row_tokens=row_tokens, multimodal=multimodal)
        for pair, beside in zip(pairs, sidecars, strict=True):
            require_one_sequence_per_document(pair, beside)
            for rows in _rows(pair, beside):
                outputs.write(rows)
            for batch in batches(beside.documents_path, _DOCUMENTS, [c.DOC_ID, c.REPO, c.TOKENS]):
                outputs.name(batch.column(c.DOC_ID), batch.column(c.REPO), batch.column(c.TOKENS).to_numpy())
        totals = outputs.finish()
    # The record comes last: without it there are no sidecars.
    record = totals.record(destination.name, row_tokens, np.dtype(CODES[code]).str)
    destination.with_name(destination.name + SIDECAR_RECORD).write_bytes(record.to_bytes())


def _rows(pair: BinIdx, beside: Sidecars) -> Iterator[EndToEnd]:
    """The rows of a pair, some at a time."""
    starts = token_starts(pair, beside.row_starts)
    for part in blocks(beside.record.rows, max(1, _ROW_TOKENS // beside.record.row_tokens)):
        first, end = int(beside.row_starts[part.start]), int(beside.row_starts[part.stop])
        yield EndToEnd(
            tokens=pair.tokens[starts[part.start] : starts[part.stop]],
            lengths=np.asarray(pair.lengths[first:end]),
            documents_per_row=np.diff(beside.row_starts[part.start : part.stop + 1]),
            tokens_per_row=np.diff(starts[part.start : part.stop + 1]),
            channels={
                name: channel.stretch(part.start, starts[part.start : part.stop + 1])
                for name, channel in beside.channels.items()
            },
            chunks=beside.chunks.lists(np.arange(part.start, part.stop)).table(),
            platforms=beside.platforms[first:end],
            modes=None if pair.modes is None else np.asarray(pair.modes[first:end]),
        )


def _append(pair: BinIdx, writer: BinIdxWriter) -> None:
    for part in blocks(pair.documents, _DOCUMENTS):
        boundaries = pair.boundaries[part.start : part.stop + 1]
        first, end = int(boundaries[0]), int(boundaries[-1])
        modes = None if pair.modes is None else np.asarray(pair.modes[first:end])
        writer.append(pair.values(first, end), np.asarray(pair.lengths[first:end]), modes, np.diff(boundaries))
