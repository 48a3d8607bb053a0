"""What telemetry counts is what the rows were made of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from megacpp_assets.loader.rows import open_rows
from megacpp_assets.loader.telemetry import Telemetry, reported
from tests.loader.rows_artifact import DATASET, publish_rows, random_rows


def test_a_report_counts_the_documents_and_tokens_of_its_batches(tmp_path: Path) -> None:
    rows = random_rows(rows=5, row_tokens=32)
    packed = open_rows(publish_rows(tmp_path, rows, 32), DATASET)
    reports = list(reported((packed.batch(np.array([row])) for row in range(5)), every=2))
    assert [report is None for _, report in reports] == [True, False, True, False, True]
    for first in (0, 2):
        report = reports[first + 1][1]
        lengths = [len(document.tokens) for row in rows[first : first + 2] for document in row]
        assert report is not None
        assert (report["batches"], report["rows"], report["tokens"]) == (2, 2, 64)
        assert (report["documents"], report["valid_tokens"]) == (len(lengths), sum(lengths))
        assert report["trained_tokens"] == sum(lengths) - len(lengths)
        assert report["valid_share"] == pytest.approx(sum(lengths) / 64)
        assert report["docs_per_row"] == len(lengths) / 2 and report["avg_doc_tokens"] == pytest.approx(
            np.mean(lengths)
        )
        assert report["cropped_doc_frac"] == 0.0


def test_the_report_of_no_rows_is_zero() -> None:
    assert set(Telemetry().report().values()) == {0}
