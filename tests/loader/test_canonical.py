"""One set of keys and shapes whatever a batch has."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.contract.columns import STRUCTURE_CHANNELS
from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.loader.canonical import VALIDITY_KEYS, canonicalize_structure_meta_for_xla

X = np.zeros((2, 64), np.int32)
ALL = canonicalize_structure_meta_for_xla(X, {}, tree_ffn=True)


@given(given=st.sets(st.sampled_from(sorted(ALL))), extra=st.booleans())
def test_keys_shapes_and_dtypes_are_the_same_whatever_a_batch_has(given: set[str], extra: bool) -> None:
    meta = {key: np.ones(ALL[key].shape, np.int16) for key in given}
    if extra:
        meta["token_symbol_ids"] = np.ones((2, 64), np.int32)
    found = canonicalize_structure_meta_for_xla(X, meta, tree_ffn=True)
    assert {k: (v.shape, v.dtype) for k, v in found.items()} == {k: (v.shape, v.dtype) for k, v in ALL.items()}
    for key in ALL:
        assert (found[key] == 1).all() if key in given else np.array_equal(found[key], ALL[key])


def test_missing_columns_have_the_fills_of_packed_rows() -> None:
    found = canonicalize_structure_meta_for_xla(X, {})
    assert {key: set(values.ravel().tolist()) for key, values in found.items()} == dict(
        zip(STRUCTURE_CHANNELS.values(), [{0}, {0}, {-1}, {-1}, {-1}], strict=True)
    )


def test_disabled_structure_has_no_keys() -> None:
    assert canonicalize_structure_meta_for_xla(X, {"token_chunk_ids": X}, structure=False) == {}


@pytest.mark.parametrize("tokens", [64, 4096, 8192])
def test_chunks_have_max_128_or_a_32nd_of_the_row_slots(tokens: int) -> None:
    found = canonicalize_structure_meta_for_xla(np.zeros((1, tokens), np.int32), {}, tree_ffn=True)
    assert found["semantic_block_edge_weights"].shape == (1, *[max(128, tokens // 32)] * 2)


@pytest.mark.parametrize("key", VALIDITY_KEYS)
def test_validity_stays_absent_where_it_is_absent_and_as_it_is_where_not(key: str) -> None:
    assert key not in ALL
    zero = np.zeros(2, np.int32)
    assert canonicalize_structure_meta_for_xla(X, {key: zero})[key] is zero


def test_a_value_of_another_shape_is_rejected() -> None:
    with pytest.raises(SchemaViolation, match=r"token_dep_levels; expected shape \(2, 64\)"):
        canonicalize_structure_meta_for_xla(X, {"token_dep_levels": np.zeros((2, 63))})
