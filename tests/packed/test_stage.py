"""`packed_rows` over published enriched artifacts: mixtures, splits, conservation, reproducibility, refusals."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.canonical import sha256_file
from megacpp_assets.contract.errors import LineageGap, PackOverflow, SpecError
from megacpp_assets.contract.names import TRAIN_SPLIT, VALID_SPLIT
from megacpp_assets.contract.partition import Mixture
from megacpp_assets.contract.recipe.rows import PackingRecipe
from megacpp_assets.contract.schemas import PACKED
from megacpp_assets.packed import stage
from megacpp_assets.packed.stage import run
from megacpp_assets.packed.strategies.choose import STRATEGIES
from megacpp_assets.quality.packed import check
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.jsonl import write_lines
from tests.packed.enriched_documents import (
    ABSEIL,
    FMT,
    Corpus,
    document,
    documents,
    publish_enriched,
    shard,
    small_corpus,
)
from tests.quality.planting import seal


def _rows(artifact: Artifact, split: str) -> pa.Table:
    files = [file for file in artifact.files(".parquet") if file.name.startswith(split)]
    return pa.concat_tables([pq.read_table(file) for file in files])


def _taken(artifact: Artifact, split: str = TRAIN_SPLIT) -> Counter[str]:
    return Counter(doc for row in _rows(artifact, split)[c.SOURCE_DOC_IDS].to_pylist() for doc in row)


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return small_corpus(tmp_path / "root")


def test_a_row_holds_no_more_documents_than_slots_for_chunks_where_they_have_none(tmp_path: Path) -> None:
    made = [document(FMT, f"d{number}", tokens=3, chunks=0, seed=number) for number in range(300)]
    publish_enriched(tmp_path, FMT, [made])
    rows = _rows(run(Corpus(tmp_path, {FMT: made}, {}).spec()), TRAIN_SPLIT)
    assert max(rows[c.NUM_DOCS].to_pylist()) == 128 and sum(rows[c.NUM_DOCS].to_pylist()) == 300


def test_the_base_model_sees_every_document_once(corpus: Corpus) -> None:
    artifact = run(corpus.spec())
    assert _taken(artifact) == Counter(record[c.DOC_ID] for records in corpus.train.values() for record in records)


def test_a_specialist_sees_its_own_repository_four_times_and_validates_on_the_same_rows(corpus: Corpus) -> None:
    special = run(corpus.spec(own_repo=ABSEIL.name))
    expected: Counter[str] = Counter()
    for repo, records in corpus.train.items():
        expected.update({record[c.DOC_ID]: 4 if repo == ABSEIL else 1 for record in records})
    assert _taken(special) == expected
    assert special.manifest.stats["documents_per_repo"] == {ABSEIL.key: 120, FMT.key: 60}
    base = run(corpus.spec(mixture=Mixture("base", "4k")))
    assert _rows(special, VALID_SPLIT).equals(_rows(base, VALID_SPLIT))


def test_rows_have_the_schema_and_are_numbered_in_order(corpus: Corpus) -> None:
    artifact = run(corpus.spec())
    for split, name in ((TRAIN_SPLIT, "rows"), (VALID_SPLIT, "valid_rows")):
        table = _rows(artifact, split)
        assert table.schema == PACKED
        assert table[c.PACK_ID].to_pylist() == list(range(artifact.manifest.stats[name]))


def test_statistics_are_counts_of_the_rows(corpus: Corpus) -> None:
    artifact = run(corpus.spec())
    stats, rows = artifact.manifest.stats, _rows(artifact, TRAIN_SPLIT)
    assert stats["tokens"] == sum(rows[c.VALID_TOKEN_COUNT].to_pylist()) == sum(stats["tokens_per_repo"].values())
    assert stats["documents"] == sum(rows[c.NUM_DOCS].to_pylist()) == 90
    assert stats["valid_documents"] == 15
    assert stats["utilisation_ppm"] == stats["tokens"] * 1_000_000 // (rows.num_rows * 4096)
    assert (stats["row_tokens"], stats["max_chunks"]) == (4096, 128)


def test_two_roots_two_orders_of_repositories_give_the_same_bytes(tmp_path: Path) -> None:
    digests = []
    for name, reverse in (("a", False), ("somewhere/else", True)):
        spec = small_corpus(tmp_path / name).spec(own_repo=FMT.name, own_weight=2.5)
        artifact = run(replace(spec, repos=spec.repos[::-1]) if reverse else spec)
        digests.append([sha256_file(file) for file in artifact.files("")] + [artifact.manifest.sha256])
    assert digests[0] == digests[1]


def test_a_rerun_does_nothing(corpus: Corpus) -> None:
    artifact = run(corpus.spec())
    before = {file: file.stat().st_mtime_ns for file in artifact.files("")}
    assert run(corpus.spec()).manifest == artifact.manifest
    assert {file: file.stat().st_mtime_ns for file in artifact.files("")} == before


def test_long_runs_of_rows_are_cut_into_files_and_blocks(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = _rows(run(corpus.spec()), TRAIN_SPLIT)
    monkeypatch.setattr(stage, "FILE_TOKENS", 7 * 4096)
    monkeypatch.setattr(stage, "BLOCK_TOKENS", 2 * 4096)
    monkeypatch.setattr(stage, "VERSION", "small files")
    artifact = run(corpus.spec())
    entries = [entry for entry in artifact.manifest.files if entry.name.startswith(TRAIN_SPLIT)]
    assert [entry.rows for entry in entries] == [7] * (whole.num_rows // 7) + [whole.num_rows % 7] * (
        whole.num_rows % 7 > 0
    )
    assert pq.ParquetFile(artifact.file(shard(artifact))).metadata.num_row_groups == 4
    assert _rows(artifact, TRAIN_SPLIT).equals(whole)


def test_nothing_but_the_rows_is_left_behind(corpus: Corpus) -> None:
    artifact = run(corpus.spec())
    names = {entry.name for entry in artifact.manifest.files}
    assert {path.name for path in artifact.directory.iterdir()} == names | {c.MANIFEST_FILE, c.COMPLETE_FILE}


def test_longer_phases_pack_longer_rows(corpus: Corpus) -> None:
    artifact = run(replace(corpus.spec(mixture=Mixture("base", "16k")), row_tokens=16_384))
    assert {len(row) for row in _rows(artifact, TRAIN_SPLIT)[c.INPUT_IDS].to_pylist()} == {16_384}


def test_a_phase_packs_the_documents_of_its_own_budget(tmp_path: Path) -> None:
    long = document(FMT, "long", tokens=40_000, chunks=1200, seed=1)
    publish_enriched(tmp_path, FMT, [[long, *documents(FMT, 3, seed=1)]], budget=65_536)
    spec = replace(Corpus(tmp_path, {FMT: []}, {}).spec(mixture=Mixture("base", "64k")), row_tokens=65_536)
    rows = _rows(run(replace(spec, document_tokens=65_536)), TRAIN_SPLIT)
    assert 40_000 in rows[c.SOURCE_DOC_TOKEN_LENGTHS][0].as_py() and rows.num_rows == 1
    with pytest.raises(
        LineageGap, match=r"fmt@11.0.0; expected documents of the set 4096; found 65536; what to do: add"
    ):
        run(replace(spec, document_tokens=4096))


def test_a_document_longer_than_the_row_stops_the_stage_by_name(tmp_path: Path) -> None:
    long = document(FMT, "too-long", tokens=4097, chunks=3, seed=1)
    publish_enriched(tmp_path, FMT, [[*documents(FMT, 3, seed=1), long]])
    with pytest.raises(PackOverflow, match=r"document fmt:too-long.*4096 tokens.*4097"):
        run(Corpus(tmp_path, {FMT: []}, {}).spec())


def test_a_document_with_too_many_chunks_stops_the_stage_by_name(tmp_path: Path) -> None:
    publish_enriched(tmp_path, FMT, [[document(FMT, "dense", tokens=900, chunks=129, seed=1)]])
    with pytest.raises(PackOverflow, match=r"document fmt:dense.*128 chunks.*129"):
        run(Corpus(tmp_path, {FMT: []}, {}).spec())


def _lines(artifact: Artifact, split: str) -> list[dict[str, Any]]:
    data = zstandard.ZstdDecompressor().decompress(artifact.file(c.overflow_file(split)).read_bytes())
    return [orjson.loads(line) for line in data.splitlines()]


def test_too_long_documents_are_written_whole_to_the_overflow_file(tmp_path: Path) -> None:
    long = document(FMT, "too-long", tokens=4097, chunks=3, seed=1)
    dense = document(FMT, "dense", tokens=900, chunks=129, seed=1)
    full = document(FMT, "exactly-t", tokens=4096, chunks=3, seed=2)
    publish_enriched(tmp_path, FMT, [[long, *documents(FMT, 3, seed=1)], [full, dense]], [long])
    spec = replace(Corpus(tmp_path, {FMT: []}, {}).spec(), packing=PackingRecipe(overflow="file"))
    artifact = run(spec)
    assert _lines(artifact, TRAIN_SPLIT) == [long, dense] and _lines(artifact, VALID_SPLIT) == [long]
    assert sorted(_taken(artifact)) == ["exactly-t", "fmt-1-0", "fmt-1-1", "fmt-1-2"]
    assert artifact.manifest.stats["overflow_documents"] == 2 and artifact.manifest.stats["left_out_per_repo"] == {
        FMT.key: 0
    }
    assert [result.name for result in check(artifact) if not result.passed] == []
    write_lines(artifact.file(c.overflow_file(TRAIN_SPLIT)), [orjson.dumps(long) + b"\n"])
    (failed,) = (result for result in check(seal(artifact)) if not result.passed)
    expected = f"first line 2 of {c.overflow_file(TRAIN_SPLIT)} for document dense of {dense[c.REPO]}"
    assert failed.name == "overflow_is_kept" and failed.found == f"1 lines break the rule, {expected}"


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_every_strategy_gives_rows_that_pass_every_check_and_the_same_bytes_again(
    tmp_path: Path, strategy: str
) -> None:
    digests = []
    for name in ("a", "b"):
        spec = replace(small_corpus(tmp_path / name, 24).spec(own_repo=FMT.name), packing=PackingRecipe(strategy))
        artifact = run(spec)
        assert [result.name for result in check(artifact) if not result.passed] == []
        digests.append(artifact.manifest.sha256)
    assert digests[0] == digests[1]


def test_files_of_rows_are_named_by_their_content(corpus: Corpus) -> None:
    for entry in run(corpus.spec()).manifest.files:
        assert entry.name.endswith(f"_{entry.sha256[:12]}.parquet")


def test_without_validation_documents_there_are_no_validation_files(tmp_path: Path) -> None:
    publish_enriched(tmp_path, FMT, [documents(FMT, 5, seed=1)])
    artifact = run(Corpus(tmp_path, {FMT: []}, {}).spec())
    assert [entry.name for entry in artifact.manifest.files] == [shard(artifact)]
    assert artifact.manifest.stats["valid_rows"] == 0


def test_without_training_documents_the_stage_says_so(tmp_path: Path) -> None:
    publish_enriched(tmp_path, FMT, [[]], documents(FMT, 2, seed=1))
    with pytest.raises(SpecError, match="at least one training document"):
        run(Corpus(tmp_path, {FMT: []}, {}).spec())


def test_a_changed_input_is_rejected(corpus: Corpus) -> None:
    shard = corpus.root / "enriched" / "tiny_4k" / FMT.key / c.of_budget(4096, c.parquet_shard(0))
    data = bytearray(shard.read_bytes())
    data[len(data) // 2] ^= 1
    shard.write_bytes(data)
    with pytest.raises(LineageGap, match=c.parquet_shard(0)):
        run(corpus.spec())


def test_a_specialist_of_an_unknown_repository_is_rejected(corpus: Corpus) -> None:
    with pytest.raises(SpecError, match="folly among its repositories"):
        corpus.spec(own_repo="folly")


def test_a_repository_in_two_versions_is_rejected(corpus: Corpus) -> None:
    with pytest.raises(SpecError, match="each repository once"):
        replace(corpus.spec(), repos=(FMT, replace(FMT, ref="10.0.0")))
