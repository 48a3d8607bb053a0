"""Bad input of the packing scheduler: a named error on every rank, in time."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import distributed

from megacpp_assets.contract.errors import MegacppError
from megacpp_assets.loader.schedule.data_schedule import PackingConfig, wrap_data_iterator
from megacpp_assets.loader.schedule.packed_batch import get_batch_on_this_rank_for_sequence_packing
from megacpp_assets.loader.schedule.process_groups import create_process_groups
from tests.loader.schedule.ranks import CHANNELS, ITEMS, TABLES, TOKENS, WORLD, in_processes, items, sequence


def broken(rank: int) -> list[str]:
    """What each rank says to each kind of bad input."""
    groups = create_process_groups(dp=2, cp=2, pp=2, timeout=timedelta(seconds=60))
    config = PackingConfig(TOKENS // 2)
    good = {name: values for name, values in sequence(0, 0).items() if name not in TABLES}
    bad_rank = groups.dp.rank() == 1

    def run(bad: Any, settings: PackingConfig = config, each: Any = good, count: int = 8, more: Any = ()) -> str:
        data = [bad if bad_rank else each] * count
        if bad_rank and more:
            data[0] = more
        try:
            wrap_data_iterator(iter(data) if groups.reads_data else None, settings, 8, groups)
        except MegacppError as error:
            return f"{type(error).__name__} {error}"
        return ""

    long = {name: values.repeat(99) for name, values in good.items()}
    full = {name: values[:TOKENS] for name, values in long.items()}
    limited = PackingConfig(TOKENS // 2, max_table_rows={"chunks": 2})
    tabled = good | {"chunks": torch.zeros(3, 4, dtype=torch.int32)}
    return [
        run(good | {"labels": torch.zeros(2, dtype=torch.int64)}),
        run({"tokens": good["tokens"]}),
        run({name: values[:0] for name, values in good.items()}),
        run(good | {"labels": good["labels"].int()}),
        run(good, count=7),
        run(long),
        run(good, PackingConfig(TOKENS // 2, virtual_pipeline_model_parallel_size=2,
                                microbatch_group_size_per_vp_stage=9)),
        run(good, PackingConfig(TOKENS // 2 + rank)),
        run(good, PackingConfig(TOKENS // 2, "fastest")),
        run(good, each=good | {"tokens": good["tokens"] + groups.pp.rank()}),
        run(full, each=full, more=[full, full]),
        run(good | {"chunks": torch.zeros(2, 4)}),
        run(good | {"chunks": torch.zeros(2, 4, dtype=torch.int32)}),
        run(good | {"chunks": torch.zeros(2, 4, dtype=torch.int32)}, limited),
        run(tabled, limited, each=tabled),
        run(good),
    ]  # fmt: skip


def test_bad_input_of_one_rank_is_an_error_on_every_rank(tmp_path: Path) -> None:
    outputs = in_processes(tmp_path, broken)
    said = [
        "SchemaViolation rank 2: sequence 0; expected 1-D tensors of one length",
        "SchemaViolation rank 2: sequence 0; expected tensors tokens, labels, loss_mask, position_ids",
        "SchemaViolation rank 2: sequence 0; expected 1-D tensors of one length, at least 1",
        "SpecError tensors of sequences of rank 2",
        "SpecError rank 0: data iterator; expected 8 items; found 7 items",
        "PackOverflow rank 0: sequence 8; expected at most 64 tokens in a microbatch",
        "SpecError rank 0: global batch; expected at least 18 sequences; found 16",
        "SpecError packing settings of rank 1",
        "SpecError sequence_packing_scheduler; expected dp_balanced; found fastest",
        "SpecError global batch of rank 4; expected the sequences of rank 0",
        "SpecError rank 0: global batch; expected at least 18 sequences; found 17",
        "SchemaViolation rank 2: table chunks of sequence 0; expected a 2-D int32 tensor; found torch.float32 (2, 4)",
        "SpecError tensors of sequences of rank 2",
        "SchemaViolation rank 0: table chunks of sequence 0; expected a 2-D int32 tensor; found none",
        "PackOverflow rank 0: sequence 0; expected at most 2 rows of chunks in a microbatch; found 3 rows of chunks",
        "",
    ]
    for rank, found in enumerate(outputs):
        for expected, text in zip(said, found, strict=True):
            assert text.startswith(expected) and bool(text) == bool(expected), (rank, text)


def unfetched(rank: int) -> list[str]:
    """What each rank says to a column that no sequence has, and to a microbatch after the last."""
    groups = create_process_groups(tp=2, dp=4, timeout=timedelta(seconds=60))
    iterator, count, *_ = wrap_data_iterator(
        items(groups.dp.rank()) if groups.reads_data else None, PackingConfig(TOKENS), ITEMS, groups
    )
    assert not isinstance(iterator, list)
    said = []
    for channels in ({"absent": torch.int32}, *[CHANNELS] * count):
        try:
            get_batch_on_this_rank_for_sequence_packing(iterator, groups, channels=channels)
        except MegacppError as error:
            said.append(f"{type(error).__name__} {error}")
    return said


def test_a_missing_column_or_microbatch_is_an_error_on_every_tensor_parallel_rank(tmp_path: Path) -> None:
    for said in in_processes(tmp_path, unfetched):
        assert [text.split(";")[0] for text in said] == [
            "SchemaViolation rank 0: column absent of a microbatch",
            "SpecError rank 0: wrapped data iterator",
        ]


def deserted(rank: int) -> str:
    """What a rank says when another one never schedules the batch."""
    groups = create_process_groups(dp=4, cp=2, timeout=timedelta(seconds=3))
    if rank == WORLD - 1:
        return ""
    try:
        wrap_data_iterator(items(groups.dp.rank()), PackingConfig(TOKENS), ITEMS, groups)
    except MegacppError as error:
        return f"{type(error).__name__} {error}"
    return "scheduled"


@pytest.mark.timeout(60)
def test_a_rank_that_never_comes_is_an_error_on_every_other_rank_in_time(tmp_path: Path) -> None:
    *others, last = in_processes(tmp_path, deserted)
    assert last == ""
    for said in others:
        assert said.startswith("TrainingFailed packing scheduler; expected an answer of all 8 ranks in time; found ")


def test_sizes_that_are_not_the_number_of_processes_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed, "get_world_size", lambda: 8)
    with pytest.raises(MegacppError, match="parallel sizes; expected a product of 8 processes"):
        create_process_groups(dp=3)
