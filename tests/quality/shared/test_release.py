"""A release is compared with the one before it: the check names what shrank, lost a column or changed its kind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from megacpp_assets.contract.recipe.documents import PromotionRecipe
from megacpp_assets.quality.shared.release import CHECKS, ReferenceArtifacts, ReleaseComparison, compare


class _Release(ReferenceArtifacts):
    """A release of given statistics; what would be read from its files is given too."""

    def __init__(self, empty: set[str], **stats: Any) -> None:
        enriched: Any = SimpleNamespace(manifest=SimpleNamespace(stats=stats, partition="lib@v1"))
        super().__init__(enriched, enriched)
        self.__dict__["empty"] = empty


def _release(share: float = 1.0, bodies: float = 0.5, size: float = 4.0, *, empty: tuple[str, ...] = ()) -> _Release:
    tokens = int(10_000 * share)
    categories = {"func_body": {"tokens": int(tokens * bodies)}, "comment": {"tokens": int(tokens * (1 - bodies))}}
    return _Release(
        set(empty), documents=int(100 * share), tokens=tokens, text_bytes=int(tokens * size), categories=categories
    )


@pytest.fixture(autouse=True)
def _no_failed_files(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    failed: dict[str, str] = {}
    monkeypatch.setattr("megacpp_assets.quality.reading.release.failed_files", lambda _: failed)
    return failed


def _failing(new: _Release, earlier: _Release | None, limits: PromotionRecipe | None = None) -> set[str]:
    return {
        check.name
        for check in compare(ReleaseComparison(new, earlier, limits or PromotionRecipe()))
        if not check.passed
    }


def test_a_release_like_the_one_before_passes_every_check() -> None:
    assert not _failing(_release(1.1, 0.52, 4.1), _release())
    assert [check.name for check in compare(ReleaseComparison(_release(), _release(), PromotionRecipe()))] == [
        check.name for check in CHECKS
    ]


@pytest.mark.parametrize(
    ("new", "failing"),
    [
        (_release(0.3), {"documents_hold", "tokens_hold", "bytes_hold"}),
        (_release(0.0), {"documents_hold", "tokens_hold", "bytes_hold", "categories_hold", "bytes_per_token_hold"}),
        (_release(4.0), {"documents_hold", "tokens_hold", "bytes_hold"}),
        (_release(bodies=0.1), {"categories_hold"}),
        (_release(size=2.1), {"bytes_per_token_hold"}),
        (_release(empty=("token_symbol_ids",)), {"columns_hold"}),
    ],
)
def test_a_change_is_reported(new: _Release, failing: set[str]) -> None:
    assert _failing(new, _release()) == failing


def test_a_column_that_was_empty_before_may_stay_so() -> None:
    assert not _failing(_release(empty=("token_type_edges",)), _release(empty=("token_type_edges",)))


def test_a_first_release_must_hold_something_and_is_compared_with_nothing() -> None:
    assert not _failing(_release(), None)
    assert _failing(_release(0.0), None) == {"documents_hold", "tokens_hold", "bytes_hold"}


def test_the_recipe_says_how_much_may_differ() -> None:
    wide = replace(PromotionRecipe(), least_share=0.1, category_shift=0.5, bytes_per_token_shift=0.6)
    assert not _failing(_release(0.3, 0.1, 2.1), _release(), wide)


def test_a_file_that_failed_must_stand_in_the_recipe_with_a_reason(_no_failed_files: dict[str, str]) -> None:
    _no_failed_files |= {"src/big.cc": "over budget", "src/odd.cc": "crash"}
    listed = PromotionRecipe(failed_units={"lib:src/big.cc": "generated, 40 MB"})
    (check,) = [check for check in compare(ReleaseComparison(_release(), None, listed)) if not check.passed]
    assert check.name == "failed_units_listed" and "src/odd.cc (crash)" in check.found and "big" not in check.found
    assert not _failing(_release(), None, PromotionRecipe(failed_units=dict.fromkeys(_listed(_no_failed_files), "x")))


def _listed(failed: dict[str, str]) -> list[str]:
    return [f"lib:{path}" for path in failed]


def test_empty_columns_are_those_of_one_value(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    from megacpp_assets.contract import columns as c
    from megacpp_assets.contract.schemas import ENRICHED
    from megacpp_assets.quality.reading.release import empty_columns

    rows = {field.name: [_value(field.type)] * 2 for field in ENRICHED}
    rows[c.TOKEN_STRUCTURE_IDS_COLUMN] = [[0, 0], [0, 3]]
    rows[c.TOKEN_AST_DEPTH_COLUMN] = [[7, 7], [7, 7]]
    rows[c.TOKEN_CALL_EDGES_COLUMN] = [[], [{"from": 0, "to": 0}]]
    import pyarrow as pa

    pq.write_table(pa.table(rows, schema=ENRICHED), tmp_path / "shard.parquet")
    artifact: Any = SimpleNamespace(files=lambda _suffix: [tmp_path / "shard.parquet"])
    empty = empty_columns(artifact)
    assert c.TOKEN_STRUCTURE_IDS_COLUMN not in empty and c.TOKEN_CALL_EDGES_COLUMN not in empty
    assert {c.TOKEN_AST_DEPTH_COLUMN, c.TOKEN_TYPE_EDGES_COLUMN, c.TOKEN_SYMBOL_IDS_COLUMN} <= empty


def _value(kind: Any) -> Any:
    """One value of a column's type, lists of two zeros."""
    import pyarrow as pa

    if pa.types.is_list(kind):
        return [] if pa.types.is_struct(kind.value_type) else [0, 0]
    if pa.types.is_string(kind):
        return "x"
    return [] if pa.types.is_nested(kind) else 0
