"""What a model on XLA reads of chunks: by its definition, with the keys and shapes of the canonical form."""

from __future__ import annotations

import numpy as np
import pytest

from megacpp_assets.loader.blocks import semantic_blocks
from megacpp_assets.loader.canonical import canonicalize_structure_meta_for_xla, chunk_shapes
from megacpp_assets.loader.chunks import MESSAGES, NEIGHBOURS, chunk_relation_mask
from tests.training.chunked import with_chunks
from tests.training.world import batch_of


@pytest.mark.parametrize("seed", range(5))
def test_blocks_follow_from_chunks_and_their_relations(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = [[[2, *rng.integers(46, 90, 40).tolist()] for _ in range(3)] for _ in range(2)]
    batch = with_chunks(batch_of(*rows, row_tokens=128), seed)
    assert batch.chunks is not None
    relations = chunk_relation_mask(batch.chunks)
    blocks = semantic_blocks(batch.chunks, relations)
    keep, weights = blocks["semantic_block_keep_mask"], blocks["semantic_block_edge_weights"]
    for row, chunk, other in np.ndindex(*keep.shape):
        related = relations[row, MESSAGES, chunk, other].any() and other < chunk
        assert keep[row, chunk, other] == related
    for row, chunk in np.argwhere(keep.any(-1)):
        shares = weights[row, chunk][keep[row, chunk]]
        assert shares[:NEIGHBOURS].sum() == pytest.approx(1) and len(set(shares.tolist())) == 1
    assert not weights[~keep].any() and keep.any()
    valid = blocks["semantic_block_valid"]
    assert (valid == (blocks["semantic_block_ends"] > blocks["semantic_block_starts"])).all() and valid.any()


def test_the_canonical_form_keeps_computed_blocks_as_they_are() -> None:
    batch = with_chunks(batch_of([[2, 50, 51, 52, 53, 54]], row_tokens=64))
    assert batch.chunks is not None
    blocks = semantic_blocks(batch.chunks, chunk_relation_mask(batch.chunks))
    whole = canonicalize_structure_meta_for_xla(batch.input_ids, blocks, structure=False, tree_ffn=True)
    assert whole.keys() == blocks.keys() == chunk_shapes(1, 64).keys()
    assert all(np.array_equal(whole[name], each) for name, each in blocks.items())
