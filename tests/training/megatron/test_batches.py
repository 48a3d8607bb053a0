"""Training on samples of megatron-core's datasets: those of our own index maps, on one and on two ranks."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from megacpp_assets.contract.errors import EnvironmentLacks, IndexCorrupt, SpecError
from megacpp_assets.megatron.samples.blend import open_blend
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.storage.root import layout
from megacpp_assets.training.checkpoints.record import read_metrics
from megacpp_assets.training.megatron import batches
from megacpp_assets.training.megatron.batches import MegatronBatches, MegatronFiles
from megacpp_assets.training.processes.ranks import Ranks
from megacpp_assets.training.spec import TrainedCheckpointSpec, checkpoint_target
from tests.loader.rows_artifact import DATASET, MIXTURE, PREFIX, VALID_PREFIX
from tests.megatron.core_samples import SEED, megatron_samples
from tests.megatron.pairs import write_pair
from tests.training.forked import STOPPED, fork_ranks, train_forked
from tests.training.world import ROW_TOKENS, VOCABULARY, tiny_recipe, tiny_root, tiny_spec, tree_hashes

READ = {"reader": "megatron", "structure_components": "none", "context_loss": 1.0}
ROWS, STEPS = 4, 12


def files_in(root: Path, blend: list[tuple[float, str]]) -> MegatronFiles:
    folder = open_artifact(root, layout.megatron_path(DATASET, MIXTURE)).directory
    tokenizer = open_artifact(root, layout.tokenizer_path(DATASET)).directory
    return MegatronFiles([(weight, folder / name) for weight, name in blend], tokenizer, VOCABULARY, root / "maps")


@pytest.mark.parametrize(
    "blend",
    [
        pytest.param([(1.0, PREFIX)], id="one", marks=pytest.mark.campaign),
        pytest.param([(0.7, PREFIX), (0.3, VALID_PREFIX)], id="blended"),
    ],
)
@pytest.mark.parametrize("processes", [pytest.param(1, marks=pytest.mark.campaign), 2])
def test_samples_are_those_of_our_own_index_maps(
    tmp_path: Path, blend: list[tuple[float, str]], processes: int
) -> None:
    root = tiny_root(tmp_path)
    files, recipe = files_in(root, blend), tiny_recipe(batch_rows=ROWS, processes=processes, accumulate=2, **READ)

    def body(ranks: Ranks, folder: Path) -> int:
        source = MegatronBatches(files, ROW_TOKENS, recipe, ranks)
        read = [[(batch.input_ids, batch.target_ids) for batch in source.of(step)] for step in range(STEPS)]
        (tmp_path / f"{ranks.rank}.pickle").write_bytes(pickle.dumps(read))
        # megatron-core alone, with maps that it builds itself.
        weighted, counts = len(blend) > 1, [ROWS * STEPS, 0, 0]
        built = megatron_samples(tmp_path / "theirs", list(files.blend), weighted, ROW_TOKENS, counts, None)[0]
        whole = [[*built[n]["tokens"].tolist(), int(built[n]["labels"][-1])] for n in range(ROWS * STEPS)]
        (tmp_path / f"theirs.{ranks.rank}.pickle").write_bytes(pickle.dumps(whole))
        return 0

    assert fork_ranks(recipe, body) == [0] * processes
    ours = open_blend(files.blend, row_tokens=ROW_TOKENS, samples=ROWS * STEPS, seed=SEED, split=None)
    theirs = pickle.loads((tmp_path / "theirs.0.pickle").read_bytes())
    for rank in range(processes):
        for step, parts in enumerate(pickle.loads((tmp_path / f"{rank}.pickle").read_bytes())):
            numbers = range(step * ROWS, (step + 1) * ROWS)[rank::processes]
            found = np.concatenate([np.concatenate([ids, targets[:, -1:]], 1) for ids, targets in parts])
            for line, number in zip(found.tolist(), numbers, strict=True):
                assert line == ours[number].tolist() == theirs[number]


def test_stored_maps_of_other_data_are_an_error_on_every_rank(tmp_path: Path) -> None:
    root = tiny_root(tmp_path)
    files, recipe = files_in(root, [(1.0, PREFIX)]), tiny_recipe(batch_rows=ROWS, processes=2, **READ)
    write_pair(tmp_path / "x", [30, 9, 70, 4] * 40)
    other = replace(files, blend=[(1.0, tmp_path / "x")])
    said = "expected index maps of these files; found maps of other data"

    def body(ranks: Ranks, folder: Path) -> int:
        MegatronBatches(other, ROW_TOKENS, recipe, ranks)
        ranks.barrier()
        if ranks.rank == 0:
            write_pair(tmp_path / "x", [31, 8, 69, 5] * 40)
        ranks.barrier()
        with pytest.raises(IndexCorrupt, match=said):
            MegatronBatches(other, ROW_TOKENS, recipe, ranks)
        return 0

    assert fork_ranks(recipe, body) == [0, 0]


def figures_of(spec: TrainedCheckpointSpec) -> tuple[list[float], float]:
    made = open_artifact(spec.root, checkpoint_target(spec, spec.recipe.steps).path)
    return [metrics.loss for metrics in read_metrics(made)], made.manifest.stats["validation_bits_per_byte"]


def test_two_ranks_train_and_validate_as_one_does(tmp_path: Path) -> None:
    one, two = (
        tiny_spec(tiny_root(tmp_path / str(processes)), batch_rows=ROWS, processes=processes, **READ)
        for processes in (1, 2)
    )
    assert train_forked(one) == [0] and train_forked(two) == [0, 0]
    (losses, bits), (losses_of_two, bits_of_two) = figures_of(one), figures_of(two)
    assert losses_of_two == pytest.approx(losses, rel=1e-4) and bits_of_two == pytest.approx(bits, rel=1e-3)
    assert losses[-1] < losses[0] and bits > 0


def test_a_stopped_run_resumes_with_the_same_samples(tmp_path: Path) -> None:
    whole, stopped = (tiny_spec(tiny_root(tmp_path / name), **READ) for name in ("whole", "stopped"))
    assert train_forked(whole) == [0]
    assert train_forked(stopped, stop_after=5) == [STOPPED] and train_forked(stopped) == [0]
    # The path of the pair is part of the maps' hash, not of the samples.
    assert tree_hashes(stopped.root, "checkpoints") == tree_hashes(whole.root, "checkpoints")


def test_without_megatron_core_the_error_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "find_spec", lambda name: None)
    with pytest.raises(EnvironmentLacks, match=r"training.reader megatron; .*pip install --no-deps megatron-core"):
        MegatronBatches(MegatronFiles([], Path(), 0, Path()), 1, tiny_recipe(), Ranks(0, 1, None))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes",
    [
        {"structure_components": "core"},
        {"context_loss": 0.0},
        {"tree_steps": 1},
        {"relation_bias": True},
        {"platform_embedding": True},
        {"scheduler": "dp_balanced"},
    ],
)
def test_the_megatron_reader_is_rejected_with_options_that_need_channels(changes: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match=rf"training.{next(iter(changes))}; .*where training.reader is megatron"):
        tiny_recipe(**(READ | changes))
