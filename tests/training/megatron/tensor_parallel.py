"""A few steps of a GPTModel on one process and on two of tensor parallelism: `python -m` this, with a folder."""

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

ROW, STEPS = 64, 4
STRUCTURE, NGRAMS = StructureConfig(STRUCTURE_COMPONENTS, 8), NgramConfig(2, table_size=100)


def trained(gpt: Any, world: int) -> dict[str, Any]:
    """Losses of a few steps on one row, what the embedding adds then, and the replicas that a checkpoint has."""
    gpt.parallel_state.initialize_model_parallel(tensor_model_parallel_size=world)
    model, embedding = gpt.model_of(ROW, STRUCTURE, NGRAMS, tensor_parallel=world)
    random = torch.Generator().manual_seed(7)
    ids = torch.randint(46, gpt.VOCABULARY, (1, ROW), generator=random)
    channels = {name: torch.randint(0, 9, (1, ROW), generator=random) for name in embedding.structure.channels}
    embedding.set_structure_inputs(channels)
    given = {
        "input_ids": ids,
        "position_ids": torch.arange(ROW)[None],
        "attention_mask": torch.ones(ROW, ROW, dtype=torch.bool).triu(1)[None, None],
        "labels": ids.roll(-1, 1),
    }
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.5), []
    for _ in range(STEPS):
        loss = model(**given).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    added = {name: each for name, each in embedding.named_parameters() if name.startswith(("structure.", "ngrams."))}
    sharded = embedding.sharded_state_dict()
    return {
        "losses": losses,
        "added": {name: each.flatten().tolist() for name, each in added.items()},
        "replicas": {name: sharded[name].replica_id for name in added},
    }


def main(folder: Path) -> None:
    """One process, then two, forked: they need not load Megatron again. Each leaves what it gives in `folder`."""
    from tests.training.megatron import gpt

    torch.set_num_threads(1)
    for world in (1, 2):
        children = [_child(gpt, folder, rank, world) for rank in range(world)]
        assert not [child for child in children if os.waitpid(child, 0)[1]]


def _child(gpt: Any, folder: Path, rank: int, world: int) -> int:
    def body() -> None:
        store = distributed.FileStore(str(folder / f"store{world}"), world)  # type: ignore[attr-defined]
        distributed.init_process_group("gloo", store=store, rank=rank, world_size=world)
        (folder / f"{world}.{rank}").write_text(json.dumps(trained(gpt, world)))

    return forked(body)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
