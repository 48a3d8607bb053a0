"""The packing scheduler on 8 gloo processes: every token once, in order, on its rank."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from megacpp_assets.loader.schedule.context_parallel import get_thd_partitioned_indices
from megacpp_assets.loader.schedule.data_schedule import PackingConfig, wrap_data_iterator
from megacpp_assets.loader.schedule.packed_batch import PackedBatch, get_batch_on_this_rank_for_sequence_packing
from megacpp_assets.loader.schedule.process_groups import create_process_groups
from tests.loader.schedule.ranks import CHANNELS, ITEMS, MAX_CHUNKS, TABLES, TOKENS, in_processes, items

LAYOUTS: list[dict[str, int]] = [{"dp": 2, "cp": 2, "pp": 2}, {"dp": 2, "pp": 4}, {"tp": 2, "dp": 2, "cp": 2}]
BATCHES, CAMPAIGN_BATCHES = 6, 334
"""Global batches that are scheduled in each of three layouts: the campaign has 1,002 of them."""


def tokens_of(batch: PackedBatch) -> list[Any]:
    """What a rank was given, without tensors."""
    params = batch.packed_seq_params
    columns = (batch.tokens, batch.labels, batch.loss_mask)
    values = [None if each is None else each[0].tolist() for each in columns]
    chunks = [each[0].tolist() for each in batch.channels.values()]
    tables = [[part.tolist() for part in table] for table in batch.tables.values()]
    return [*values, chunks, params.cu_seqlens_q.tolist(), params.max_seqlen_q, params.qkv_format, tables]


def schedule_all(rank: int, batches_of_layout: int = BATCHES) -> list[Any]:
    """For each layout the places of the rank, and of each global batch its sums and microbatches."""
    scheduled_batches = []
    for sizes in LAYOUTS:
        groups = create_process_groups(**sizes, timeout=timedelta(seconds=120))
        data = items(groups.dp.rank()) if groups.reads_data else None
        config = PackingConfig(TOKENS // groups.cp.size(), max_table_rows={"chunks": MAX_CHUNKS})
        batches = []
        for _ in range(batches_of_layout):
            iterator, count, total, squared = wrap_data_iterator(data, config, ITEMS, groups)
            assert not isinstance(iterator, list)
            parts = [
                get_batch_on_this_rank_for_sequence_packing(iterator, groups, channels=CHANNELS, tables=TABLES)
                for _ in range(count)
            ]
            batches.append(((count, total, squared), [tokens_of(part) for part in parts]))
        places = {name: getattr(groups, name).rank() for name in ("tp", "cp", "dp", "pp")}
        scheduled_batches.append((places, batches))
    return scheduled_batches


@pytest.fixture(scope="module")
def scheduled(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    return in_processes(tmp_path_factory.mktemp("schedule"), schedule_all)


@pytest.mark.parametrize("layout", range(len(LAYOUTS)))
def test_every_token_is_seen_once_in_order_as_in_one_process(scheduled: list[Any], layout: int) -> None:
    assert tokens_checked(scheduled, layout, BATCHES) > 0


@pytest.mark.campaign
@pytest.mark.timeout(3600)
def test_a_thousand_batches_lose_double_and_move_no_token(tmp_path: Path) -> None:
    scheduled = in_processes(tmp_path, partial(schedule_all, batches_of_layout=CAMPAIGN_BATCHES))
    checked = [tokens_checked(scheduled, layout, CAMPAIGN_BATCHES) for layout in range(len(LAYOUTS))]
    print(f"{len(LAYOUTS) * CAMPAIGN_BATCHES} batches, {sum(checked)} tokens: 0 lost, doubled or moved")


def tokens_checked(scheduled: list[Any], layout: int, batches_of_layout: int) -> int:
    """Assert that no token of a layout is lost, doubled or moved, and that chunks stay; the number of tokens."""
    checked = 0
    sizes = {"tp": 1, "cp": 1, "dp": 1, "pp": 1} | LAYOUTS[layout]
    ranks = {tuple(places.values()): batches for places, batches in (each[layout] for each in scheduled)}
    last = sizes["pp"] - 1
    sources = [items(dp) for dp in range(sizes["dp"])]
    for step in range(batches_of_layout):
        fetched = [list(islice(source, ITEMS)) for source in sources]
        expected = [s for each in fetched for item in each for s in item]
        count, total, squared = ranks[0, 0, 0, 0][step][0]
        assert {batches[step][0] for batches in ranks.values()} == {(count, total, squared)}
        seen: list[int] = []
        seen_chunks: list[list[int]] = []
        for micro in range(count):
            for dp in range(sizes["dp"]):
                whole = {}
                for cp in range(sizes["cp"]):
                    first, end = (ranks[0, cp, dp, pp][step][1][micro] for pp in (0, last))
                    assert all(ranks[tp, cp, dp, 0][step][1][micro] == first for tp in range(sizes["tp"]))
                    boundaries, longest = first[4], first[5]
                    assert longest == max(np.diff(boundaries)) and first[6] == "thd" and boundaries[-1] <= TOKENS
                    assert first[3] == end[3] and len(first[3][0]) == len(first[0])
                    pairs = zip(first[0], *first[3], strict=True)
                    assert all(chunk == token % 7 for token, chunk in pairs)
                    assert (first[1] is None, end[0] is None) == ((last > 0,) * 2)
                    places = own_places(boundaries, sizes["cp"], cp)
                    whole |= {place: (t, *rest) for place, t, *rest in zip(places, first[0], *end[1:3], strict=True)}
                    for middle in range(1, last):
                        assert ranks[0, cp, dp, middle][step][1][micro] == [None, None, None, [], *first[4:7], []]
                assert sorted(whole) == list(range(boundaries[-1]))
                ((rows, bounds),) = first[7]
                assert first[7] == end[7] and len(rows) <= MAX_CHUNKS
                for place, start, stop in zip(boundaries, bounds, bounds[1:], strict=False):
                    assert all(chunk[0] == whole[place][0] for chunk in rows[start:stop])
                seen_chunks.extend(rows)
                # Padding has neither token nor label.
                seen.extend(t for _, (t, label, _) in sorted(whole.items()) if label)
                assert all(label == t + 1 and mask == (t % 3 == 0) for t, label, mask in whole.values() if label)
        assert seen == torch.cat([s["tokens"] for s in expected]).tolist()
        assert seen_chunks == torch.cat([s["chunks"] for s in expected]).tolist()
        checked += len(seen)
    return checked


def own_places(boundaries: list[int], cp_size: int, cp_rank: int) -> list[int]:
    """The parts r and 2 x cp_size - 1 - r of each sequence, by definition."""
    places = []
    for first, end in pairwise(boundaries):
        parts = np.array_split(np.arange(first, end), 2 * cp_size)
        mine = (cp_rank, 2 * cp_size - 1 - cp_rank) if cp_size > 1 else (0, 1)
        places += [int(place) for part in mine for place in parts[part]]
    return places


@pytest.mark.parametrize("cp_size", [2, 3, 4])
def test_the_partition_is_that_of_transformer_engines_kernel(cp_size: int) -> None:
    lengths = 2 * cp_size * np.random.default_rng(cp_size).integers(1, 9, 20)
    cu_seqlens = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    for rank in range(cp_size):
        ours = get_thd_partitioned_indices(torch.from_numpy(cu_seqlens), int(cu_seqlens[-1]), cp_size, rank)
        assert ours.tolist() == kernel(cu_seqlens, cp_size, rank) == own_places(cu_seqlens.tolist(), cp_size, rank)


def kernel(cu_seqlens: np.ndarray, world: int, rank: int) -> list[int]:
    """`thd_partition_indices_kernel` of Transformer Engine, thread by thread."""
    shares, found = cu_seqlens // world, []
    for token in range(cu_seqlens[-1] // world):
        number = int(np.searchsorted(shares, token, side="right")) - 1
        length, index = shares[number + 1] - shares[number], token - shares[number]
        offset = rank if index < length // 2 else (world - 1) * 2 - rank
        found.append(int(index + shares[number] * world + length // 2 * offset))
    return found


def virtual(rank: int) -> list[Any]:
    """Which keys each virtual stage of each stage gets."""
    groups = create_process_groups(dp=4, pp=2, timeout=timedelta(seconds=60))
    config = PackingConfig(TOKENS, virtual_pipeline_model_parallel_size=2, microbatch_group_size_per_vp_stage=2)
    iterators, count, *_ = wrap_data_iterator(items(groups.dp.rank()), config, ITEMS, groups)
    assert isinstance(iterators, list) and count % 2 == 0
    kinds = []
    for stage, iterator in enumerate(iterators):
        batch = get_batch_on_this_rank_for_sequence_packing(iterator, groups, virtual_stages=2, virtual_stage=stage)
        kinds.append((batch.tokens is not None, batch.labels is not None))
    return [groups.pp.rank(), kinds]


def test_each_virtual_stage_has_an_iterator_and_only_the_ends_have_tokens(tmp_path: Path) -> None:
    scheduled_batches = in_processes(tmp_path, virtual)
    for stage, kinds in scheduled_batches:
        assert kinds == ([(True, False), (False, False)] if stage == 0 else [(False, False), (False, True)])
