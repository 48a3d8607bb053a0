"""The loader through Grain itself: the same batches with any number of workers, and exactly on from any step."""

from __future__ import annotations

import importlib
import itertools
import sys
from pathlib import Path
from typing import Any

import grain
import numpy as np
import pytest

from megacpp_assets.contract.errors import EnvironmentLacks, SpecError
from megacpp_assets.loader.grain import package
from megacpp_assets.loader.grain.index import OlmoNpyIndex, build_index
from megacpp_assets.loader.grain.loader import make_olmo_grain_data_loader
from megacpp_assets.loader.grain.sampler import OlmoIndexSampler
from megacpp_assets.loader.grain.source import OlmoNpyDataSource
from megacpp_assets.loader.grain.transforms import NgramFilterTransform, ShiftToInputsTargets
from tests.loader.grain.token_files import VECTORS, index_of
from tests.megatron.pairs import write_pair

ONE_HOST: dict[str, Any] = {"seed": 0, "batch_size": 4, "shard_index": 0, "shard_count": 1}
IDS: dict[str, Any] = {"apply_ngram_filter": False, "shift_to_inputs_targets": False}


def ids(loader: Any, count: int) -> list[list[int]]:
    return [batch["instance_id"].tolist() for batch in itertools.islice(loader, count)]


def plain(index: OlmoNpyIndex, host: int, hosts: int, first: int, count: int) -> list[list[int]]:
    """The batches by the sampler alone."""
    sampler = OlmoIndexSampler(total_instances=index.total_instances, seed=0, shard_index=host, shard_count=hosts)
    return [[sampler[4 * step + j].record_key for j in range(4)] for step in range(first, first + count)]


def test_the_batches_of_one_host_are_upstreams(tmp_path: Path) -> None:
    loader = make_olmo_grain_data_loader(index_of(tmp_path, [64], 4), **ONE_HOST, **IDS)
    assert np.concatenate(ids(loader, 6)).tolist() == VECTORS["workers_expected_flat"]


@pytest.mark.parametrize(("hosts", "host"), [(1, 0), (2, 0), (2, 1), (4, 3)])
def test_hosts_read_what_their_sampler_says_from_any_step_on(tmp_path: Path, hosts: int, host: int) -> None:
    index = index_of(tmp_path, [40, 3, 61], 4)
    where = ONE_HOST | {"shard_index": host, "shard_count": hosts}
    for first in (0, 3):
        loader = make_olmo_grain_data_loader(index, **where, **IDS, initial_step=4 * first)
        assert ids(loader, 7) == plain(index, host, hosts, first, 7)


def test_an_epoch_of_all_hosts_has_each_instance_once(tmp_path: Path) -> None:
    index = index_of(tmp_path, [256], 4)
    hosts = [
        make_olmo_grain_data_loader(index, **ONE_HOST | {"shard_index": host, "shard_count": 4}, **IDS)
        for host in range(4)
    ]
    assert np.sort(np.array([ids(host, 4) for host in hosts]), axis=None).tolist() == list(range(64))


def test_workers_change_no_batch_and_a_state_resumes_exactly(tmp_path: Path) -> None:
    index = index_of(tmp_path, [40, 3, 61], 4)
    loader = make_olmo_grain_data_loader(index, **ONE_HOST, **IDS, grain_worker_count=2, initial_step=12)
    iterator = iter(loader)
    assert ids(iterator, 3) == plain(index, 0, 1, 3, 3)
    state = iterator.get_state()
    assert ids(iterator, 2) == plain(index, 0, 1, 6, 2)
    iterator.set_state(state)
    assert ids(iterator, 2) == plain(index, 0, 1, 6, 2)


def test_our_own_bin_becomes_what_a_trainer_takes(tmp_path: Path) -> None:
    tokens = write_pair(tmp_path / "x", [300, 64, 900])
    index = build_index([(str(tmp_path / "x.bin"), "x")], 64, tokenizer="ours")
    batch = next(iter(make_olmo_grain_data_loader(index, **ONE_HOST)))
    shapes = {name: (values.shape, str(values.dtype)) for name, values in batch.items()}
    assert shapes == dict.fromkeys(VECTORS["batch_shapes"], ((4, 64), "int32"))
    windows = tokens[: len(tokens) // 64 * 64].reshape(-1, 64)[plain(index, 0, 1, 0, 1)[0]]
    assert np.array_equal(batch["inputs"], windows)


def test_the_parts_are_grains_own_kinds(tmp_path: Path) -> None:
    index = index_of(tmp_path, [64], 4)
    assert isinstance(OlmoNpyDataSource(index), grain.sources.RandomAccessDataSource)
    assert isinstance(OlmoIndexSampler(total_instances=4, seed=0)[0], grain.RecordMetadata)
    for transform in (NgramFilterTransform(), ShiftToInputsTargets()):
        assert isinstance(transform, grain.transforms.Map)
    assert isinstance(make_olmo_grain_data_loader(index, **ONE_HOST), grain.DataLoader)


def test_without_grain_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grain", None)
    with pytest.raises(EnvironmentLacks, match=r"megacpp-assets\[grain\]"):
        importlib.reload(package)


@pytest.mark.parametrize("wrong", [{"batch_size": 0}, {"grain_worker_count": -2}])
def test_numbers_that_cannot_be_are_rejected(tmp_path: Path, wrong: dict[str, int]) -> None:
    with pytest.raises(SpecError, match="batch_size"):
        make_olmo_grain_data_loader(index_of(tmp_path, [64], 4), **ONE_HOST | wrong)
