"""Several pairs as one: documents end to end in the order given, as Megatron's `tools/merge_datasets.py` puts them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.megatron_files import BIN, IDX
from megacpp_assets.megatron.reader import BinIdx, blocks, open_bin_idx
from megacpp_assets.megatron.writer import BinIdxWriter, open_writer

_DOCUMENTS = 1 << 12


def merge_pairs(
    prefixes: Sequence[Path], destination: Path, vocabulary_size: int, *, multimodal: bool = False
) -> BinIdx:
    """Write the documents of all `prefixes` as the pair `destination`, and open it; sidecars are not taken along.

    `SpecError` for no prefix, several token types, or a destination that is there; `IndexCorrupt` for a broken pair.
    Memory does not grow with the pairs.
    """
    pairs = [open_bin_idx(prefix, multimodal=multimodal) for prefix in prefixes]
    codes = {pair.header.code for pair in pairs}
    if len(codes) != 1:
        do = "merge pairs that were written alike"
        raise SpecError("pairs to merge", expected="one token type", found=sorted(codes) or "no pair", do=do)
    bin_path, idx_path = (destination.with_name(destination.name + suffix) for suffix in (BIN, IDX))
    if bin_path.exists() or idx_path.exists():
        raise SpecError(f"{destination.name}", expected="no such pair yet", found="one", do="name another destination")
    with open_writer(bin_path, idx_path, vocabulary_size, code=codes.pop(), multimodal=multimodal) as writer:
        for pair in pairs:
            _append(pair, writer)
    return open_bin_idx(destination, multimodal=multimodal)


def _append(pair: BinIdx, writer: BinIdxWriter) -> None:
    width = pair.header.dtype.itemsize
    for part in blocks(pair.documents, _DOCUMENTS):
        first = int(pair.pointers[part.start]) // width
        end = int(pair.pointers[part.stop - 1]) // width + int(pair.lengths[part.stop - 1])
        modes = None if pair.modes is None else np.asarray(pair.modes[part])
        writer.append(pair.tokens[first:end], np.asarray(pair.lengths[part]), modes)
