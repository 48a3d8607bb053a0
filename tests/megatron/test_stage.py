"""`megatron_bin_idx` over packed rows: all tokens and structure values survive, in the order of rows, unpadded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from megacpp_assets.contract import columns as c
from megacpp_assets.contract import megatron_files as files
from megacpp_assets.contract.canonical import sha256_file
from megacpp_assets.contract.errors import LineageGap, SchemaViolation
from megacpp_assets.contract.names import SPLITS, TRAIN_SPLIT
from megacpp_assets.contract.tokens.specials import BOS_ID
from megacpp_assets.megatron.pair.reader import open_bin_idx, token_starts
from megacpp_assets.megatron.sidecars.sidecars import open_sidecars
from megacpp_assets.megatron.stage import MegatronBinIdxSpec, run
from megacpp_assets.packed.stage import run as pack
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.publish import Publication, Target, publish
from megacpp_assets.storage.root.layout import packed_path
from tests.megatron.pairs import megatron_spec, part
from tests.packed.enriched_documents import DATASET, FMT, MIXTURE, Corpus, documents, publish_enriched, shard


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> MegatronBinIdxSpec:
    """Packed rows of a specialist."""
    return megatron_spec(tmp_path_factory.mktemp("root"))


def _prefix(artifact: Artifact, split: str) -> Path:
    return artifact.directory / files.prefix_name(DATASET, split)


def _packed_rows(root: Path, split: str) -> list[dict[str, Any]]:
    packed = open_artifact(root, packed_path(DATASET, MIXTURE))
    return [
        row
        for file in packed.files(".parquet")
        if file.name.startswith(split)
        for row in pq.read_table(file).to_pylist()
    ]


@pytest.mark.parametrize("split", SPLITS)
def test_every_packed_token_and_structure_value_is_written_in_order(spec: MegatronBinIdxSpec, split: str) -> None:
    prefix, rows = _prefix(run(spec), split), _packed_rows(spec.root, split)
    data, sidecars = open_bin_idx(prefix), open_sidecars(prefix)
    assert sidecars is not None

    def values(column: str) -> list[int]:
        return [value for row in rows for value in row[column][: row[c.VALID_TOKEN_COUNT]]]

    assert data.tokens.tolist() == values(c.INPUT_IDS)
    starts = token_starts(data, sidecars.row_starts)
    for channel, column in c.SIDE_CHANNELS.items():
        for number, row in enumerate(rows):
            found = sidecars.channels[channel].consecutive(number, starts[number : number + 2])
            assert found.tolist() == row[column][: row[c.VALID_TOKEN_COUNT]], channel
    assert data.lengths.tolist() == [length for row in rows for length in row[c.SOURCE_DOC_TOKEN_LENGTHS]]
    table = pq.read_table(sidecars.documents_path)
    assert table[c.SEQUENCE].to_pylist() == list(range(data.documents))
    assert table[c.DOC_ID].to_pylist() == [doc for row in rows for doc in row[c.SOURCE_DOC_IDS]]
    assert table[c.REPO].to_pylist() == [repo for row in rows for repo in row[c.SOURCE_REPOS]]
    assert table[c.TOKENS].to_pylist() == data.lengths.tolist()
    assert sidecars.platforms.reshape(-1).tolist() == [each for row in rows for each in row[c.SOURCE_PLATFORM_IDS]]
    assert sidecars.platforms.any()


@pytest.mark.parametrize("split", SPLITS)
def test_chunks_and_edges_of_the_packed_rows_are_there_row_by_row(spec: MegatronBinIdxSpec, split: str) -> None:
    sidecars, rows = open_sidecars(_prefix(run(spec), split)), _packed_rows(spec.root, split)
    assert sidecars is not None
    found = sidecars.chunks.lists(np.arange(len(rows))).table().to_pylist()
    assert found == [{name: row[name] for name in c.PACKED_ROWS_CHUNK_METADATA_COLUMNS} for row in rows]
    assert sidecars.record.chunk_counts["chunks"] == sum(len(row[c.TOKEN_CHUNK_STARTS_COLUMN]) for row in rows) > 0


@pytest.mark.parametrize("split", SPLITS)
def test_row_starts_rebuild_exactly_the_packed_rows(spec: MegatronBinIdxSpec, split: str) -> None:
    prefix, rows = _prefix(run(spec), split), _packed_rows(spec.root, split)
    data, sidecars = open_bin_idx(prefix), open_sidecars(prefix)
    assert sidecars is not None and sidecars.record.rows == len(rows)
    for row, first, end in zip(rows, sidecars.row_starts[:-1], sidecars.row_starts[1:], strict=True):
        rebuilt = np.concatenate([data.document(index) for index in range(first, end)])
        assert rebuilt.tolist() == row[c.INPUT_IDS][: row[c.VALID_TOKEN_COUNT]]


def test_statistics_name_the_train_bin_by_its_hash(spec: MegatronBinIdxSpec) -> None:
    artifact = run(spec)
    stats, packed = artifact.manifest.stats, open_artifact(spec.root, packed_path(DATASET, MIXTURE)).manifest.stats
    assert stats["bin_sha256"] == sha256_file(part(_prefix(artifact, TRAIN_SPLIT), files.BIN))
    for name in ("documents", "tokens", "rows", "valid_documents", "valid_tokens", "valid_rows", "row_tokens"):
        assert stats[name] == packed[name]
    assert stats["vocabulary_size"] == 9000


def test_files_have_the_names_of_the_contract(spec: MegatronBinIdxSpec) -> None:
    channels = [*"structure_ids dep_levels ast_depth_ids sibling_index_ids node_type_ids roles".split(),
                *"symbol_ids call_targets type_refs def_use".split(),
                *"change_mask_pre change_mask_post hunk_id_per_token edit_op_per_token".split()]  # fmt: skip
    chunks = "rows starts ends kinds dep_levels call_edges.rows call_edges type_edges.rows type_edges".split()
    suffixes = [".bin", ".idx", ".idx.json", ".rows.bin", ".documents.parquet", ".platforms.bin"]
    suffixes += [f".{channel}.bin" for channel in channels] + [f".chunks.{name}.bin" for name in chunks]
    names = {f"{DATASET}_{split}{suffix}" for split in ("train", "valid") for suffix in suffixes}
    assert {entry.name for entry in run(spec).manifest.files} == names


def test_two_roots_give_the_same_bytes(spec: MegatronBinIdxSpec, tmp_path: Path) -> None:
    again = run(megatron_spec(tmp_path / "another" / "root"))
    assert again.manifest == run(spec).manifest


def test_without_validation_rows_there_is_no_valid_pair(tmp_path: Path) -> None:
    publish_enriched(tmp_path, FMT, [documents(FMT, 4, seed=1)])
    pack(Corpus(tmp_path, {FMT: []}, {}).spec())
    artifact = run(MegatronBinIdxSpec(tmp_path, DATASET, MIXTURE))
    assert not any("_valid" in entry.name for entry in artifact.manifest.files)
    assert artifact.manifest.stats["valid_documents"] == 0


def _republish(
    spec: MegatronBinIdxSpec, root: Path, change: dict[str, list[Any]], dropped: tuple[str, ...] = ()
) -> MegatronBinIdxSpec:
    """Packed rows of `spec` under `root` with columns of the first training file replaced or dropped."""
    megatron_spec(root)
    packed = open_artifact(root, packed_path(DATASET, MIXTURE))
    table = pq.read_table(packed.file(shard(packed)))
    for name, values in change.items():
        index = table.schema.get_field_index(name)
        table = table.set_column(index, table.schema.field(name), pa.array(values, table.schema.field(name).type))
    table = table.drop_columns(list(dropped))

    def produce(publication: Publication, inputs: tuple[Artifact, ...]) -> dict[str, Any]:
        with publication.file(c.packed_shard(TRAIN_SPLIT, 0, "0" * 64)) as pending:
            pq.write_table(table, pending.path)
            pending.rows = table.num_rows
        return {}

    manifest = packed.manifest
    inputs = tuple(reference.path for reference in manifest.inputs)
    publish(Target(root, packed.path, "packed_rows", MIXTURE.key, "planted", manifest.config, inputs), produce)
    return MegatronBinIdxSpec(root, DATASET, MIXTURE)


def _first_row(spec: MegatronBinIdxSpec, column: str) -> list[Any]:
    return [row[column] for row in _packed_rows(spec.root, TRAIN_SPLIT)]


def test_rows_without_a_required_column_are_rejected_before_they_are_read(
    spec: MegatronBinIdxSpec, tmp_path: Path
) -> None:
    with pytest.raises(SchemaViolation, match="expected the columns target_ids, num_docs; found pack_id, input_ids"):
        run(_republish(spec, tmp_path, {}, dropped=(c.TARGET_IDS, c.NUM_DOCS)))


def test_lengths_that_do_not_fill_the_row_are_rejected(spec: MegatronBinIdxSpec, tmp_path: Path) -> None:
    lengths = _first_row(spec, c.SOURCE_DOC_TOKEN_LENGTHS)
    lengths[0][0] += 1
    with pytest.raises(SchemaViolation, match="add up to valid_token_count"):
        run(_republish(spec, tmp_path, {c.SOURCE_DOC_TOKEN_LENGTHS: lengths}))


def test_a_document_that_does_not_begin_with_bos_is_rejected(spec: MegatronBinIdxSpec, tmp_path: Path) -> None:
    tokens = _first_row(spec, c.INPUT_IDS)
    tokens[0][:2] = [77, BOS_ID]
    with pytest.raises(SchemaViolation, match="one BOS per document"):
        run(_republish(spec, tmp_path, {c.INPUT_IDS: tokens}))


def test_a_token_outside_the_vocabulary_is_rejected(spec: MegatronBinIdxSpec, tmp_path: Path) -> None:
    tokens = _first_row(spec, c.INPUT_IDS)
    tokens[0][1] = 9000
    with pytest.raises(SchemaViolation, match="ids from 0 to 8999; found 2 to 9000"):
        run(_republish(spec, tmp_path, {c.INPUT_IDS: tokens}))


def test_a_short_row_is_rejected(spec: MegatronBinIdxSpec, tmp_path: Path) -> None:
    tokens = _first_row(spec, c.INPUT_IDS)
    tokens[0].pop()
    with pytest.raises(SchemaViolation, match="packed rows, input_ids"):
        run(_republish(spec, tmp_path, {c.INPUT_IDS: tokens}))


def test_packed_rows_that_are_absent_are_named(tmp_path: Path) -> None:
    with pytest.raises(LineageGap, match="packed/tiny_4k/small_cpp/4k"):
        run(MegatronBinIdxSpec(tmp_path, DATASET, MIXTURE))
