"""Verifying a prefix: what the report says, and that every token and every sidecar is looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from megacpp_assets.contract import megatron_files as files
from megacpp_assets.contract.errors import IndexCorrupt
from megacpp_assets.contract.megatron_files import BIN, SidecarRecord, prefix_name
from megacpp_assets.contract.names import TRAIN_SPLIT
from megacpp_assets.megatron.pair import reader
from megacpp_assets.megatron.stage import run
from megacpp_assets.megatron.verify import verify_prefix
from tests.megatron.pairs import VOCABULARY, megatron_spec, part, write_pair
from tests.packed.enriched_documents import DATASET


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a training prefix, to be copied before they are damaged."""
    return run(megatron_spec(tmp_path_factory.mktemp("root"))).directory


@pytest.fixture
def prefix(published: Path, tmp_path: Path) -> Path:
    """A copy of the training prefix."""
    for file in published.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path / prefix_name(DATASET, TRAIN_SPLIT)


def _set_token(prefix: Path, place: int, value: int) -> None:
    tokens = np.memmap(part(prefix, BIN), "<u4", "r+")
    tokens[place] = value
    tokens.flush()


def test_a_plain_pair_without_sidecars_is_verified(tmp_path: Path) -> None:
    tokens = write_pair(tmp_path / "x", [100, 3])
    report = verify_prefix(tmp_path / "x", VOCABULARY)
    assert (report.documents, report.tokens, report.dtype, report.sidecars) == (2, 103, "int32", False)
    assert report.max_token == tokens.max() and report.first_tokens == tuple(tokens[:64].tolist())


def test_a_published_prefix_is_verified_with_its_sidecars(prefix: Path) -> None:
    report = verify_prefix(prefix, 9000)
    assert report.sidecars and report.documents == 270


@pytest.mark.parametrize("place", [0, 511, 1024, 2499])
@pytest.mark.parametrize("value", [VOCABULARY, 2**31 + 5, 2**32 - 1])
def test_one_token_outside_the_vocabulary_is_found_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: int, value: int
) -> None:
    monkeypatch.setattr(reader, "BLOCK", 512)
    write_pair(tmp_path / "x", [1000, 1500])
    _set_token(tmp_path / "x", place, value)
    with pytest.raises(IndexCorrupt, match=rf"x\.bin, token {place}; expected an id from 0 to 131071"):
        verify_prefix(tmp_path / "x", VOCABULARY)


def test_the_vocabulary_size_decides(tmp_path: Path) -> None:
    tokens = write_pair(tmp_path / "x", [50])
    assert verify_prefix(tmp_path / "x", int(tokens.max()) + 1).max_token == tokens.max()
    with pytest.raises(IndexCorrupt):
        verify_prefix(tmp_path / "x", int(tokens.max()))


def _drop_value(suffix: str) -> Callable[[Path], object]:
    return lambda prefix: part(prefix, suffix).write_bytes(part(prefix, suffix).read_bytes()[:-1])


def _set_value(suffix: str, place: int, value: int) -> Callable[[Path], object]:
    (dtype,) = ({"rows": "<i8", "ends": "<u4", "type_edges": "<u2"}[suffix.split(".")[-2]],)

    def plant(prefix: Path) -> None:
        values = np.fromfile(part(prefix, suffix), dtype)
        values[place] = value
        values.tofile(part(prefix, suffix))

    return plant


def _remove(suffix: str) -> Callable[[Path], object]:
    return lambda prefix: part(prefix, suffix).unlink()


def _swap_rows(prefix: Path) -> None:
    rows = np.fromfile(part(prefix, files.ROWS), "<i8")
    rows[[1, 2]] = rows[[2, 1]]
    rows.tofile(part(prefix, files.ROWS))


def _other_count(prefix: Path) -> None:
    path = part(prefix, files.SIDECAR_RECORD)
    record = SidecarRecord.from_bytes(path.read_bytes(), path.name)
    path.write_bytes(replace(record, documents=record.documents - 1).to_bytes())


def _renamed(old: bytes, new: bytes) -> Callable[[Path], object]:
    def plant(prefix: Path) -> None:
        path = part(prefix, files.SIDECAR_RECORD)
        assert old in path.read_bytes()
        path.write_bytes(path.read_bytes().replace(old, new, 1))

    return plant


def _other_folder(prefix: Path) -> None:
    path = part(prefix, files.SIDECAR_RECORD)
    record = SidecarRecord.from_bytes(path.read_bytes(), path.name)
    path.write_bytes(replace(record, rows_path="../elsewhere.bin").to_bytes())


@pytest.mark.parametrize(
    ("plant", "said"),
    [
        *[(_drop_value(files.channel_suffix(name)), f"{name}.bin") for name in ("structure_ids", "node_type_ids")],
        (_remove(files.channel_suffix("dep_levels")), "dep_levels.bin.*no such file"),
        (_drop_value(files.ROWS), "rows.bin"),
        (_swap_rows, "rows.bin.*rise from 0"),
        (_remove(files.DOCUMENTS), "documents.parquet.*no such file"),
        (
            lambda prefix: write_pair(prefix, [3, 4]),
            "the pair of tiny_4k_train.*found 2 documents, 2 sequences, 7 tokens",
        ),
        (_drop_value(files.chunk_suffix("starts")), "chunks.starts.bin; expected .* values of 4 bytes"),
        (_remove(files.chunk_suffix("call_edges")), "chunks.call_edges.bin.*no such file"),
        (_set_value(files.chunk_suffix("rows"), 1, 2**40), "chunks.rows.bin; expected rows that rise from 0"),
        (_set_value(files.chunk_suffix("ends"), 0, 0), "chunks.starts.bin; expected spans in the row"),
        (_set_value(files.chunk_suffix("type_edges"), 0, 60_000), "chunks.type_edges.bin; expected edges between"),
        (_other_count, "rows.bin.*rise from 0 to 269"),
        (_renamed(b'"kinds":', b'"kindz":'), "idx.json.*other parts"),
        (_renamed(b'"|u1"', b'"|u9"'), "idx.json.*a type that is no whole number's"),
        (_other_folder, "idx.json.*outside the prefix's folder"),
        (lambda prefix: part(prefix, files.SIDECAR_RECORD).write_bytes(b"{}"), "idx.json"),
    ],
)
def test_a_damaged_sidecar_is_named(prefix: Path, plant: Callable[[Path], object], said: str) -> None:
    plant(prefix)
    with pytest.raises(IndexCorrupt, match=said):
        verify_prefix(prefix, VOCABULARY)
