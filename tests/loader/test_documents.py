"""What follows from ids of rows, against a twin that goes document by document."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.contract.tokens.specials import BOS_ID, PAD_ID
from megacpp_assets.loader.documents import row_documents


@given(
    rows=st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=5), min_size=1, max_size=4), pads=st.integers(0, 3)
)
def test_what_follows_from_ids_is_that_of_their_documents(rows: list[list[int]], pads: int) -> None:
    width = max(map(sum, rows)) + pads
    ids = np.full((len(rows), width), PAD_ID, np.int32)
    documents, segments, mask, begins = [], [], [], [0]
    for line, lengths in enumerate(rows):
        ids[line, : sum(lengths)] = [token for length in lengths for token in [BOS_ID, *range(90, 89 + length)]]
        numbers = [number for number, length in enumerate(lengths) for _ in range(length)]
        rest = width - len(numbers)
        documents.append(numbers + [numbers[-1]] * rest)
        segments.append([number + 1 for number in numbers] + [0] * rest)
        mask.append([place + 1 < length for length in lengths for place in range(length)] + [False] * rest)
        for length in [*lengths, *([rest] if rest else [])]:
            begins.append(begins[-1] + length)
    found = row_documents(ids, np.array([sum(lengths) for lengths in rows], np.int32))
    assert found.target_ids.tolist() == [[*line[1:], PAD_ID] for line in ids.tolist()]
    assert found.doc_ids.tolist() == documents
    assert found.segment_ids.tolist() == segments
    assert found.loss_mask.tolist() == mask
    assert found.cu_seqlens.tolist() == begins


def test_tokens_before_the_first_bos_are_of_no_document() -> None:
    found = row_documents(np.array([[90, 91, BOS_ID, 92, PAD_ID]], np.int32), np.array([4], np.int32))
    assert found.doc_ids.tolist() == [[-1, -1, 0, 0, 0]]
    assert found.segment_ids.tolist() == [[1, 1, 2, 2, 0]]


@pytest.mark.parametrize("valid", [-1, 5])
def test_more_tokens_than_a_row_has_are_rejected(valid: int) -> None:
    with pytest.raises(ValueError, match="no more tokens"):
        row_documents(np.zeros((1, 4), np.int32), np.array([valid], np.int32))
