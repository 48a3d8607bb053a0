"""Fill-in-the-middle: what was rearranged is restored to the last value, drawn by seed and epoch, in training alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import TRAIN_SPLIT, VALID_SPLIT
from megacpp_assets.contract.recipe.rows import PackingRecipe
from megacpp_assets.contract.tokens.specials import (
    BOS_ID,
    EOS_ID,
    FIM_MARKS,
    FIM_MIDDLE_ID,
    FIM_PREFIX_ID,
    FIM_SUFFIX_ID,
)
from megacpp_assets.loader.rows import open_rows
from megacpp_assets.megatron import stage as megatron
from megacpp_assets.packed.spools.fim import ADDED, MARK, Cut, Draw, marks_of, moved_chunks, order_of, restored_order
from megacpp_assets.packed.stage import run
from megacpp_assets.quality.packed import check
from tests.packed.enriched_documents import DATASET, FMT, MIXTURE, Corpus, document, publish_enriched, small_corpus
from tests.packed.test_stage import _rows


@st.composite
def _cut_documents(draw: st.DrawFn) -> tuple[dict[str, Any], Cut]:
    tokens, seed = draw(st.integers(4, 60)), draw(st.integers(0, 999))
    made = document(FMT, "d", tokens=tokens, chunks=draw(st.integers(0, min(9, tokens - 2))), seed=seed)
    start = draw(st.integers(2, tokens - 2))
    return made, Cut(start, draw(st.integers(start + 1, tokens - 1)), draw(st.booleans()))


def _rearranged(made: dict[str, Any], cut: Cut) -> np.ndarray:
    ids = np.array(made[c.TOKEN_IDS_COLUMN])
    order = order_of(cut, len(ids))
    moved = ids[order]
    moved[order == MARK] = marks_of(cut)
    return moved


@given(_cut_documents())
def test_a_rearranged_document_is_restored(given_: tuple[dict[str, Any], Cut]) -> None:
    made, cut = given_
    ids, moved = np.array(made[c.TOKEN_IDS_COLUMN]), _rearranged(*given_)
    prefix, middle, suffix = ids[1 : cut.start], ids[cut.start : cut.end], ids[cut.end :]
    parts: list[Any] = [[BOS_ID, FIM_PREFIX_ID], prefix, [FIM_SUFFIX_ID], suffix, [FIM_MIDDLE_ID], middle, [EOS_ID]]
    if cut.suffix_first:
        parts = [[BOS_ID, FIM_PREFIX_ID, FIM_SUFFIX_ID], suffix, [FIM_MIDDLE_ID], prefix, middle, [EOS_ID]]
    assert moved.tolist() == np.concatenate(parts).tolist()
    order = restored_order(moved)
    assert order is not None and moved[order].tolist() == ids.tolist()
    assert restored_order(ids) is None


@given(_cut_documents())
def test_a_chunk_keeps_its_tokens_unless_a_cut_goes_through_it(given_: tuple[dict[str, Any], Cut]) -> None:
    made, cut = given_
    ids, moved = made[c.TOKEN_IDS_COLUMN], _rearranged(*given_)
    old = [np.array(made[name], dtype=np.int64) for name in (c.TOKEN_CHUNK_STARTS_COLUMN, c.TOKEN_CHUNK_ENDS_COLUMN)]
    starts, ends, chosen, index_of = moved_chunks(cut, len(ids), *old)
    assert (np.diff(starts) > 0).all()
    for start, end, chunk in zip(starts, ends, chosen, strict=True):
        assert moved[start:end].tolist() == ids[old[0][chunk] : old[1][chunk]]
    cuts = (cut.start, cut.end)
    for chunk, (start, end) in enumerate(zip(*old, strict=True)):
        assert (index_of[chunk] < 0) == any(start < at < end for at in cuts)


@given(st.integers(0, 40), st.integers(4, 200), st.integers(0, 3), st.floats(0, 1))
def test_a_middle_is_between_chunks_with_a_prefix_and_a_suffix(
    chunks: int, tokens: int, epoch: int, spm: float
) -> None:
    made = document(FMT, "d", tokens=tokens, chunks=min(chunks, tokens - 2), seed=chunks)
    starts, ends = (np.array(made[name]) for name in (c.TOKEN_CHUNK_STARTS_COLUMN, c.TOKEN_CHUNK_ENDS_COLUMN))
    draw = Draw(7, 1.0, spm)
    cut = draw.cut("fmt/d", epoch, starts, ends, tokens)
    assert cut == draw.cut("fmt/d", epoch, starts, ends, tokens)
    if cut is not None:
        assert 1 < cut.start < cut.end < tokens and cut.start in starts and cut.end in ends


def test_each_epoch_and_seed_is_drawn_again_with_the_same_shares() -> None:
    starts, ends = np.arange(2, 90), np.arange(3, 91)
    cuts = [Draw(1, 0.5, 0.25).cut(f"fmt/{n}", 0, starts, ends, 100) for n in range(1000)]
    drawn = [cut for cut in cuts if cut is not None]
    assert 450 < len(drawn) < 550 and 0.18 < sum(cut.suffix_first for cut in drawn) / len(drawn) < 0.32
    again = [Draw(1, 0.5, 0.25).cut(f"fmt/{n}", 1, starts, ends, 100) for n in range(1000)]
    assert sum(one == other for one, other in zip(cuts, again, strict=True)) < 400


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return small_corpus(tmp_path_factory.mktemp("fim") / "root", 24)


def test_rows_hold_rearranged_training_documents_and_pass_every_check(corpus: Corpus) -> None:
    spec = replace(corpus.spec(own_repo=FMT.name, own_weight=3.0), packing=PackingRecipe(fim_rate=1.0))
    artifact = run(spec)
    assert [result.name for result in check(artifact) if not result.passed] == []
    stats = artifact.manifest.stats
    assert 0 < stats["rearranged_documents"] <= stats["documents"]
    originals = {record[c.DOC_ID]: record for records in corpus.train.values() for record in records}
    seen: dict[str, set[bytes]] = {}
    for row in _rows(artifact, TRAIN_SPLIT).to_pylist():
        start = 0
        for doc_id, length in zip(row[c.SOURCE_DOC_IDS], row[c.SOURCE_DOC_TOKEN_LENGTHS], strict=True):
            _is_the_original(row, start, length, originals[doc_id])
            seen.setdefault(doc_id, set()).add(bytes(np.array(row[c.INPUT_IDS][start : start + length])))
            start += length
    assert any(len(texts) > 1 for texts in seen.values()), "the three epochs of a document are cut alike"
    valid = np.array(_rows(artifact, VALID_SPLIT)[c.INPUT_IDS].to_pylist())
    assert not np.isin(valid, FIM_MARKS).any()


def _is_the_original(row: dict[str, Any], start: int, length: int, original: dict[str, Any]) -> None:
    ids = np.array(row[c.INPUT_IDS][start : start + length])
    order = restored_order(ids)
    places = np.arange(length) if order is None else order
    assert ids[places].tolist() == original[c.TOKEN_IDS_COLUMN]
    for name in c.TOKEN_METADATA_COLUMNS:
        values = np.array(row[name][start : start + length])
        assert values[places].tolist() == original[name]
        fill = c.PACKED_ROWS_DENSE_FALLBACK_FILL_VALUES[name]
        assert (values[np.setdiff1d(np.arange(length), places)] == fill).all()


def test_a_loader_reads_the_rearranged_documents_that_the_rows_hold(corpus: Corpus) -> None:
    spec = replace(corpus.spec(), packing=PackingRecipe(fim_rate=0.5, fim_spm=1.0))
    rows = _rows(run(spec), TRAIN_SPLIT)
    made = megatron.run(megatron.MegatronBinIdxSpec(spec.root, DATASET, MIXTURE))
    batch = open_rows(made, DATASET).batch(np.arange(rows.num_rows))
    assert batch.input_ids.tolist() == rows[c.INPUT_IDS].to_pylist()
    assert int((batch.input_ids == EOS_ID).sum()) == int(run(spec).manifest.stats["rearranged_documents"]) > 0
    assert batch.loss_mask.astype(int).tolist() == rows[c.LOSS_MASK].to_pylist()


def test_a_document_that_would_no_longer_fit_stays_as_it_is_and_nothing_is_rearranged_unasked(tmp_path: Path) -> None:
    lengths = [4096 - ADDED, 4096 - ADDED + 1]
    made = [document(FMT, f"of-{n}", tokens=n, chunks=20, seed=n) for n in lengths]
    publish_enriched(tmp_path, FMT, [made])
    spec = Corpus(tmp_path, {FMT: []}, {}).spec()
    assert run(spec).manifest.stats["rearranged_documents"] == 0
    assert run(replace(spec, packing=PackingRecipe(fim_rate=1.0))).manifest.stats["rearranged_documents"] == 1
