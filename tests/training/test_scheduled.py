"""Training by the packing scheduler: each document once on one of the ranks, with the losses of rows as packed."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.loader.rows import RowBatch, open_rows
from megacpp_assets.storage import layout
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.training.batches import global_rows
from megacpp_assets.training.checkpoints.record import read_metrics
from megacpp_assets.training.processes.ranks import Ranks
from megacpp_assets.training.scheduled import ScheduledBatches
from megacpp_assets.training.spec import TrainedCheckpointSpec, checkpoint_target
from tests.loader.rows_artifact import DATASET, MIXTURE
from tests.training.forked import STOPPED, fork_ranks, train_forked
from tests.training.world import tiny_recipe, tiny_root, tiny_spec, tree_hashes

ROWS, STEPS = 4, 6
Document = dict[str, list[Any]]


def documents_of(batch: RowBatch) -> list[Document]:
    """Every column of every document, without what stands in padding."""
    columns = {"tokens": batch.input_ids, "loss": batch.loss_mask, "roles": batch.roles, **batch.structure}
    bounds = zip(batch.cu_seqlens[:-1].tolist(), batch.cu_seqlens[1:].tolist(), strict=True)
    real = [(begin, end) for begin, end in bounds if batch.segment_ids.reshape(-1)[begin]]
    found = [{name: values.reshape(-1)[begin:end].tolist() for name, values in columns.items()} for begin, end in real]
    for document in found:
        # Whether the last token has a loss depends on where the document stands: it predicts nothing of its own.
        assert document["loss"] == [True] * (len(document["tokens"]) - 1) + [False]
    return found


@pytest.mark.parametrize("processes", [1, 2, 4])
def test_ranks_together_have_every_document_of_a_step_once_and_in_order(tmp_path: Path, processes: int) -> None:
    root = tiny_root(tmp_path)
    recipe = tiny_recipe(processes=processes, batch_rows=ROWS, scheduler="dp_balanced")

    def body(ranks: Ranks, folder: Path) -> int:
        rows = open_rows(open_artifact(root, layout.megatron_path(DATASET, MIXTURE)), DATASET)
        source = ScheduledBatches(rows, recipe, ranks)
        found = [[documents_of(batch) for batch in source.of(step)] for step in range(STEPS)]
        (tmp_path / f"{ranks.rank}.pickle").write_bytes(pickle.dumps(found))
        return 0

    assert fork_ranks(recipe, body) == [0] * processes
    by_rank = [pickle.loads((tmp_path / f"{rank}.pickle").read_bytes()) for rank in range(processes)]
    rows = open_rows(open_artifact(root, layout.megatron_path(DATASET, MIXTURE)), DATASET)
    for step in range(STEPS):
        expected = documents_of(rows.batch(global_rows(rows, recipe, step)))
        microbatches = zip(*(found[step] for found in by_rank), strict=True)
        assert [document for ranks in microbatches for each in ranks for document in each] == expected
        assert all(sum(len(d["tokens"]) for d in each) <= 64 for found in by_rank for each in found[step])


def losses_of(spec: TrainedCheckpointSpec) -> list[float]:
    made = open_artifact(spec.root, checkpoint_target(spec, spec.recipe.steps).path)
    return [metrics.loss for metrics in read_metrics(made)]


@pytest.fixture(scope="module")
def as_packed(tmp_path_factory: pytest.TempPathFactory) -> list[float]:
    spec = tiny_spec(tiny_root(tmp_path_factory.mktemp("packed")), batch_rows=ROWS)
    assert train_forked(spec) == [0]
    return losses_of(spec)


@pytest.mark.parametrize("how", [{"processes": 1}, {"processes": 2}, {"processes": 2, "parallel": "fsdp"}])
def test_scheduled_documents_have_the_losses_of_rows_as_packed(
    tmp_path: Path, as_packed: list[float], how: dict[str, Any]
) -> None:
    spec = tiny_spec(tiny_root(tmp_path), batch_rows=ROWS, scheduler="dp_balanced", **how)
    assert train_forked(spec) == [0] * spec.recipe.processes
    assert losses_of(spec) == pytest.approx(as_packed, rel=1e-4)


def test_a_stopped_run_goes_on_with_the_same_documents(tmp_path: Path) -> None:
    how = {"batch_rows": ROWS, "scheduler": "dp_balanced", "processes": 2}
    whole, stopped = (tiny_spec(tiny_root(tmp_path / name), **how) for name in ("whole", "stopped"))
    assert train_forked(whole) == [0, 0]
    assert train_forked(stopped, stop_after=5) == [STOPPED, STOPPED]
    assert train_forked(stopped) == [0, 0]
    assert tree_hashes(stopped.root, "checkpoints") == tree_hashes(whole.root, "checkpoints")


@pytest.mark.parametrize(
    "changes",
    [{"accumulate": 2}, {"relation_bias": True}, {"tree_steps": 1}, {"platform_embedding": True}, {"device": "tpu"}],
)
def test_what_a_scheduler_cannot_move_is_rejected(changes: dict[str, Any]) -> None:
    name = "scheduler" if "device" in changes else next(iter(changes))
    with pytest.raises(SpecError, match=rf"training.{name}; expected"):
        tiny_recipe(scheduler="dp_balanced", batch_rows=ROWS, **changes)
