"""The order of instances: upstream's numbers, on any number of hosts, from any record on."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.contract.errors import IndexCorrupt, SpecError
from megacpp_assets.loader.grain.permutation import mapped_permutation, permutation
from megacpp_assets.loader.grain.sampler import OlmoIndexSampler, combine_seed_epoch
from tests.loader.grain.token_files import VECTORS


@pytest.mark.parametrize("vector", VECTORS["combine_seed_epoch"], ids=str)
def test_seed_and_epoch_are_combined_as_upstream(vector: dict[str, int]) -> None:
    assert combine_seed_epoch(vector["seed"], vector["epoch"]) == vector["value"]


@pytest.mark.parametrize("in_a_file", [False, True])
@pytest.mark.parametrize("vector", VECTORS["global_perm"], ids=str)
def test_the_order_of_an_epoch_is_upstreams(vector: dict[str, Any], in_a_file: bool, tmp_path: Path) -> None:
    sampler = OlmoIndexSampler(
        total_instances=vector["total"], seed=vector["seed"], folder=tmp_path if in_a_file else None
    )
    order = sampler.shuffled_global_indices(seed=vector["seed"], epoch=vector["epoch"])
    assert order[:8].tolist() == vector["first8"]
    assert order[-3:].tolist() == vector["last3"]
    assert str(order.dtype) == vector["dtype"]
    assert bool(list(tmp_path.iterdir())) is in_a_file


@pytest.mark.parametrize("vector", VECTORS["shards"], ids=lambda vector: vector["total"])
def test_hosts_have_the_stretches_of_the_order_that_upstream_gives_them(vector: dict[str, Any]) -> None:
    for host, expected in enumerate(vector["shards"]):
        sampler = OlmoIndexSampler(
            total_instances=vector["total"], seed=vector["seed"], shard_index=host, shard_count=vector["shard_count"]
        )
        found = sampler.shard_indices(seed=vector["seed"], epoch=vector["epoch"])
        assert found[: len(expected)].tolist() == expected


def test_a_sampler_that_starts_later_gives_the_records_from_there_on() -> None:
    vector = VECTORS["initial_step"]
    sampler = OlmoIndexSampler(**{name: vector[name] for name in (
        "total", "seed", "shard_index", "shard_count", "initial_step") if name != "total"},
        total_instances=vector["total"])  # fmt: skip
    assert [sampler[i].record_key for i in range(8)] == vector["first8"]
    assert [sampler[i].index for i in range(3)] == vector["index_field"]
    assert repr(sampler) == vector["repr"]


@given(
    total=st.integers(1, 60),
    hosts=st.integers(1, 7),
    seed=st.integers(-5, 5),
    start=st.integers(0, 130),
    data=st.data(),
)
def test_each_record_is_a_pure_function_of_its_number(
    total: int, hosts: int, seed: int, start: int, data: st.DataObject
) -> None:
    host = data.draw(st.integers(0, hosts - 1))
    whole = {"total_instances": total, "seed": seed, "shard_index": host, "shard_count": hosts}
    sampler, later = OlmoIndexSampler(**whole), OlmoIndexSampler(**whole, initial_step=start)
    count = total // hosts
    if count == 0:
        with pytest.raises(IndexError, match="at least one instance"):
            sampler[0]
        return
    expected = [
        int(sampler.shard_indices(seed=seed, epoch=n // count)[n % count]) for n in range(start, start + 2 * count)
    ]
    assert [later[i].record_key for i in range(2 * count)] == expected
    assert pickle.loads(pickle.dumps(later)).record_keys(0, 2 * count).tolist() == expected


def test_all_hosts_together_see_an_instance_once_an_epoch() -> None:
    seen = [
        OlmoIndexSampler(total_instances=64, seed=3, shard_index=h, shard_count=4).record_keys(0, 16) for h in range(4)
    ]
    assert sorted(np.concatenate(seen).tolist()) == list(range(64))


def test_without_a_shuffle_the_order_is_that_of_the_files() -> None:
    sampler = OlmoIndexSampler(total_instances=10, seed=1, shard_index=1, shard_count=2, shuffle=False)
    assert sampler.record_keys(0, 6).tolist() == VECTORS["no_shuffle"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"total_instances": 0}, {"shard_count": 0}, {"shard_index": 2, "shard_count": 2}, {"shard_index": -1},
        {"initial_step": -1},
    ],
)  # fmt: skip
def test_numbers_that_cannot_be_are_rejected(wrong: dict[str, int]) -> None:
    with pytest.raises(SpecError, match=next(iter(wrong))) as refused:
        OlmoIndexSampler(**{"total_instances": 8, "seed": 0} | wrong)
    assert isinstance(refused.value, ValueError)


def test_a_negative_record_is_an_index_error() -> None:
    with pytest.raises(IndexError, match="from 0"):
        OlmoIndexSampler(total_instances=8, seed=0)[-1]


@given(count=st.integers(0, 3000), key=st.integers(0, 2**64 - 1))
def test_how_wide_numbers_are_stored_has_no_part_in_the_order(count: int, key: int) -> None:
    assert permutation(count, key).tolist() == np.random.default_rng(key).permutation(count).tolist()


def test_an_order_in_a_file_takes_four_bytes_a_number_and_is_made_once(tmp_path: Path) -> None:
    order = mapped_permutation(tmp_path, 1000, 7)
    (file,) = tmp_path.iterdir()
    assert file.stat().st_size == 4000
    before = file.stat().st_mtime_ns
    assert mapped_permutation(tmp_path, 1000, 7).tolist() == order.tolist() == permutation(1000, 7).tolist()
    assert file.stat().st_mtime_ns == before


def test_an_order_that_was_cut_off_is_rejected(tmp_path: Path) -> None:
    mapped_permutation(tmp_path, 1000, 7)
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(IndexCorrupt, match="3999 bytes"):
        mapped_permutation(tmp_path, 1000, 7)
