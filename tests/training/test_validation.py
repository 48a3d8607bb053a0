"""Bits per byte on the held-out rows: against the plain formula, and over several ranks."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import log_softmax

from megacpp_assets.contract.names import ROLE_NAMES
from megacpp_assets.loader.rows import RowBatch
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.training.network.model import GPT, model_input
from megacpp_assets.training.network.size import model_config
from megacpp_assets.training.processes.ranks import Ranks
from megacpp_assets.training.spec import TrainedCheckpointSpec, input_paths
from megacpp_assets.training.validation import ValidationRows, open_held_out, validate
from tests.loader.rows_artifact import publish_rows, random_rows
from tests.training.world import ROW_TOKENS, VOCABULARY, publish_tokenizer, tiny_root, tiny_spec

CPU = torch.device("cpu")
ALONE = Ranks(0, 1, CPU)


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> TrainedCheckpointSpec:
    return tiny_spec(tiny_root(tmp_path_factory.mktemp("root")))


def opened(spec: TrainedCheckpointSpec, most_rows: int = 16) -> ValidationRows | None:
    megatron, tokenizer = (open_artifact(spec.root, path) for path in input_paths(spec))
    return open_held_out(megatron, tokenizer, spec.files_dataset, most_rows)


def model(spec: TrainedCheckpointSpec) -> GPT:
    torch.manual_seed(3)
    return GPT(model_config(spec.recipe, VOCABULARY))


def plainly(made: GPT, held_out: ValidationRows, batch: RowBatch) -> tuple[float, int]:
    """Nats and bytes of the roots of one row, token by token."""
    with torch.no_grad():
        scores = log_softmax(made.logits(model_input(batch, CPU)).double(), -1)
    nats, size = 0.0, 0
    for place in range(batch.input_ids.shape[1] - 1):
        if batch.loss_mask[0, place] and batch.roles[0, place + 1] == 0:
            token = int(batch.target_ids[0, place])
            nats -= float(scores[0, place, token])
            size += int(held_out.lengths[token])
    return nats, size


def test_bits_per_byte_are_nats_of_roots_over_their_bytes(spec: TrainedCheckpointSpec) -> None:
    held_out, made = opened(spec), model(spec)
    assert held_out is not None and len(held_out.numbers) == 3
    pairs = [plainly(made, held_out, held_out.rows.batch(np.array([row]))) for row in range(3)]
    nats, size = (math.fsum(part) for part in zip(*pairs, strict=True))
    found = validate(made, held_out, ALONE).as_stats()
    assert found["validation_bits_per_byte"] == pytest.approx(nats / math.log(2) / size, rel=1e-5)
    assert found["validation_by_role"].keys() == set(ROLE_NAMES)
    assert found["validation_by_repository"].keys() == {"even@1", "odd@1"}


def test_every_byte_counts_once_for_its_role_category_and_repository(spec: TrainedCheckpointSpec) -> None:
    held_out = opened(spec)
    assert held_out is not None
    found = validate(model(spec), held_out, ALONE)
    by_kind = {
        kind: sum(int(size) for (name, _), size in zip(found.names, found.bytes, strict=True) if name == kind)
        for kind in ("role", "category", "repository")
    }
    assert len(set(by_kind.values())) == 1 and by_kind["role"] == found.as_stats()["validation_bytes"] > 0


def test_ranks_share_the_rows_and_each_gets_the_whole_result(spec: TrainedCheckpointSpec) -> None:
    held_out, made = opened(spec), model(spec)
    assert held_out is not None

    class Share(Ranks):
        def sum(self, values: torch.Tensor) -> torch.Tensor:
            return values

    shares = [validate(made, held_out, Share(rank, 2, CPU)) for rank in range(2)]
    whole = validate(made, held_out, ALONE)
    assert np.array_equal(shares[0].bytes + shares[1].bytes, whole.bytes)
    assert np.allclose(shares[0].nats + shares[1].nats, whole.nats)


def test_at_most_the_requested_number_of_rows_is_measured(spec: TrainedCheckpointSpec) -> None:
    held_out = opened(spec, most_rows=2)
    assert held_out is not None and held_out.numbers.tolist() == [0, 2]
    assert opened(spec, most_rows=0) is None


def test_a_mixture_without_held_out_rows_is_not_measured(tmp_path: Path) -> None:
    publish_rows(tmp_path, random_rows(rows=2, row_tokens=ROW_TOKENS, vocabulary=VOCABULARY), ROW_TOKENS)
    publish_tokenizer(tmp_path)
    assert opened(tiny_spec(tmp_path)) is None
