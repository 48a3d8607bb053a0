"""A GPTModel of two pipeline stages that predicts two tokens ahead: `python -m` this, with a folder."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import torch
from torch import distributed

from megacpp_assets.contract.recipe.training import STRUCTURE_COMPONENTS
from megacpp_assets.training.network.ngrams import NgramConfig
from megacpp_assets.training.network.structure import StructureConfig
from tests.forks import forked

ROW, STAGES = 64, 2
STRUCTURE, NGRAMS = StructureConfig(STRUCTURE_COMPONENTS, 8), NgramConfig(2, table_size=100)


def saved(gpt: Any, stage: int) -> dict[str, Any]:
    """The replicas that each stage stamps, and what Megatron's own check says of both, with and without our stamps."""
    gpt.parallel_state.initialize_model_parallel(pipeline_model_parallel_size=STAGES)
    model, embedding = gpt.predicting_stage(ROW, STRUCTURE, NGRAMS, stage)
    metadata = {"dp_cp_group": gpt.parallel_state.get_data_parallel_group(with_context_parallel=True)}
    sharded = model.sharded_state_dict(metadata=metadata)
    added = ("structure.", "ngrams.")
    replicas = {name: each.replica_id for name, each in sharded.items() if any(part in name for part in added)}
    complaints = [complaint_about(sharded)]
    embedding._stage_copy = 0
    complaints.append(complaint_about(model.sharded_state_dict(metadata=metadata)))
    return {"replicas": replicas, "complaints": complaints}


def complaint_about(sharded: dict[str, Any]) -> str:
    """What Megatron says of the shards of all ranks. The first rank alone checks; "" elsewhere."""
    from megatron.core.dist_checkpointing.core import CheckpointingException
    from megatron.core.dist_checkpointing.mapping import ShardedBase
    from megatron.core.dist_checkpointing.validation import determine_global_metadata, validate_sharding_integrity

    parts = {name: each for name, each in sharded.items() if isinstance(each, ShardedBase)}
    _, everywhere = determine_global_metadata(parts)
    try:
        validate_sharding_integrity(everywhere)
    except CheckpointingException as error:
        return str(error)
    return ""


def main(folder: Path) -> None:
    """Two forked processes. Each leaves what it found in `folder`."""
    from tests.training.megatron import gpt

    torch.set_num_threads(1)
    torch.Tensor.cuda = lambda tensor: tensor  # type: ignore[method-assign]  # Megatron ties words over a GPU
    children = [_child(gpt, folder, rank) for rank in range(STAGES)]
    assert not [child for child in children if os.waitpid(child, 0)[1]]


def _child(gpt: Any, folder: Path, rank: int) -> int:
    def body() -> None:
        store = distributed.FileStore(str(folder / "store"), STAGES)  # type: ignore[attr-defined]
        distributed.init_process_group("gloo", store=store, rank=rank, world_size=STAGES)
        (folder / f"{rank}.json").write_text(json.dumps(saved(gpt, rank)))

    return forked(body)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
