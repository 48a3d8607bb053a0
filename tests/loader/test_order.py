"""Row order: complete epochs, one function of (seed, epoch, step)."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.loader.order import epoch_order, rows_of_step

SMALL = st.integers(1, 40)


@given(rows=SMALL, batch=SMALL, seed=st.integers(0, 2**32))
def test_every_epoch_shows_every_row_once_whatever_the_batch(rows: int, batch: int, seed: int) -> None:
    steps = -(-3 * rows // batch)
    seen = np.concatenate([rows_of_step(rows, batch, seed=seed, step=step) for step in range(steps)])
    for epoch in range(3):
        assert sorted(seen[epoch * rows : (epoch + 1) * rows]) == list(range(rows))


def test_an_order_depends_on_seed_and_epoch_and_on_nothing_else() -> None:
    first = epoch_order(1000, 1234, 0)
    assert (first == epoch_order(1000, 1234, 0)).all()
    assert not (first == epoch_order(1000, 1234, 1)).all()
    assert not (first == epoch_order(1000, 1235, 0)).all()


def test_the_order_is_the_one_of_earlier_releases() -> None:
    assert epoch_order(8, 1234, 0).tolist() == [7, 1, 3, 5, 6, 4, 2, 0]
