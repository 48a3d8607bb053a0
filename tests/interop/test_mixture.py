"""A mixture is found by its name, and its rows as torch datasets are those of the loader."""

from __future__ import annotations

import pickle
import shutil
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

import megacpp_assets
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.interop.mixture import MixtureData
from tests.pipeline.roots import SMALL_DATASET


@pytest.fixture
def mixture(small_line: Path) -> MixtureData:
    return megacpp_assets.open(str(small_line), "base/4k")


def steps(mixture: MixtureData, count: int, workers: int = 0, start: int = 0, **order: int) -> torch.Tensor:
    """`input_ids` of `count` batches from the batch `start`."""
    stream = mixture.torch_stream(**{"batch_rows": 2, "seed": 3, **order})
    stream.load_state_dict({**stream.state_dict(), "step": start})
    loader = DataLoader(stream, batch_size=None, num_workers=workers)
    return torch.stack([batch["input_ids"] for batch in islice(loader, count)])


def test_importing_and_opening_need_neither_dagster_nor_torch(small_line: Path) -> None:
    code = f"import sys, megacpp_assets; assert 'numpy' not in sys.modules; megacpp_assets.open({str(small_line)!r}, "
    code += "'base/4k').rows(); sys.exit(sorted({'dagster', 'torch', 'click'} & set(sys.modules)) or 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_dataset_is_found_or_the_error_names_those_there_are(tmp_path: Path, mixture: MixtureData) -> None:
    assert mixture.dataset == SMALL_DATASET
    for name in ("one", "two"):
        folder = tmp_path / "megatron" / name / "base/4k"
        folder.mkdir(parents=True)
        (folder / "_COMPLETE").touch()
    with pytest.raises(SpecError, match="expected one dataset that has it; found one, two"):
        megacpp_assets.open(tmp_path, "base/4k")
    assert megacpp_assets.open(tmp_path, "base/4k", dataset="two").dataset == "two"
    with pytest.raises(SpecError, match="found only base/4k; what to do: make it with megacpp run"):
        megacpp_assets.open(tmp_path, "base/16k")
    with pytest.raises(SpecError, match="SPECIALIST/PHASE"):
        megacpp_assets.open(tmp_path, "base")


def test_references_are_those_of_the_rows_and_not_all_of_the_data_root(
    small_line: Path, tmp_path: Path, mixture: MixtureData
) -> None:
    root = shutil.copytree(small_line, tmp_path / "data", symlinks=True)
    enriched = root / "enriched" / mixture.dataset
    shutil.copytree(enriched / "sample-format@v1.0.0", enriched / "sample-format@v1.1.0")
    assert megacpp_assets.open(root, "base/4k").references() == ["sample-format@v1.0.0", "sample-kernel@v1.0.0"]


def test_a_mixture_without_its_megatron_files_is_named_with_the_stage_that_is_missing(
    small_line: Path, tmp_path: Path
) -> None:
    root = shutil.copytree(small_line, tmp_path / "data", symlinks=True, ignore=shutil.ignore_patterns("megatron"))
    with pytest.raises(SpecError, match=r"found only its packed rows; what to do: .*--until megatron_bin_idx"):
        megacpp_assets.open(root, "base/4k")


def test_map_style_rows_are_those_of_the_loader(mixture: MixtureData) -> None:
    rows, dataset = (
        mixture.rows(chunks=True, symbols=True, changes=True),
        mixture.torch_rows(chunks=True, symbols=True, changes=True),
    )
    numbers = np.arange(len(rows))
    batch, loaded = rows.batch(numbers), next(iter(DataLoader(dataset, batch_size=len(rows))))
    assert torch.equal(loaded["input_ids"], torch.from_numpy(batch.input_ids))
    assert (loaded["symbol_ids"].numpy() == batch.symbols["symbol_ids"]).all()
    assert (loaded["hunk_id_per_token"].numpy() == batch.changes["hunk_id_per_token"]).all()
    assert batch.chunks and (loaded["chunk_slots"].numpy() == batch.chunks.slots.transpose(1, 0, 2)).all()
    with pytest.raises(IndexError, match="rows 0 to"):
        dataset[len(dataset)]
    again = pickle.loads(pickle.dumps(dataset))
    assert torch.equal(again[0]["input_ids"], dataset[0]["input_ids"])


def test_stream_is_the_same_with_workers_after_resume_and_over_ranks(mixture: MixtureData) -> None:
    whole = steps(mixture, 8)
    assert torch.equal(steps(mixture, 8, workers=2), whole)
    assert torch.equal(steps(mixture, 5, workers=2, start=3), whole[3:])
    ranks = [steps(mixture, 8, batch_rows=1, rank=rank, ranks=2) for rank in range(2)]
    assert torch.equal(torch.cat(ranks, dim=1), whole)


def test_state_of_another_order_is_rejected(mixture: MixtureData) -> None:
    state = mixture.torch_stream(batch_rows=2, seed=3).state_dict()
    with pytest.raises(SpecError, match="state of the stream"):
        mixture.torch_stream(batch_rows=2, seed=4).load_state_dict(state)
    with pytest.raises(SpecError, match="rank"):
        mixture.torch_stream(batch_rows=2, rank=2, ranks=2)


@pytest.mark.parametrize("step", [-1, 1.5, "3", None])
def test_a_state_whose_step_is_no_number_of_batches_is_rejected(mixture: MixtureData, step: Any) -> None:
    stream = mixture.torch_stream(batch_rows=2, seed=3)
    with pytest.raises(SpecError, match=r"step of the stream's state; expected a whole number of at least 0; found"):
        stream.load_state_dict({**stream.state_dict(), "step": step})


def test_json_shards_load_in_any_order(mixture: MixtureData, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    from megacpp_assets.contract.schemas import SEMANTIC

    datasets.disable_progress_bars()
    shards = sorted(map(str, mixture.root.glob("jsonl/*/*/4096/shard_*.jsonl.zst")), reverse=True)
    features = datasets.Features.from_arrow_schema(SEMANTIC)
    loaded = datasets.load_dataset("json", data_files=shards, features=features, split="train", cache_dir=tmp_path)
    assert loaded[0]["repo"] == "sample-kernel" and loaded.features == features
