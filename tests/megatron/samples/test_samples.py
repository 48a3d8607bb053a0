"""Our samples against those of megatron-core, which is asked with the same files, seeds and weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.contract.errors import IndexCorrupt, SpecError
from megacpp_assets.megatron.pair.reader import open_bin_idx
from megacpp_assets.megatron.samples.blend import blending_order, open_blend
from megacpp_assets.megatron.samples.samples import Samples, build_sample_index, normalized, split_sequences
from tests.megatron.core_samples import SEED, megatron_samples
from tests.megatron.pairs import write_pair


def ids(theirs: Any, number: int) -> list[int]:
    sample = theirs[number]
    return [*sample["tokens"].tolist(), int(sample["labels"][-1])]


@pytest.mark.parametrize("count", [1, 40, 43, 44, 60, 76, 80, 300])
@pytest.mark.parametrize("tokens", [1, 64, 1000])
def test_samples_of_a_prefix_are_megatrons(tmp_path: Path, one_rank: None, count: int, tokens: int) -> None:
    lengths = np.random.default_rng(7).integers(1, 200, 60).tolist()
    write_pair(tmp_path / "x", lengths)
    theirs = megatron_samples(tmp_path / "cache", [(1.0, tmp_path / "x")], False, tokens, [count, 2, 1], "80,12,8")
    pair = open_bin_idx(tmp_path / "x")
    for part, wanted in enumerate([count, 2, 1]):
        sequences = split_sequences(pair.documents, "80,12,8")[part]
        ours = Samples(pair, build_sample_index(pair.lengths, sequences, row_tokens=tokens, samples=wanted, seed=SEED))
        assert len(ours) == len(theirs[part]) >= wanted
        assert np.array_equal(ours.index.documents, theirs[part].document_index)
        assert np.array_equal(ours.index.starts, theirs[part].sample_index)
        assert np.array_equal(ours.index.shuffle, theirs[part].shuffle_index)
        for number in {0, wanted // 2, wanted - 1}:
            assert ours[number].tolist() == ids(theirs[part], number)


@pytest.mark.parametrize("weights", [[1.0], [0.7, 0.3], [1.0, 1.0, 1.0], [3, 1, 0.5]])
def test_samples_of_a_blend_are_megatrons(tmp_path: Path, one_rank: None, weights: list[float]) -> None:
    blend = []
    for number, weight in enumerate(weights):
        write_pair(tmp_path / f"x{number}", np.random.default_rng(number).integers(1, 90, 50 + number).tolist())
        blend.append((float(weight), tmp_path / f"x{number}"))
    theirs = megatron_samples(tmp_path / "cache", blend, True, 32, [211, 5, 3], "90,5,5")
    for part, count in enumerate([211, 5, 3]):
        ours = open_blend(blend, row_tokens=32, samples=count, seed=SEED, split="90,5,5", part=part)
        assert len(ours) == len(theirs[part])
        assert [ours[n].tolist() for n in range(len(ours))] == [ids(theirs[part], n) for n in range(len(ours))]


@given(weights=st.lists(st.floats(0.01, 9), min_size=1, max_size=5), count=st.integers(1, 300))
def test_a_blend_is_never_more_than_one_sample_off_its_weights_ahead(weights: list[float], count: int) -> None:
    shares = normalized(weights)
    prefixes, numbers = blending_order(shares, count)
    taken = np.bincount(prefixes, minlength=len(weights))
    assert (taken <= np.array(shares) * count + 1 + 1e-9).all()
    for prefix in range(len(weights)):
        assert numbers[prefixes == prefix].tolist() == list(range(taken[prefix]))


@pytest.mark.parametrize("split", ["", "a,b", "0,0", "-1,2", "1,1,1,1", "nan,1", "inf,1"])
def test_a_malformed_split_is_rejected(split: str) -> None:
    with pytest.raises(SpecError, match="split"):
        split_sequences(10, split)


@pytest.mark.parametrize("weights", [[], [0.0], [-1.0, 2.0], [float("nan")], [float("inf")]])
def test_a_malformed_weight_is_rejected(tmp_path: Path, weights: list[float]) -> None:
    with pytest.raises(SpecError, match="blend"):
        open_blend([(w, tmp_path / "x") for w in weights], row_tokens=4, samples=1, seed=0, split="1")


def test_a_part_of_a_split_without_tokens_is_rejected(tmp_path: Path) -> None:
    write_pair(tmp_path / "x", [5, 9])
    with pytest.raises(SpecError, match="from 0"):
        open_blend([(1.0, tmp_path / "x")], row_tokens=4, samples=1, seed=0, split="100,0,0", part=1)


def test_a_broken_pair_is_rejected(tmp_path: Path) -> None:
    write_pair(tmp_path / "x", [5, 9])
    (tmp_path / "x.bin").write_bytes(b"1234")
    with pytest.raises(IndexCorrupt, match=r"x\.bin"):
        open_blend([(1.0, tmp_path / "x")], row_tokens=4, samples=1, seed=0, split="1")
