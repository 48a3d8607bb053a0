"""Batches against the rows they were made from, rebuilt one token at a time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from megacpp_assets.contract import megatron_files as files
from megacpp_assets.contract.columns import ROLES, SIDE_CHANNELS
from megacpp_assets.contract.errors import IndexCorrupt, LineageGap, SpecError
from megacpp_assets.loader.rows import open_rows
from megacpp_assets.storage.artifact import Artifact
from tests.loader.rows_artifact import DATASET, PREFIX, Document, index_bytes, publish_rows, random_rows
from tests.quality.planting import seal

STRUCTURE = {"structure_ids": 0, "dep_levels": 0, "ast_depth_ids": -1, "sibling_index_ids": -1, "node_type_ids": -1}
FILLS = {**STRUCTURE, ROLES: 0}


def slow_row(row: list[Document], row_tokens: int) -> dict[str, list[int]]:
    """A padded row with its derived columns, token by token."""
    out: dict[str, list[int]] = {"input": [], "doc": [], **{channel: [] for channel in FILLS}}
    for number, document in enumerate(row):
        for position, token in enumerate(document.tokens):
            out["input"].append(int(token))
            out["doc"].append(number)
            for channel in FILLS:
                out[channel].append(int(document.channels[channel][position]))
    valid = len(out["input"])
    for _ in range(row_tokens - valid):
        out["input"].append(0)
        out["doc"].append(len(row) - 1)
        for channel, fill in FILLS.items():
            out[channel].append(fill)
    out["target"] = [*out["input"][1:], 0]
    out["mask"] = [int(i + 1 < valid and out["doc"][i] == out["doc"][i + 1]) for i in range(row_tokens)]
    out["valid"] = [valid]
    return out


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000), row_tokens=st.integers(12, 60))
def test_a_batch_equals_the_rows_it_was_made_from(
    tmp_path_factory: pytest.TempPathFactory, seed: int, row_tokens: int
) -> None:
    rows = random_rows(rows=7, row_tokens=row_tokens, seed=seed)
    packed = open_rows(publish_rows(tmp_path_factory.mktemp("root"), rows, row_tokens), DATASET)
    chosen = np.array([6, 0, 3, 3])
    batch = packed.batch(chosen)
    assert len(packed) == 7 and packed.row_tokens == row_tokens
    for line, number in enumerate(chosen):
        expected = slow_row(rows[number], row_tokens)
        assert batch.input_ids[line].tolist() == expected["input"]
        assert batch.target_ids[line].tolist() == expected["target"]
        assert batch.loss_mask[line].tolist() == [bool(value) for value in expected["mask"]]
        assert batch.doc_ids[line].tolist() == expected["doc"]
        assert batch.valid_token_count[line] == expected["valid"][0]
        for channel in FILLS:
            found = batch.roles if channel == ROLES else batch.structure[channel]
            assert found[line].tolist() == expected[channel]


def test_every_batch_has_the_same_keys_shapes_and_dtypes(tmp_path: Path) -> None:
    packed = open_rows(publish_rows(tmp_path, random_rows(rows=3, row_tokens=32), 32), DATASET)
    for row in range(3):
        batch = packed.batch(np.array([row, row]))
        arrays = {
            **{f"structure.{name}": values for name, values in batch.structure.items()},
            **{name: getattr(batch, name) for name in ("input_ids", "target_ids", "doc_ids", "roles", "loss_mask")},
        }
        assert {name: (values.shape, str(values.dtype)) for name, values in arrays.items()} == {
            name: ((2, 32), "bool" if name == "loss_mask" else "int32") for name in arrays
        }
        assert {*batch.structure, ROLES} == set(FILLS)


def test_a_row_that_does_not_exist_is_rejected(tmp_path: Path) -> None:
    packed = open_rows(publish_rows(tmp_path, random_rows(rows=3, row_tokens=32), 32), DATASET)
    with pytest.raises(IndexError):
        packed.batch(np.array([3]))


@pytest.mark.parametrize("rows", [[True, False, True], [0.5], 0, [[0]], slice(0, 2), ["0"]])
def test_what_are_no_row_numbers_is_rejected(tmp_path: Path, rows: Any) -> None:
    """As numbers, the values of a mask would be rows 0 and 1."""
    packed = open_rows(publish_rows(tmp_path, random_rows(rows=3, row_tokens=32), 32), DATASET)
    with pytest.raises(SpecError, match="expected a list or a vector of row numbers"):
        packed.batch(rows)
    assert len(packed.batch([]).input_ids) == 0 and len(packed.batch(np.array([2, 0], np.uint8)).input_ids) == 2


def damaged(artifact: Artifact, suffix: str, change: slice, value: bytes) -> Artifact:
    """The artifact with bytes of one file replaced, sealed anew."""
    file = artifact.file(PREFIX + suffix)
    data = bytearray(file.read_bytes())
    data[change] = value
    file.write_bytes(data)
    return seal(artifact)


@pytest.mark.parametrize(
    ("suffix", "change", "value", "message"),
    [
        (files.IDX, slice(0, 2), b"XX", "MMIDIDX"),
        (files.BIN, slice(-4, None), b"", "size in bytes"),
        (files.BIN, slice(0, 4), b"\x09\0\0\0", "BOS at the start"),
        (files.channel_suffix("dep_levels"), slice(-2, None), b"", "values of"),
        (files.ROWS, slice(8, 16), b"\0" * 8, "cover sequences"),
        (files.ROWS, slice(0, 8), b"\x01" + b"\0" * 7, "cover sequences"),
    ],
)
def test_files_that_contradict_each_other_are_rejected(
    tmp_path: Path, suffix: str, change: slice, value: bytes, message: str
) -> None:
    artifact = publish_rows(tmp_path, random_rows(rows=4, row_tokens=32), 32)
    with pytest.raises(IndexCorrupt, match=message):
        open_rows(damaged(artifact, suffix, change, value), DATASET)


def test_tokens_of_another_width_are_rejected(tmp_path: Path) -> None:
    artifact = publish_rows(tmp_path, random_rows(rows=4, row_tokens=32), 32)
    tokens, index = artifact.file(PREFIX + files.BIN), artifact.file(PREFIX + files.IDX)
    lengths = np.fromfile(index, "<i4", count=int.from_bytes(index.read_bytes()[18:26], "little"), offset=34)
    tokens.write_bytes(np.fromfile(tokens, "<i4").astype("<u2").tobytes())
    index.write_bytes(index_bytes(lengths, code=8, width=2))
    with pytest.raises(IndexCorrupt, match="token type"):
        open_rows(seal(artifact), DATASET)


def test_a_row_longer_than_the_rows_length_is_rejected(tmp_path: Path) -> None:
    artifact = publish_rows(tmp_path, random_rows(rows=4, row_tokens=32), 20)
    with pytest.raises(IndexCorrupt, match="within 20 tokens"):
        open_rows(artifact, DATASET)


def test_a_split_that_was_not_published_is_rejected(tmp_path: Path) -> None:
    artifact = publish_rows(tmp_path, random_rows(rows=2, row_tokens=32), 32)
    with pytest.raises(LineageGap):
        open_rows(artifact, DATASET, "valid")


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000), lists=st.lists(st.sets(st.integers(1, 112), max_size=20), min_size=8, max_size=8))
def test_a_batch_has_the_platforms_of_each_document_of_its_rows(
    tmp_path_factory: pytest.TempPathFactory, seed: int, lists: list[set[int]]
) -> None:
    rows = random_rows(rows=3, row_tokens=40, seed=seed)
    drawn = iter(lists * 2)
    rows = [[replace(document, platforms=tuple(sorted(next(drawn)))) for document in row] for row in rows]
    packed = open_rows(publish_rows(tmp_path_factory.mktemp("root"), rows, 40), DATASET, platforms=True)
    chosen = np.array([2, 0, 0])
    found = packed.batch(chosen).platforms
    assert found is not None and found.shape == (3, 128, 20) and found.dtype == np.int32
    for line, number in zip(found, chosen, strict=True):
        wanted = [[*document.platforms, *[0] * (20 - len(document.platforms))] for document in rows[number]]
        assert line[: len(wanted)].tolist() == wanted
        assert not line[len(wanted) :].any()


def test_rows_that_are_opened_without_platforms_have_none(tmp_path: Path) -> None:
    packed = open_rows(publish_rows(tmp_path, random_rows(rows=2, row_tokens=20), 20), DATASET)
    assert packed.batch(np.array([0])).platforms is None


def test_more_documents_than_a_row_has_places_for_are_rejected(tmp_path: Path) -> None:
    rows = [random_rows(rows=1, row_tokens=20)[0], [_one_token()] * 129]
    packed = open_rows(publish_rows(tmp_path, rows, 200), DATASET, platforms=True)
    with pytest.raises(IndexCorrupt, match="documents of row 1; expected at most 128; found 129"):
        packed.batch(np.array([1]))


def _one_token() -> Document:
    channels = {channel: np.zeros(1, np.int32) for channel in SIDE_CHANNELS}
    return Document(np.array([2], np.int32), channels)
