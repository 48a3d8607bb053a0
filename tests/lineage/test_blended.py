"""A token of a document that a mixture takes from another phase's is traced to that document."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.lineage.tokens import _document
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.publish import Publication, Target, publish
from tests.packed.enriched_documents import FMT, document, table_of

LONG, SHORT = (document(FMT, name, tokens=40, chunks=2, seed=seed) for seed, name in enumerate(("long", "short")))


def _published(root: Path, stage: str, config: Mapping[str, Any], below: tuple[str, ...] = ()) -> Artifact:
    def produce(publication: Publication, _inputs: tuple[Artifact, ...]) -> dict[str, Any]:
        for budget, record in ((16_384, LONG), (4096, SHORT)):
            with publication.file(c.of_budget(budget, c.parquet_shard(0))) as pending:
                pq.write_table(table_of([record]), pending.path)
                pending.rows = 1
        return {}

    return publish(Target(root, stage, stage, FMT.key, "1", config, below), produce)


def _packed(root: Path, blend: Mapping[str, float]) -> Artifact:
    _published(root, "tokenized_parquet", {"budgets": [4096, 16_384]})
    _published(root, "v6_enriched", {}, ("tokenized_parquet",))
    return _published(root, "packed_rows", {"document_tokens": 16_384, "blend": blend}, ("v6_enriched",))


def test_a_document_of_each_budget_that_a_mixture_blends_is_found(tmp_path: Path) -> None:
    packed = _packed(tmp_path, {"4096": 0.5})
    for name, record in (("long", LONG), ("short", SHORT)):
        tokenized, found = _document(packed, FMT.name, name)
        assert tokenized.path == "tokenized_parquet"
        assert found[c.TOKEN_IDS_COLUMN] == record[c.TOKEN_IDS_COLUMN]


def test_a_document_of_a_budget_that_the_mixture_does_not_blend_is_none_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(LineageGap, match="expected document short of fmt among its inputs; found none"):
        _document(_packed(tmp_path, {}), FMT.name, "short")
