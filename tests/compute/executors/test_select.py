"""Tests of the choice of executor."""

from __future__ import annotations

import os
import sys

import pytest

from megacpp_assets.compute.executors.select import COMPUTE_VARIABLE, WORKERS_VARIABLE, open_executor, worker_count
from megacpp_assets.contract.errors import EnvironmentLacks, SpecError


def test_workers_are_the_processors_unless_the_variable_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(WORKERS_VARIABLE, raising=False)
    assert worker_count() == len(os.sched_getaffinity(0))
    monkeypatch.setenv(WORKERS_VARIABLE, "7")
    assert worker_count() == 7


@pytest.mark.parametrize("value", ["", "0", "-1", "two", "1.5"])
def test_invalid_worker_count_is_rejected(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(WORKERS_VARIABLE, value)
    with pytest.raises(SpecError, match=WORKERS_VARIABLE):
        worker_count()


def test_an_unknown_executor_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(COMPUTE_VARIABLE, "slurm://cluster")
    with pytest.raises(SpecError, match=COMPUTE_VARIABLE), open_executor():
        pass


def test_the_local_executor_runs_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(COMPUTE_VARIABLE, raising=False)
    monkeypatch.setenv(WORKERS_VARIABLE, "1")
    with open_executor() as executor:
        assert [outcome.value for outcome in executor.run(abs, [-1, -2], timeout_s=60)] == [1, 2]


def test_a_dask_address_without_a_port_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(COMPUTE_VARIABLE, "dask://host")
    with pytest.raises(SpecError, match="dask://HOST:PORT; found 'dask://host'"), open_executor():
        pass


def test_a_missing_dask_names_the_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(COMPUTE_VARIABLE, "dask://127.0.0.1:8786")
    monkeypatch.delitem(sys.modules, "megacpp_assets.compute.executors.dask", raising=False)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(EnvironmentLacks, match=r"megacpp-assets\[dask\]"), open_executor():
        pass
