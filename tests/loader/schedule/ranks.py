"""Eight gloo processes, and the sequences that their data iterators give."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, distributed

WORLD = 8
TOKENS, ITEMS = 64, 3
CHANNELS = {"token_chunk_ids": torch.int32}
TABLES = {"chunks": 2}
MAX_CHUNKS = 7
"""The most rows of `chunks` in a microbatch, which are sometimes fewer than its tokens would allow."""


def sequence(dp_rank: int, number: int) -> dict[str, Tensor]:
    """Sequence `number` of a data-parallel rank: every token and chunk says where it is from."""
    length = 1 + int(np.random.default_rng([dp_rank, number]).integers(0, 30))
    tokens = torch.arange(length) + 100 * number + 1_000_000 * dp_rank
    return {
        "tokens": tokens,
        "labels": tokens + 1,
        "loss_mask": (tokens % 3 == 0).float(),
        "position_ids": torch.arange(length),
        "token_chunk_ids": (tokens % 7).int(),
        "chunks": torch.tensor([[int(tokens[0]), place] for place in range(length % 4)], dtype=torch.int32).view(-1, 2),
    }


def items(dp_rank: int) -> Iterator[list[dict[str, Tensor]]]:
    """Endless items of 4 to 6 sequences."""
    number, item = 0, 0
    while True:
        count = 4 + (item + dp_rank) % 3
        yield [sequence(dp_rank, number + place) for place in range(count)]
        number, item = number + count, item + 1


def in_processes(folder: Path, body: Callable[[int], Any]) -> list[Any]:
    """What `body` gives on each of 8 forked gloo processes."""
    torch.multiprocessing.start_processes(_process, (str(folder), body), nprocs=WORLD, start_method="fork")
    return [pickle.loads((folder / f"{rank}.pickle").read_bytes()) for rank in range(WORLD)]


def _process(rank: int, folder: str, body: Callable[[int], Any]) -> None:
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=WORLD)
    Path(folder, f"{rank}.pickle").write_bytes(pickle.dumps(body(rank)))
    distributed.destroy_process_group()
