"""Two bytes a token, mode bytes and merged pairs: what is written is what Megatron's own writer writes and reads."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from megacpp_assets.cli import cli
from megacpp_assets.contract.errors import IndexCorrupt, SchemaViolation, SpecError
from megacpp_assets.contract.megatron_files import BIN, IDX, SIDECAR_RECORD, SidecarRecord, prefix_name
from megacpp_assets.contract.recipe.rows import MegatronRecipe
from megacpp_assets.loader.rows import open_rows
from megacpp_assets.megatron.launch import sequence_counts
from megacpp_assets.megatron.merge import merge_pairs
from megacpp_assets.megatron.pair.index_format import NARROW_CODE, TOKEN_CODE, token_code
from megacpp_assets.megatron.pair.reader import open_bin_idx, token_starts
from megacpp_assets.megatron.pair.writer import open_writer
from megacpp_assets.megatron.sidecars.sidecars import open_sidecars
from megacpp_assets.megatron.stage import run
from megacpp_assets.megatron.verify import verify_prefix
from megacpp_assets.quality.megatron import check
from megacpp_assets.storage.parquet import read_table
from tests.megatron.pairs import VOCABULARY, megatron_spec, part, write_pair
from tests.packed.enriched_documents import DATASET


def _narrow(prefix: Path, lengths: list[int], modes: np.ndarray | None = None) -> np.ndarray:
    tokens = np.random.default_rng(5).integers(0, 65_499, sum(lengths), dtype=np.uint32)
    paths = part(prefix, BIN), part(prefix, IDX)
    with open_writer(*paths, 65_499, code=NARROW_CODE, multimodal=modes is not None) as writer:
        writer.append(tokens, np.array(lengths, np.int32), modes)
    return tokens


@pytest.mark.parametrize("modal", [False, True])
def test_two_bytes_a_token_and_modes_are_megatrons(
    tmp_path: Path,
    indexed_dataset: Any,
    modal: bool,
) -> None:
    lengths, modes = [5, 1, 300], np.array([0, 1, 0], np.int8)
    tokens = _narrow(tmp_path / "ours", lengths, modes if modal else None)
    theirs = str(part(tmp_path / "theirs", BIN))
    builder = indexed_dataset.IndexedDatasetBuilder(theirs, dtype=np.uint16, multimodal=modal)
    for document, mode in zip(np.split(tokens.astype(np.uint16), np.cumsum(lengths)[:-1]), modes, strict=True):
        builder.add_document(document, [len(document)], [int(mode)] if modal else None)
    builder.finalize(str(part(tmp_path / "theirs", IDX)))
    for suffix in (BIN, IDX):
        assert part(tmp_path / "ours", suffix).read_bytes() == part(tmp_path / "theirs", suffix).read_bytes()
    pair = open_bin_idx(tmp_path / "ours", multimodal=modal)
    assert pair.tokens.dtype == np.uint16 and pair.document(2).tolist() == tokens[6:].tolist()
    assert (pair.modes.tolist() if pair.modes is not None else None) == (modes.tolist() if modal else None)
    with pytest.raises(IndexCorrupt, match="size in bytes"):
        open_bin_idx(tmp_path / "ours", multimodal=not modal)


def test_a_vocabulary_that_two_bytes_cannot_hold_is_rejected(tmp_path: Path) -> None:
    with (
        pytest.raises(SpecError, match="at most 65536 ids"),
        open_writer(tmp_path / "b", tmp_path / "i", 65_537, code=NARROW_CODE),
    ):
        pass
    assert [token_code(size, "narrowest") for size in (65_499, 65_500)] == [NARROW_CODE, TOKEN_CODE]
    assert token_code(300, "int32") == TOKEN_CODE
    with pytest.raises(SpecError, match=r"megatron.token_dtype; expected int32 or narrowest; found 'uint8'"):
        MegatronRecipe("uint8")


def test_there_is_one_mode_per_document_or_no_modes(tmp_path: Path) -> None:
    for multimodal, modes in ((True, None), (False, np.zeros(1, np.int8)), (True, np.zeros(2, np.int8))):
        with (
            pytest.raises(SchemaViolation, match="modes; expected"),
            open_writer(tmp_path / "b", tmp_path / "i", 9, multimodal=multimodal) as writer,
        ):
            writer.append(np.array([1], np.uint32), np.array([1], np.int32), modes)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("forms") / "root"


def test_the_stage_writes_two_bytes_where_recipe_and_vocabulary_allow_and_rows_are_the_same(root: Path) -> None:
    wide_spec = megatron_spec(root)
    wide = open_rows(run(wide_spec), DATASET).batch(np.arange(3))
    narrow = run(replace(wide_spec, token_dtype="narrowest"))
    assert [result.name for result in check(narrow) if not result.passed] == []
    prefix = narrow.directory / prefix_name(DATASET, "train")
    assert verify_prefix(prefix, 9000).dtype == "uint16"
    assert np.array_equal(open_rows(narrow, DATASET).batch(np.arange(3)).input_ids, wide.input_ids)
    assert b'"' in sequence_counts({prefix: open_bin_idx(prefix)}, 9000)


def test_merged_pairs_are_those_that_megatron_merges(
    tmp_path: Path,
    indexed_dataset: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("megacpp_assets.megatron.merge._DOCUMENTS", 4)
    parts = [tmp_path / name for name in ("a", "b")]
    for number, prefix in enumerate(parts):
        write_pair(prefix, np.random.default_rng(number).integers(1, 30, 11 + number).tolist())
    merged = merge_pairs(parts, tmp_path / "all", VOCABULARY)
    builder = indexed_dataset.IndexedDatasetBuilder(str(part(tmp_path / "theirs", BIN)), dtype=np.int32)
    for prefix in parts:
        builder.add_index(str(prefix))
    builder.finalize(str(part(tmp_path / "theirs", IDX)))
    for suffix in (BIN, IDX):
        assert part(tmp_path / "all", suffix).read_bytes() == part(tmp_path / "theirs", suffix).read_bytes()
    assert merged.documents == 23
    with pytest.raises(SpecError, match="expected a new name; found an existing pair"):
        merge_pairs(parts, tmp_path / "all", VOCABULARY)
    _narrow(tmp_path / "narrow", [3])
    with pytest.raises(SpecError, match="one token type"):
        merge_pairs([*parts, tmp_path / "narrow"], tmp_path / "other", VOCABULARY)


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Pairs of two splits, with all that lies beside them."""
    made = run(megatron_spec(tmp_path_factory.mktemp("shards") / "root"))
    return [made.directory / prefix_name(DATASET, split) for split in ("train", "valid")]


def test_merged_pairs_have_the_rows_channels_chunks_and_documents_of_all(
    shards: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("megacpp_assets.megatron.merge._ROW_TOKENS", 3 * 4096)
    done = CliRunner().invoke(cli, ["merge", str(tmp_path / "all"), *map(str, shards)])
    assert done.exit_code == 0, done.output
    assert verify_prefix(tmp_path / "all", VOCABULARY).sidecars
    merged, parts = _laid_out(tmp_path / "all"), [_laid_out(prefix) for prefix in shards]
    assert merged == {name: [*parts[0][name], *parts[1][name]] for name in merged}


def _laid_out(prefix: Path) -> dict[str, list[Any]]:
    """Everything that a prefix has, row by row."""
    pair, sidecars = open_bin_idx(prefix), open_sidecars(prefix)
    assert sidecars is not None
    starts = token_starts(pair, sidecars.row_starts)
    rows = [slice(first, end) for first, end in pairwise(starts.tolist())]
    return {
        "tokens": [pair.tokens[row].tolist() for row in rows],
        "documents per row": np.diff(sidecars.row_starts).tolist(),
        "chunks": sidecars.chunks.lists(np.arange(len(rows))).table().to_pylist(),
        "platforms": sidecars.platforms.tolist(),
        "documents": read_table(sidecars.documents_path).drop_columns(["sequence"]).to_pylist(),
        **{
            name: [channel.consecutive(number, starts[number : number + 2]).tolist() for number in range(len(rows))]
            for name, channel in sidecars.channels.items()
        },
    }


def test_sidecars_that_only_some_pairs_have_or_of_other_row_lengths_are_rejected(
    shards: list[Path], tmp_path: Path
) -> None:
    write_pair(tmp_path / "plain", [3])
    with pytest.raises(SpecError, match="for all pairs, or for none; found no sidecars for plain"):
        merge_pairs([shards[0], tmp_path / "plain"], tmp_path / "all", VOCABULARY)
    record = shards[1].with_name(shards[1].name + SIDECAR_RECORD)
    other = replace(SidecarRecord.from_bytes(record.read_bytes(), ""), row_tokens=8192)
    record.write_bytes(other.to_bytes())
    with pytest.raises(SpecError, match=r"rows of one length; found \[4096, 8192\]"):
        merge_pairs(shards, tmp_path / "all", VOCABULARY)


def test_a_missing_vocabulary_size_is_an_error_with_advice(tmp_path: Path) -> None:
    write_pair(tmp_path / "plain", [3])
    words = ["merge", str(tmp_path / "all"), str(tmp_path / "plain")]
    assert "--vocabulary-size" in str(CliRunner().invoke(cli, words).exception)
    assert CliRunner().invoke(cli, [*words, "--vocabulary-size", str(VOCABULARY)]).exit_code == 0
