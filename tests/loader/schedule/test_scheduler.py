"""The packing scheduler over 2 and 4 gloo processes: every sequence once, in order and whole, on its rank."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import torch
from torch import distributed

from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.loader.schedule.scheduler import DpBalancedScheduler, wrap_data_iterator

CAPACITY, MICROBATCHES, EACH = 64, 3, 4


def _sequence(rank: int, place: int) -> dict[str, torch.Tensor]:
    length = 1 + (37 * rank + 11 * place) % 30
    tokens = 1000 * rank + 100 * place + torch.arange(length) % 100
    return {"tokens": tokens, "loss_mask": (tokens % 3 == 0)}


def _run_rank(rank: int, world: int, folder: str) -> None:
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=world)
    own = [_sequence(rank, place) for place in range(MICROBATCHES * EACH)]
    batches = iter([own[first : first + EACH] for first in range(0, len(own), EACH)])
    scheduler = DpBalancedScheduler(tokens=CAPACITY // 2, context_ranks=2, stage_microbatches=2)
    packed, count = wrap_data_iterator(batches, scheduler, MICROBATCHES)
    told = [
        {
            "numbers": each.numbers,
            "tokens": each.values["tokens"].tolist(),
            "mask": each.values["loss_mask"].int().tolist(),
            "cu_seqlens": each.cu_seqlens.tolist(),
            "dtype": str(each.cu_seqlens.dtype),
            "max_seqlen": each.max_seqlen,
        }
        for each in packed
    ]
    Path(folder, f"rank{rank}.json").write_text(json.dumps([count, told]))
    distributed.destroy_process_group()


@pytest.mark.parametrize("world", [2, 4])
def test_every_sequence_reaches_its_rank_once_whole_and_in_order(tmp_path: Path, world: int) -> None:
    torch.multiprocessing.start_processes(_run_rank, (world, str(tmp_path)), nprocs=world, start_method="fork")
    told = [json.loads((tmp_path / f"rank{rank}.json").read_text()) for rank in range(world)]
    counts = {count for count, _ in told}
    assert len(counts) == 1
    count = counts.pop()
    assert count % 2 == 0
    every = [_sequence(rank, place) for rank in range(world) for place in range(MICROBATCHES * EACH)]
    in_order = [told[rank][1][step] for step in range(count) for rank in range(world)]
    assert [n for each in in_order for n in each["numbers"]] == list(range(len(every)))
    for each in in_order:
        samples = [every[n] for n in each["numbers"]]
        lengths = [len(sample["tokens"]) for sample in samples]
        assert each["tokens"] == torch.cat([sample["tokens"] for sample in samples]).tolist()
        assert each["mask"] == torch.cat([sample["loss_mask"] for sample in samples]).int().tolist()
        assert each["cu_seqlens"] == [sum(lengths[:i]) for i in range(len(lengths) + 1)]
        assert (each["dtype"], each["max_seqlen"]) == ("torch.int32", max(lengths))
        assert sum(lengths) <= CAPACITY


def test_a_sequence_whose_tensors_differ_in_length_is_refused() -> None:
    batches = iter([[{"tokens": torch.zeros(3), "labels": torch.zeros(2)}]])
    with pytest.raises(SchemaViolation, match="sequence 0 of a rank; expected 1-D tensors of one length"):
        DpBalancedScheduler(tokens=9).run(batches, 1)
