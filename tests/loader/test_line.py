"""From packed rows through the Megatron files and back: a batch is what the packer wrote, column by column."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import SPLITS
from megacpp_assets.loader.rows import open_rows
from megacpp_assets.megatron.stage import MegatronBinIdxSpec, run
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.storage.root.layout import packed_path
from tests.megatron.pairs import megatron_spec


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> MegatronBinIdxSpec:
    return megatron_spec(tmp_path_factory.mktemp("root"))


@pytest.mark.parametrize("split", SPLITS)
def test_every_batch_column_is_the_packers_pads_included(spec: MegatronBinIdxSpec, split: str) -> None:
    rows = open_rows(run(spec), spec.dataset, split, symbols=True, changes=True)
    packed = open_artifact(spec.root, packed_path(spec.dataset, spec.mixture))
    table = pq.read_table([file for file in packed.files(".parquet") if file.name.startswith(split)])
    assert len(rows) == table.num_rows > 0
    batch = rows.batch(np.arange(len(rows)))

    def column(name: str) -> np.ndarray:  # type: ignore[type-arg]
        return np.stack(table[name].to_numpy(zero_copy_only=False)).astype(np.int64)

    for name in (c.INPUT_IDS, c.TARGET_IDS, c.LOSS_MASK, c.DOC_IDS):
        assert (getattr(batch, name).astype(np.int64) == column(name)).all(), name
    for channel, name in c.STRUCTURE_CHANNELS.items():
        assert (batch.structure[channel].astype(np.int64) == column(name)).all(), name
    for channel, name in c.SYMBOL_CHANNELS.items():
        assert (batch.symbols[channel].astype(np.int64) == column(name)).all(), name
    for channel, name in c.CHANGE_CHANNELS.items():
        assert (batch.changes[channel].astype(np.int64) == column(name)).all(), name
    assert (batch.roles == column(c.TOKEN_ROLES_COLUMN)).all()
    assert batch.valid_token_count.tolist() == table[c.VALID_TOKEN_COUNT].to_pylist()
    assert int(batch.loss_mask.sum()) == sum(table[c.TRAINED_TOKEN_COUNT].to_pylist())
