"""Checks of packed rows: all pass on what the stage makes, and each planted fault is seen by exactly its check."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import VALID_SPLIT
from megacpp_assets.contract.schemas import PACKED
from megacpp_assets.contract.tokens.specials import BOS_ID
from megacpp_assets.packed.stage import run
from megacpp_assets.quality.packed import CHECKS, check
from megacpp_assets.quality.reading.packed import sources as packed_sources
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.root.layout import enriched_path
from tests.packed.enriched_documents import (
    ABSEIL,
    DATASET,
    FMT,
    Corpus,
    documents,
    publish_enriched,
    shard,
    small_corpus,
    table_of,
)
from tests.quality.planting import pin_another_tokenizer, replace_table, seal

Row = dict[str, Any]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    """Packed rows of a specialist, never changed."""
    return run(small_corpus(tmp_path_factory.mktemp("root"), count=36).spec(own_repo=ABSEIL.name))


@pytest.fixture
def packed(made: Artifact, tmp_path: Path) -> Artifact:
    """A copy that a test may damage."""
    shutil.copytree(made.root, tmp_path / "root")
    return replace(made, root=tmp_path / "root")


def _failing(artifact: Artifact) -> list[str]:
    results = check(artifact)
    assert [result.name for result in results] == [check.name for check in CHECKS]
    return [result.name for result in results if not result.passed]


def _plant(artifact: Artifact, change: Callable[[list[Row]], object], name: str = "") -> Artifact:
    name = name or shard(artifact)
    path = artifact.file(name)
    rows = pq.read_table(path).to_pylist()
    change(rows)
    return replace_table(artifact, name, pa.Table.from_pylist(rows, schema=PACKED))


def _two_documents(rows: list[Row]) -> Row:
    """A row of several documents that ends in pads."""
    return next(row for row in rows if row[c.NUM_DOCS] > 1 and row[c.SLACK_TOKENS] > 2)


def test_rows_of_the_stage_pass_every_check(made: Artifact) -> None:
    assert _failing(made) == []


@pytest.mark.parametrize(("own_repo", "own_weight"), [("", 4.0), (FMT.name, 2.5), (FMT.name, 0.5)])
def test_every_kind_of_mixture_passes(tmp_path: Path, own_repo: str, own_weight: float) -> None:
    assert _failing(run(small_corpus(tmp_path, count=24).spec(own_repo, own_weight))) == []


def test_a_mixture_with_several_weights_passes(tmp_path: Path) -> None:
    spec = replace(small_corpus(tmp_path, count=24).spec(), weights={FMT.name: 2.5, ABSEIL.name: 0.5})
    assert _failing(run(spec)) == []


def test_a_mixture_without_validation_documents_passes(tmp_path: Path) -> None:
    publish_enriched(tmp_path, FMT, [documents(FMT, 6, seed=1)])
    assert _failing(run(Corpus(tmp_path, {FMT: []}, {}).spec())) == []


def _wrong_doc_id(rows: list[Row]) -> None:
    row = _two_documents(rows)
    row[c.DOC_IDS][row[c.SOURCE_DOC_TOKEN_LENGTHS][0]] -= 1


def _decreasing_doc_id_on_a_pad(rows: list[Row]) -> None:
    _two_documents(rows)[c.DOC_IDS][-1] = 0


def _target_of_another_token(rows: list[Row]) -> None:
    rows[0][c.TARGET_IDS][5] += 1


def _last_target(rows: list[Row]) -> None:
    rows[0][c.TARGET_IDS][-1] = 7


def _loss_across_documents(rows: list[Row]) -> None:
    row = _two_documents(rows)
    row[c.LOSS_MASK][row[c.SOURCE_DOC_TOKEN_LENGTHS][0] - 1] = 1
    row[c.TRAINED_TOKEN_COUNT] += 1


def _loss_on_a_pad(rows: list[Row]) -> None:
    row = _two_documents(rows)
    row[c.LOSS_MASK][-1] = 1
    row[c.TRAINED_TOKEN_COUNT] += 1


def _other_platform(rows: list[Row]) -> None:
    rows[0][c.SOURCE_PLATFORM_IDS][0] = 112 - rows[0][c.SOURCE_PLATFORM_IDS][0]


def _loss_missing(rows: list[Row]) -> None:
    rows[0][c.LOSS_MASK][0] = 0
    rows[0][c.TRAINED_TOKEN_COUNT] -= 1


def _chunk_past_the_prefix(rows: list[Row]) -> None:
    row = _two_documents(rows)
    row[c.TOKEN_CHUNK_ENDS_COLUMN][-1] = row[c.VALID_TOKEN_COUNT] + 1


def _too_many_chunks(rows: list[Row]) -> None:
    for name in c.PACKED_ROWS_CHUNK_METADATA_COLUMNS[:4]:
        rows[0][name] = (rows[0][name] * 129)[:129]


def _chunk_without_a_kind(rows: list[Row]) -> None:
    rows[0][c.TOKEN_CHUNK_KINDS_COLUMN].pop()


def _edge_to_no_chunk(rows: list[Row]) -> None:
    row = _two_documents(rows)
    row[c.TOKEN_TYPE_EDGES_COLUMN].append({"from": 0, "to": len(row[c.TOKEN_CHUNK_STARTS_COLUMN])})


def _pad_without_its_fill(rows: list[Row]) -> None:
    _two_documents(rows)[c.TOKEN_AST_DEPTH_COLUMN][-1] = 0


def _other_document_name(rows: list[Row]) -> None:
    rows[0][c.SOURCE_DOC_IDS][0] = "nobody"


def _other_structure(rows: list[Row]) -> None:
    row = _two_documents(rows)
    row[c.TOKEN_STRUCTURE_IDS_COLUMN][row[c.VALID_TOKEN_COUNT] - 1] += 1


def _cut_across_documents(rows: list[Row]) -> None:
    row = _two_documents(rows)
    row[c.SOURCE_DOC_TOKEN_LENGTHS][0] += 1
    row[c.SOURCE_DOC_TOKEN_LENGTHS][1] -= 1


def _short_column(rows: list[Row]) -> None:
    _two_documents(rows)[c.TOKEN_DEF_USE_COLUMN].pop()


def _null_list(rows: list[Row]) -> None:
    _two_documents(rows)[c.TARGET_IDS] = None


def _null_value(rows: list[Row]) -> None:
    _two_documents(rows)[c.TOKEN_DEF_USE_COLUMN][-1] = None


def _found(artifact: Artifact, name: str) -> str:
    return next(result.found for result in check(artifact) if result.name == name)


@pytest.mark.parametrize(
    ("plant", "seen", "unit"),
    [
        (_null_value, "rows_are_exactly_t_tokens", "rows"),
        (lambda rows: rows[2].update({c.PACK_ID: 0}), "pack_ids_are_row_numbers", "rows"),
        (_pad_without_its_fill, "pads_carry_fill_values", "pads"),
    ],
)
def test_a_failed_check_of_rows_names_the_first_of_them(
    packed: Artifact, plant: Callable[[list[Row]], object], seen: str, unit: str
) -> None:
    before = pq.read_table(packed.file(shard(packed))).to_pylist()
    planted = _plant(packed, plant)
    after = pq.read_table(planted.file(shard(planted))).to_pylist()
    first = next(row for row, (one, other) in enumerate(zip(before, after, strict=True)) if one != other)
    assert _found(planted, seen) == f"1 {unit} break the rule; the first is row {first} of train"


def test_a_failed_check_of_documents_names_the_first_of_them(packed: Artifact) -> None:
    rows = pq.read_table(packed.file(shard(packed))).to_pylist()
    last = rows[-1][c.SOURCE_DOC_IDS][-1], rows[-1][c.SOURCE_REPOS][-1], len(rows) - 1

    def change(rows: list[Row]) -> None:
        rows[-1][c.TOKEN_STRUCTURE_IDS_COLUMN][rows[-1][c.VALID_TOKEN_COUNT] - 1] += 1

    planted = _plant(packed, change)
    message = _found(planted, "documents_are_whole_and_unchanged")
    assert message == "1 documents break the rule; the first is document {} of {}, row {} of train".format(*last)
    planted = _plant(planted, lambda rows: rows[-1][c.SOURCE_DOC_IDS].__setitem__(-1, "nobody"))
    message = _found(planted, "documents_are_taken_as_the_mixture_says")
    assert message.endswith(f"; the first is document nobody of {last[1]}, row {last[2]} of train")


def test_a_document_that_no_row_takes_is_named(packed: Artifact) -> None:
    rows = pq.read_table(packed.file(shard(packed))).to_pylist()
    lost = zip(rows[-1][c.SOURCE_DOC_IDS], rows[-1][c.SOURCE_REPOS], strict=True)
    planted = _plant(packed, lambda rows: rows.pop())
    message = _found(planted, "documents_are_taken_as_the_mixture_says")
    assert any(message.endswith(f"; the first is document {name} of {repo} of train") for name, repo in lost)


@pytest.mark.parametrize(
    ("plant", "seen"),
    [
        (_short_column, "rows_are_exactly_t_tokens"),
        (_null_list, "rows_are_exactly_t_tokens"),
        (_null_value, "rows_are_exactly_t_tokens"),
        (lambda rows: rows[0].update({c.SLACK_TOKENS: 1}), "counts_agree"),
        (lambda rows: rows[0].update({c.TRAINED_TOKEN_COUNT: 1}), "counts_agree"),
        (lambda rows: rows[1].update({c.PACK_ID: 0}), "pack_ids_are_row_numbers"),
        (_wrong_doc_id, "doc_ids_are_the_bos_inference"),
        (_decreasing_doc_id_on_a_pad, "doc_ids_are_the_bos_inference"),
        (_target_of_another_token, "targets_are_the_shifted_inputs"),
        (_last_target, "targets_are_the_shifted_inputs"),
        (_loss_across_documents, "loss_mask_stays_inside_documents"),
        (_loss_on_a_pad, "loss_mask_stays_inside_documents"),
        (_loss_missing, "loss_mask_stays_inside_documents"),
        (_chunk_past_the_prefix, "chunk_spans_are_inside_the_valid_prefix"),
        (_too_many_chunks, "chunk_spans_are_inside_the_valid_prefix"),
        (_chunk_without_a_kind, "chunk_spans_are_inside_the_valid_prefix"),
        (_edge_to_no_chunk, "edges_are_between_chunks_of_the_row"),
        (_pad_without_its_fill, "pads_carry_fill_values"),
        (_other_document_name, "documents_are_taken_as_the_mixture_says"),
        (_other_structure, "documents_are_whole_and_unchanged"),
        (_other_platform, "documents_are_whole_and_unchanged"),
        (lambda rows: rows[0][c.SOURCE_PLATFORM_IDS].pop(), "counts_agree"),
        (_cut_across_documents, "documents_are_whole_and_unchanged"),
    ],
)
def test_a_planted_fault_is_seen_by_its_check(
    packed: Artifact, plant: Callable[[list[Row]], object], seen: str
) -> None:
    assert _failing(_plant(packed, plant)) == [seen]


def test_a_missing_required_column_is_seen(packed: Artifact) -> None:
    first = shard(packed)
    results = check(replace_table(packed, first, pq.read_table(packed.file(first)).drop_columns([c.DOC_IDS])))
    assert results[0].found == f"{first}: {c.DOC_IDS}" and not any(result.passed for result in results)


def test_a_column_of_another_type_is_seen(packed: Artifact) -> None:
    file, name = shard(packed, VALID_SPLIT), c.PACK_ID
    table = pq.read_table(packed.file(file))
    assert not check(replace_table(packed, file, table.set_column(0, name, table[name].cast(pa.int32()))))[0].passed


def test_a_second_bos_in_a_document_is_seen_even_if_its_source_has_it_too(packed: Artifact) -> None:
    doubled: list[str] = []

    def in_the_row(rows: list[Row]) -> None:
        row = next(row for row in rows if row[c.SOURCE_REPOS][-1] == FMT.name)
        first = row[c.VALID_TOKEN_COUNT] - row[c.SOURCE_DOC_TOKEN_LENGTHS][-1]
        doubled.append(row[c.SOURCE_DOC_IDS][-1])
        row[c.INPUT_IDS][first + 1] = row[c.TARGET_IDS][first] = BOS_ID
        row[c.DOC_IDS][first + 1 :] = [doc + 1 for doc in row[c.DOC_IDS][first + 1 :]]
        row[c.LOSS_MASK][first] = 0
        row[c.TRAINED_TOKEN_COUNT] -= 1

    planted = _plant(packed, in_the_row)
    source = open_artifact(packed.root, enriched_path(DATASET, FMT))
    for name in (c.of_budget(4096, c.parquet_shard(0)), c.of_budget(4096, c.parquet_shard(1))):
        records = pq.read_table(source.file(name)).to_pylist()
        for record in records:
            if record[c.DOC_ID] in doubled:
                record[c.TOKEN_IDS_COLUMN][1] = BOS_ID
        source = replace_table(source, name, table_of(records))
    assert _failing(seal(planted)) == ["bos_count_is_num_docs"]


def test_a_lost_row_is_seen(packed: Artifact) -> None:
    lost = _plant(packed, lambda rows: rows.pop())
    assert _failing(lost) == ["documents_are_taken_as_the_mixture_says", "tokens_are_conserved"]


def test_sources_are_read_once_for_mixtures_in_a_row_and_anew_where_one_has_changed(
    packed: Artifact, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    original = packed_sources._source_documents

    def noted(paths: list[Path], *rest: Any) -> Any:
        read.extend(paths)
        return original(paths, *rest)

    monkeypatch.setattr(packed_sources, "_source_documents", noted)
    assert _failing(packed) == []
    sources = len(read)
    assert sources and _failing(packed) == [] and len(read) == sources
    read[0].write_bytes(read[0].read_bytes())
    assert _failing(packed) == [] and len(read) == 2 * sources


def test_a_sum_of_a_fraction_that_is_not_exact_is_seen(tmp_path: Path) -> None:
    made = run(small_corpus(tmp_path, count=36).spec(own_repo=FMT.name, own_weight=2.5))
    assert _failing(made) == []
    config = {**made.manifest.config, "weights": {FMT.name: 2.45}}
    other = replace(made, manifest=replace(made.manifest, config=config))
    assert _failing(other) == ["documents_are_taken_as_the_mixture_says"]


def test_statistics_that_count_other_tokens_are_seen(packed: Artifact) -> None:
    stats = {**packed.manifest.stats, "tokens": packed.manifest.stats["tokens"] + 1}
    assert _failing(replace(packed, manifest=replace(packed.manifest, stats=stats))) == ["tokens_are_conserved"]


def test_statistics_that_count_other_rearranged_documents_are_seen(packed: Artifact) -> None:
    stats = {**packed.manifest.stats, "rearranged_documents": 1}
    changed = replace(packed, manifest=replace(packed.manifest, stats=stats))
    assert _failing(changed) == ["fill_in_the_middle_is_of_training_alone"]


def test_a_document_of_the_wrong_split_is_seen(packed: Artifact) -> None:
    shutil.copyfile(packed.file(shard(packed)), packed.file(shard(packed, VALID_SPLIT)))
    assert set(_failing(seal(packed))) == {"documents_are_taken_as_the_mixture_says", "tokens_are_conserved"}


@pytest.mark.parametrize("name", ["a[b]", "a*b", "a?b", "a'b", "[!a]{b,c}%41 #"])
def test_a_data_root_is_never_taken_for_a_pattern(tmp_path: Path, name: str) -> None:
    (tmp_path / "ab").mkdir()
    packed = run(small_corpus(tmp_path / name).spec(own_repo="fmt"))
    assert _failing(packed) == []


def test_a_chain_that_lags_the_locks_tokenizer_fails(packed: Artifact) -> None:
    assert _failing(pin_another_tokenizer(packed)) == ["tokenizer_lineage"]
