"""The enriched loader beside a plain one, at toy size: CPU time of batches as a ratio, compared with a stored one."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from megacpp_assets.contract.specials import PAD_ID
from megacpp_assets.loader.order import rows_of_step
from megacpp_assets.loader.rows import PackedRows, open_rows
from tests.loader.rows_artifact import DATASET, publish_rows, random_rows

STORED = Path(__file__).with_name("speed.json")
"""CPU seconds of the enriched loader over those of the plain one. Change it in the commit that changes the speed."""
ROW_TOKENS, ROWS, BATCH_ROWS, ITERATIONS, RUNS = 2048, 64, 4, 40, 15
FALL = 0.2
"""The enriched loader may lose at most this share of its speed."""


def plain_batch(rows: PackedRows, numbers: np.ndarray) -> np.ndarray:
    """Ids and targets of rows, copied from the same map, as a loader of tokens alone does it."""
    batch = np.full((len(numbers), rows.row_tokens + 1), PAD_ID, np.int32)
    for line, number in zip(batch, numbers.tolist(), strict=True):
        tokens = rows.tokens[rows.starts[number] : rows.starts[number + 1]]
        line[: len(tokens)] = tokens
    return np.stack([batch[:, :-1], batch[:, 1:]])


def cpu_seconds(take: Callable[[np.ndarray], object]) -> float:
    """CPU seconds of `ITERATIONS` batches."""
    started = time.thread_time()
    for step in range(ITERATIONS):
        take(rows_of_step(ROWS, BATCH_ROWS, seed=0, step=step))
    return time.thread_time() - started


def fastest_ratio(rows: PackedRows) -> float:
    """The ratio of the fastest runs, which alternate, so that other work of the machine slows both."""
    pairs = [(cpu_seconds(rows.batch), cpu_seconds(lambda numbers: plain_batch(rows, numbers))) for _ in range(RUNS)]
    enriched, plain = (min(times) for times in zip(*pairs, strict=True))
    ratio: float = enriched / plain
    print(json.dumps({"B": BATCH_ROWS, "T": ROW_TOKENS, "iters": ITERATIONS, "ratio": round(ratio, 2)}))
    return ratio


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> PackedRows:
    made = publish_rows(tmp_path_factory.mktemp("root"), random_rows(rows=ROWS, row_tokens=ROW_TOKENS), ROW_TOKENS)
    return open_rows(made, DATASET, chunks=True, platforms=True)


def within(found: float, stored: float) -> bool:
    return found <= stored / (1 - FALL)


def test_the_enriched_loader_is_nearly_as_fast_as_a_plain_loader(rows: PackedRows) -> None:
    stored = json.loads(STORED.read_text())["ratio"]
    found = min(fastest_ratio(rows), fastest_ratio(rows))
    assert within(found, stored), f"the enriched loader takes {found:.1f} times a plain one; {stored} is stored"


def test_a_loader_that_lost_more_than_a_fifth_of_its_speed_fails() -> None:
    assert within(10.0, 10.0) and within(12.4, 10.0) and not within(12.6, 10.0)
