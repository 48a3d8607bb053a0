"""Training by the packing scheduler: each document once on one of the ranks, with the losses of rows as packed."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.training import TrainingRecipe
from megacpp_assets.loader.order import rows_of_step
from megacpp_assets.loader.rows import PackedRows, RowBatch, open_rows
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.storage.root import layout
from megacpp_assets.training.checkpoints.record import read_metrics
from megacpp_assets.training.network.model import GPT, model_input
from megacpp_assets.training.network.size import model_config
from megacpp_assets.training.processes.ranks import Ranks
from megacpp_assets.training.scheduled import ScheduledBatches
from megacpp_assets.training.spec import TrainedCheckpointSpec, checkpoint_target
from tests.loader.rows_artifact import DATASET, MIXTURE
from tests.training.forked import STOPPED, fork_ranks, train_forked
from tests.training.world import ROW_TOKENS, VOCABULARY, tiny_recipe, tiny_root, tiny_spec, tree_hashes

ROWS, STEPS = 4, 6
Document = dict[str, list[Any]]


def _global_rows(rows: PackedRows, recipe: TrainingRecipe, step: int) -> RowBatch:
    return rows.batch(rows_of_step(len(rows), recipe.batch_rows, seed=recipe.seed, step=step))


def documents_of(batch: RowBatch) -> list[Document]:
    """Every column, chunk, edge and platform of every document, without what stands in padding."""
    columns = {"tokens": batch.input_ids, "loss": batch.loss_mask, "roles": batch.roles, **batch.structure}
    found = []
    for row, valid in enumerate(batch.valid_token_count.tolist()):
        for number in range(int(batch.doc_ids[row, valid - 1]) + 1):
            (places,) = np.nonzero(batch.doc_ids[row, :valid] == number)
            document = {name: values[row, places].tolist() for name, values in columns.items()}
            assert batch.platforms is not None
            document |= chunks_of(batch, row, number, int(places[0]))
            document["platforms"] = batch.platforms[row, number].tolist()
            found.append(document)
    for document in found:
        # Whether the last token has a loss depends on where the document stands: it predicts nothing of its own.
        assert document["loss"] == [True] * (len(document["tokens"]) - 1) + [False]
    return found


def chunks_of(batch: RowBatch, row: int, number: int, begin: int) -> Document:
    """The chunks of a document, by their places in it, and its edges, by the places of their chunks."""
    chunks = batch.chunks
    assert chunks is not None
    starts = chunks.starts[row] - begin
    (slots,) = np.nonzero(chunks.valid[row] & (chunks.documents[row] == number))
    parts = (starts, chunks.ends[row] - begin, chunks.kinds[row], chunks.dep_levels[row])
    edges = {"calls": chunks.calls, "types": chunks.types}
    return {"chunks": [[int(part[slot]) for part in parts] for slot in slots]} | {
        name: [
            [int(starts[source]), int(starts[target])]
            for of_row, source, target in pairs.tolist()
            if of_row == row and source in slots
        ]
        for name, pairs in edges.items()
    }


def opened(root: Path) -> PackedRows:
    """The rows with all that a network may need of them."""
    artifact = open_artifact(root, layout.megatron_path(DATASET, MIXTURE))
    return open_rows(artifact, DATASET, chunks=True, platforms=True)


@pytest.mark.parametrize("processes", [1, 2, 4])
def test_ranks_together_have_every_document_of_a_step_once_and_in_order(tmp_path: Path, processes: int) -> None:
    root = tiny_root(tmp_path)
    accumulate = max(1, 2 // processes)
    recipe = tiny_recipe(processes=processes, batch_rows=ROWS, accumulate=accumulate, scheduler="dp_balanced")

    def body(ranks: Ranks, folder: Path) -> int:
        rows = opened(root)
        source = ScheduledBatches(rows, recipe, ranks)
        found = [[documents_of(batch) for batch in source.of(step)] for step in range(STEPS)]
        (tmp_path / f"{ranks.rank}.pickle").write_bytes(pickle.dumps(found))
        return 0

    assert fork_ranks(recipe, body) == [0] * processes
    by_rank = [pickle.loads((tmp_path / f"{rank}.pickle").read_bytes()) for rank in range(processes)]
    rows = opened(root)
    assert any(document["calls"] for step in range(STEPS) for document in documents_of(rows.batch([step])))
    for step in range(STEPS):
        expected = documents_of(_global_rows(rows, recipe, step))
        microbatches = zip(*(found[step] for found in by_rank), strict=True)
        assert [document for ranks in microbatches for each in ranks for document in each] == expected
        assert all(sum(len(d["tokens"]) for d in each) <= 64 for found in by_rank for each in found[step])


def losses_of(spec: TrainedCheckpointSpec) -> list[float]:
    made = open_artifact(spec.root, checkpoint_target(spec, spec.recipe.steps).path)
    return [metrics.loss for metrics in read_metrics(made)]


AWARE: dict[str, Any] = {
    "relation_bias": True,
    "tree_steps": 2,
    "platform_embedding": True,
    "structure_components": "all",
    "context_loss": 0.5,
    "batch_rows": ROWS,
    "processes": 1,
}
"""A recipe that needs all that a sequence carries: chunks, edges, platforms, channels and roles."""


STRONG = ("relation_bias.table", "graph.up", "platforms.table")


@pytest.fixture(scope="module")
def as_packed(tmp_path_factory: pytest.TempPathFactory) -> list[float]:
    spec = tiny_spec(tiny_root(tmp_path_factory.mktemp("packed")), **AWARE)
    assert train_forked(spec) == [0]
    return losses_of(spec)


@pytest.mark.parametrize(
    "how",
    [
        {"accumulate": 2},
        {"processes": 2},
        {"processes": 2, "accumulate": 2},
        {"processes": 2, "parallel": "fsdp"},
    ],
)
def test_scheduled_documents_have_the_losses_of_rows_as_packed(
    tmp_path: Path, as_packed: list[float], how: dict[str, Any]
) -> None:
    spec = tiny_spec(tiny_root(tmp_path), scheduler="dp_balanced", **(AWARE | how))
    assert train_forked(spec) == [0] * spec.recipe.processes
    assert losses_of(spec) == pytest.approx(as_packed, rel=1e-4)


def strong_model(without: str = "") -> GPT:
    """A model of large weights, whose relation bias, messages and platforms matter; the parameter `without` is 0."""
    torch.manual_seed(3)
    model = GPT(model_config(tiny_recipe(**AWARE), VOCABULARY, ROW_TOKENS))
    with torch.no_grad():
        for name, each in model.named_parameters():
            each.normal_(std=0.5)
            if name == without:
                each.zero_()
    return model


def loss_of(model: GPT, batches: list[RowBatch]) -> float:
    with torch.no_grad():
        return sum(float(model(model_input(batch, torch.device("cpu"), 0.5))) for batch in batches)


def test_chunks_and_platforms_give_the_same_loss_on_any_number_of_ranks(tmp_path: Path) -> None:
    root = tiny_root(tmp_path)
    recipe = tiny_recipe(**(AWARE | {"processes": 2, "scheduler": "dp_balanced"}))

    def body(ranks: Ranks, folder: Path) -> int:
        loss = loss_of(strong_model(), ScheduledBatches(opened(root), recipe, ranks).of(0))
        (tmp_path / f"{ranks.rank}.loss").write_text(str(loss))
        return 0

    assert fork_ranks(recipe, body) == [0, 0]
    rows = opened(root)
    whole = [_global_rows(rows, recipe, 0)]
    expected = loss_of(strong_model(), whole)
    assert sum(float((tmp_path / f"{rank}.loss").read_text()) for rank in range(2)) == pytest.approx(expected, rel=1e-6)
    for name in STRONG:
        assert loss_of(strong_model(without=name), whole) != pytest.approx(expected, rel=1e-4), name


def test_a_stopped_run_continues_with_the_same_documents(tmp_path: Path) -> None:
    how = AWARE | {"scheduler": "dp_balanced", "processes": 2, "accumulate": 2}
    whole, stopped = (tiny_spec(tiny_root(tmp_path / name), **how) for name in ("whole", "stopped"))
    assert train_forked(whole) == [0, 0]
    assert train_forked(stopped, stop_after=5) == [STOPPED, STOPPED]
    assert train_forked(stopped) == [0, 0]
    assert tree_hashes(stopped.root, "checkpoints") == tree_hashes(whole.root, "checkpoints")


def test_a_scheduler_on_a_tpu_is_rejected() -> None:
    with pytest.raises(SpecError, match=r"training.scheduler; expected none where training.device is tpu"):
        tiny_recipe(scheduler="dp_balanced", device="tpu")
