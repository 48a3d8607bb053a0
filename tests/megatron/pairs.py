"""Small .bin/.idx pairs and packed artifacts for tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.megatron_files import BIN, IDX
from megacpp_assets.megatron.pair.writer import open_writer
from megacpp_assets.megatron.stage import MegatronBinIdxSpec
from megacpp_assets.packed.stage import run as pack
from tests.packed.enriched_documents import DATASET, MIXTURE, small_corpus

VOCABULARY = 131_072


def tokens_of(lengths: Sequence[int], seed: int = 0) -> NDArray[np.uint32]:
    """Random ids below the vocabulary size, for documents of `lengths`."""
    return np.random.default_rng(seed).integers(0, VOCABULARY, sum(lengths), dtype=np.uint32)


def write_pair(prefix: Path, lengths: Sequence[int], block: int = 7) -> NDArray[np.uint32]:
    """Write a pair, `block` documents at a time; gives its tokens."""
    tokens, ends = tokens_of(lengths), np.cumsum([0, *lengths])
    with open_writer(part(prefix, BIN), part(prefix, IDX), VOCABULARY) as writer:
        for first in range(0, len(lengths), block):
            end = min(len(lengths), first + block)
            writer.append(tokens[ends[first] : ends[end]], np.array(lengths[first:end], np.int32))
    return tokens


def part(prefix: Path, suffix: str) -> Path:
    """A file of the prefix."""
    return prefix.with_name(prefix.name + suffix)


def megatron_spec(root: Path) -> MegatronBinIdxSpec:
    """A specialist's packed rows under `root`, ready for `megatron_bin_idx`."""
    pack(small_corpus(root).spec(own_repo="fmt"))
    return MegatronBinIdxSpec(root, DATASET, MIXTURE)
