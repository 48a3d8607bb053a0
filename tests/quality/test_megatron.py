"""Checks of Megatron files: all pass on what the stage makes, and each planted fault is seen by exactly its check."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from megacpp_assets.contract import columns as c
from megacpp_assets.contract import megatron_files as files
from megacpp_assets.contract.names import TRAIN_SPLIT, VALID_SPLIT
from megacpp_assets.contract.tokens.specials import BOS_ID
from megacpp_assets.megatron.stage import MegatronBinIdxSpec, run
from megacpp_assets.packed.stage import run as pack
from megacpp_assets.quality.megatron import CHECKS, check
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.root.layout import packed_path
from tests.megatron.pairs import megatron_spec, part
from tests.packed.enriched_documents import (
    DATASET,
    FMT,
    MIXTURE,
    VOCABULARY,
    Corpus,
    documents,
    publish_enriched,
    publish_tokenizer,
    shard,
)
from tests.quality.planting import pin_another_tokenizer, rewrite, seal

Plant = Callable[[Path], object]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    """Megatron files of a specialist, never changed."""
    return run(megatron_spec(tmp_path_factory.mktemp("root")))


@pytest.fixture
def megatron(made: Artifact, tmp_path: Path) -> Artifact:
    """A copy that a test may damage."""
    shutil.copytree(made.root, tmp_path / "root")
    return replace(made, root=tmp_path / "root")


def _failing(artifact: Artifact) -> list[str]:
    results = check(artifact)
    assert [result.name for result in results] == [check.name for check in CHECKS]
    return [result.name for result in results if not result.passed]


def _prefix(artifact: Artifact, split: str = TRAIN_SPLIT) -> Path:
    return artifact.directory / files.prefix_name(DATASET, split)


def test_files_of_the_stage_pass_every_check(made: Artifact) -> None:
    assert _failing(made) == []


def test_a_mixture_without_validation_documents_passes(tmp_path: Path) -> None:
    publish_enriched(tmp_path, FMT, [documents(FMT, 6, seed=1)])
    pack(Corpus(tmp_path, {FMT: []}, {}).spec())
    assert _failing(run(MegatronBinIdxSpec(tmp_path, DATASET, MIXTURE))) == []


def _write(suffix: str, offset: int, form: str, *values: int) -> Plant:
    def plant(prefix: Path) -> None:
        with part(prefix, suffix).open("r+b") as file:
            file.seek(offset)
            file.write(struct.pack(form, *values))

    return plant


def _append(suffix: str, data: bytes) -> Plant:
    def plant(prefix: Path) -> None:
        with part(prefix, suffix).open("ab") as file:
            file.write(data)

    return plant


def _cut(suffix: str) -> Plant:
    return lambda prefix: part(prefix, suffix).write_bytes(part(prefix, suffix).read_bytes()[:-1])


def _after_lengths(offset_in_pointers: int, value: int, *, boundaries: bool = False) -> Plant:
    def plant(prefix: Path) -> None:
        count = struct.unpack("<Q", part(prefix, files.IDX).read_bytes()[18:26])[0]
        start = 34 + (12 if boundaries else 4) * count
        _write(files.IDX, start + offset_in_pointers, "<q", value)(prefix)

    return plant


def _swap_rows(prefix: Path) -> None:
    rows = np.fromfile(part(prefix, files.ROWS), "<i8")
    rows[[1, 2]] = rows[[2, 1]]
    rows.tofile(part(prefix, files.ROWS))


def _join_rows(prefix: Path) -> None:
    """Two rows become one, longer than T."""
    rows = np.fromfile(part(prefix, files.ROWS), "<i8")
    np.delete(rows, 1).tofile(part(prefix, files.ROWS))


def _swap_documents(prefix: Path) -> None:
    table = pq.read_table(part(prefix, files.DOCUMENTS))
    ids = table[c.DOC_ID].to_pylist()
    ids[0], ids[1] = ids[1], ids[0]
    pq.write_table(table.set_column(1, c.DOC_ID, pa.array(ids)), part(prefix, files.DOCUMENTS))


def _drop_last_document(prefix: Path) -> None:
    table = pq.read_table(part(prefix, files.DOCUMENTS))
    pq.write_table(table.slice(0, table.num_rows - 1), part(prefix, files.DOCUMENTS))


@pytest.mark.parametrize(
    ("plant", "seen"),
    [
        (_write(files.IDX, 0, "<B", 0), "header_is_megatrons"),
        (_write(files.IDX, 9, "<Q", 2), "header_is_megatrons"),
        (_write(files.IDX, 17, "<B", 8), "header_is_megatrons"),
        (_write(files.IDX, 26, "<Q", 1), "header_is_megatrons"),
        (_append(files.IDX, b"\0\0\0\0"), "index_bytes_fit_the_documents"),
        (_append(files.BIN, struct.pack("<I", 77)), "lengths_add_up_to_the_bin"),
        (_after_lengths(8, 4), "pointers_are_the_running_sum"),
        (_after_lengths(8, 0, boundaries=True), "pointers_are_the_running_sum"),
        (_append(files.channel_suffix("dep_levels"), b"\0\0"), "sidecars_are_token_aligned"),
        (_cut(files.channel_suffix("structure_ids")), "sidecars_are_token_aligned"),
        (_cut(files.channel_suffix("ast_depth_ids")), "sidecars_are_token_aligned"),
        (_swap_rows, "row_starts_cover_the_documents"),
        (_join_rows, "row_starts_cover_the_documents"),
        (_swap_documents, "documents_are_listed_in_order"),
        (_drop_last_document, "documents_are_listed_in_order"),
        (_write(files.BIN, 4, "<I", 8999), "tokens_are_those_of_the_rows"),
        (_write(files.channel_suffix("node_type_ids"), 8, "<i", -1), "structure_is_that_of_the_rows"),
        (_write(files.channel_suffix("symbol_ids"), 8, "<I", 7), "structure_is_that_of_the_rows"),
        (_write(files.chunk_suffix("dep_levels"), 0, "<H", 999), "chunks_are_those_of_the_rows"),
        (_write(files.chunk_suffix("call_edges"), 0, "<H", 999), "chunks_are_those_of_the_rows"),
        (_cut(files.chunk_suffix("ends")), "chunks_are_those_of_the_rows"),
        (_write(files.PLATFORMS, 19, "B", 99), "platforms_are_those_of_the_rows"),
        (_cut(files.PLATFORMS), "platforms_are_those_of_the_rows"),
    ],
)
def test_a_planted_fault_is_seen_by_its_check(megatron: Artifact, plant: Plant, seen: str) -> None:
    plant(_prefix(megatron))
    assert _failing(megatron) == [seen]


def test_the_validation_pair_is_looked_at_too(megatron: Artifact) -> None:
    _write(files.BIN, 4, "<I", 8999)(_prefix(megatron, VALID_SPLIT))
    assert _failing(megatron) == ["tokens_are_those_of_the_rows"]


def _plant_token(artifact: Artifact, value: int) -> Artifact:
    """The second token of the corpus becomes `value`, in the rows and in the .bin alike."""
    _write(files.BIN, 4, "<I", value)(_prefix(artifact))
    rows = open_artifact(artifact.root, packed_path(DATASET, MIXTURE))
    rewrite(rows, shard(rows), lambda found: found[0][c.INPUT_IDS].__setitem__(1, value))
    return seal(artifact)


def test_a_token_at_the_vocabulary_size_is_seen(megatron: Artifact) -> None:
    assert _failing(_plant_token(megatron, VOCABULARY)) == ["ids_are_below_the_vocabulary"]


def test_a_bos_inside_a_document_is_seen(megatron: Artifact) -> None:
    assert _failing(_plant_token(megatron, BOS_ID)) == ["bos_opens_each_document_once"]


def test_another_tokenizer_behind_the_rows_is_seen(megatron: Artifact) -> None:
    publish_tokenizer(megatron.root, vocabulary_size=VOCABULARY + 1)
    assert _failing(megatron) == ["ids_are_below_the_vocabulary", "tokenizer_lineage"]


def test_a_missing_split_is_seen(megatron: Artifact) -> None:
    kept = tuple(entry for entry in megatron.manifest.files if "_valid." not in entry.name)
    assert _failing(replace(megatron, manifest=replace(megatron.manifest, files=kept))) == [
        "splits_are_those_of_the_rows"
    ]


def test_an_absurd_sequence_count_is_reported_not_allocated(megatron: Artifact) -> None:
    _write(files.IDX, 18, "<Q", 2**63)(_prefix(megatron))
    assert {"header_is_megatrons", "index_bytes_fit_the_documents"} <= set(_failing(megatron))


def test_a_chain_that_lags_the_locks_tokenizer_fails(megatron: Artifact) -> None:
    assert _failing(pin_another_tokenizer(megatron)) == ["tokenizer_lineage"]
