"""Documents of several sequences, all eight dtypes and modes: read, merged and verified as megatron-core does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from megacpp_assets.cli import cli
from megacpp_assets.contract.errors import IndexCorrupt, SchemaViolation, SpecError
from megacpp_assets.contract.megatron_files import BIN, IDX
from megacpp_assets.megatron.merge import merge_pairs
from megacpp_assets.megatron.pair.index_format import CODES
from megacpp_assets.megatron.pair.reader import open_bin_idx
from megacpp_assets.megatron.pair.writer import open_writer
from megacpp_assets.megatron.samples.blend import open_blend
from megacpp_assets.megatron.verify import verify_prefix
from tests.megatron.pairs import part

DOCUMENTS = [[5, 2], [1], [30, 4, 9], [2, 2]]
"""The lengths of each document's sequences."""


def their_pair(indexed_dataset: Any, prefix: Path, code: int, *, multimodal: bool, seed: int = 0) -> Any:
    """What megatron-core's builder writes; gives its dataset."""
    random = np.random.default_rng(seed)
    dtype = np.dtype(CODES[code])
    builder = indexed_dataset.IndexedDatasetBuilder(str(part(prefix, BIN)), dtype=dtype.type, multimodal=multimodal)
    for lengths in DOCUMENTS:
        values = random.integers(0, 120, sum(lengths)).astype(dtype)
        modes = random.integers(0, 3, len(lengths)).tolist() if multimodal else None
        builder.add_document(values, lengths, modes)
    builder.finalize(str(part(prefix, IDX)))
    return indexed_dataset.IndexedDataset(str(prefix), multimodal=multimodal)


@pytest.mark.parametrize("multimodal", [False, True])
@pytest.mark.parametrize("code", sorted(CODES))
def test_pairs_of_every_dtype_are_read_and_merged_as_megatron_does(
    tmp_path: Path, indexed_dataset: Any, monkeypatch: pytest.MonkeyPatch, code: int, multimodal: bool
) -> None:
    monkeypatch.setattr("megacpp_assets.megatron.merge._DOCUMENTS", 3)
    prefixes = [tmp_path / "a", tmp_path / "b"]
    for seed, prefix in enumerate(prefixes):
        theirs = their_pair(indexed_dataset, prefix, code, multimodal=multimodal, seed=seed)
        ours = open_bin_idx(prefix, multimodal=multimodal)
        assert (ours.documents, ours.sequences) == (len(DOCUMENTS), len(theirs))
        for number, (first, end) in enumerate(zip(theirs.document_indices, theirs.document_indices[1:], strict=False)):
            sequences = [theirs[i][0] if multimodal else theirs[i] for i in range(first, end)]
            assert ours.document(number).tolist() == np.concatenate(sequences).tolist()
            assert ours.sequence(first).tolist() == sequences[0].tolist()
        assert ours.modes is None or ours.modes.tolist() == theirs.index.sequence_modes.tolist()
    size = None if CODES[code][1] == "f" else 128
    merged = merge_pairs(prefixes, tmp_path / "all", size, multimodal=multimodal)
    builder = indexed_dataset.IndexedDatasetBuilder(
        str(part(tmp_path / "theirs", BIN)), dtype=merged.tokens.dtype.type, multimodal=multimodal
    )
    for prefix in prefixes:
        builder.add_index(str(prefix))
    builder.finalize(str(part(tmp_path / "theirs", IDX)))
    for suffix in (BIN, IDX):
        assert part(tmp_path / "all", suffix).read_bytes() == part(tmp_path / "theirs", suffix).read_bytes()


def test_the_commands_keep_modes_and_sequences(tmp_path: Path, indexed_dataset: Any) -> None:
    their_pair(indexed_dataset, tmp_path / "text", 4, multimodal=True)
    their_pair(indexed_dataset, tmp_path / "image", 7, multimodal=True)
    for name, size in (("text", ["--vocabulary-size", "128"]), ("image", [])):
        words = ["merge", str(tmp_path / f"two-{name}"), *[str(tmp_path / name)] * 2, "--multimodal", *size]
        done = CliRunner().invoke(cli, words)
        assert done.exit_code == 0, done.output
        words = ["verify", str(tmp_path / f"two-{name}"), "--multimodal", "--vocabulary-size", "128"]
        done = CliRunner().invoke(cli, words)
        assert done.exit_code == 0, done.output
        assert "documents 8  tokens 110" in done.output and "sequences by mode: 0: " in done.output
    with pytest.raises(SpecError, match="image; expected token ids; found float32"):
        open_blend([(1.0, tmp_path / "image")], row_tokens=4, samples=1, seed=0, split="1", multimodal=True)


def test_a_value_that_is_not_finite_is_found_at_its_place(tmp_path: Path) -> None:
    with open_writer(part(tmp_path / "x", BIN), part(tmp_path / "x", IDX), None, code=7) as writer:
        writer.append(np.array([1.5, np.nan]), np.array([2], np.int32))
    with pytest.raises(IndexCorrupt, match=r"x.bin, token 1; expected a finite number; found nan"):
        verify_prefix(tmp_path / "x", 1)


def test_documents_that_the_writer_cannot_hold_are_rejected(tmp_path: Path) -> None:
    tokens, lengths = np.array([1, 2, 3]), np.array([1, 2], np.int32)
    with open_writer(tmp_path / "b", tmp_path / "i", 9) as writer:
        with pytest.raises(SchemaViolation, match="document; expected at least one sequence; found 0"):
            writer.append(tokens, lengths, None, np.array([2, 0]))
        with pytest.raises(SchemaViolation, match="sequences of documents; expected 2 sequences; found 1"):
            writer.append(tokens, lengths, None, np.array([1]))
    with pytest.raises(SpecError, match="vocabulary"), open_writer(tmp_path / "b", tmp_path / "i", 9, code=6):
        pass
