"""Megatron Core itself, which is a required test dependency: its absence is a failure."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="module")
def indexed_dataset() -> Any:
    """The module `megatron.core.datasets.indexed_dataset`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it tells about GPU libraries that a data test has no use for
        try:
            from megatron.core.datasets import indexed_dataset as module
        except ImportError as error:
            pytest.fail(f"megatron-core is missing: pip install --no-deps megatron-core==0.16.1 ({error})")
    gc.freeze()  # its builder searches for cycles each time, in all that was imported for it too
    return module


@pytest.fixture(scope="module")
def one_rank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """BlendedDataset asks torch.distributed who it is."""
    import torch

    meeting = tmp_path_factory.mktemp("rank") / "store"
    torch.distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()
