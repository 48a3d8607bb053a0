"""Batches of samples of T + 1 tokens: documents by BOS, and a loss wherever the next token is of the same document."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from megacpp_assets.contract.tokens.specials import BOS_ID
from megacpp_assets.loader.samples import sample_batch


@given(arrays(np.int64, st.tuples(st.integers(1, 3), st.integers(3, 20)), elements=st.sampled_from([BOS_ID, 70, 71])))
def test_a_batch_of_samples_is_that_of_its_definition(samples: np.ndarray) -> None:
    batch = sample_batch(samples)
    assert np.array_equal(batch.input_ids, samples[:, :-1]) and batch.input_ids.dtype == np.int32
    bounds = [0]
    for row, sample in enumerate(samples.tolist()):
        document = 0
        for place, token in enumerate(sample[:-1]):
            document += place > 0 and token == BOS_ID
            assert batch.doc_ids[row, place] == document and batch.segment_ids[row, place] == document + 1
            assert batch.loss_mask[row, place] == (sample[place + 1] != BOS_ID)
            assert not batch.loss_mask[row, place] or batch.target_ids[row, place] == sample[place + 1]
            if place > 0 and token == BOS_ID:
                bounds.append(row * (len(sample) - 1) + place)
        bounds.append((row + 1) * (len(sample) - 1))
    assert batch.cu_seqlens.tolist() == bounds
    assert batch.valid_token_count.tolist() == [samples.shape[1] - 1] * len(samples)
    assert not batch.roles.any() and batch.structure == {}
