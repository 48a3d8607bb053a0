"""A checkpoint in any number of shards is the same to whoever reads it, and one that is not whole is named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.contract.manifest import FileEntry
from megacpp_assets.quality.trained import check
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.training.checkpoints.checkpoint import restore
from megacpp_assets.training.checkpoints.record import MODEL, OPTIMIZER, shard_file
from megacpp_assets.training.checkpoints.resume import newest_checkpoint
from megacpp_assets.training.checkpoints.shards import Shards, index_bytes, index_of
from megacpp_assets.training.network.model import GPT
from megacpp_assets.training.network.size import model_config
from megacpp_assets.training.optimizer import optimizer_for
from megacpp_assets.training.spec import TrainedCheckpointSpec
from tests.quality.planting import seal
from tests.training.test_loop import checkpoint, flip, run
from tests.training.world import VOCABULARY, tensors_of, tiny_root, tiny_spec


def cut(made: Artifact, count: int) -> Artifact:
    """The checkpoint of one shard as `count` processes would have left it."""
    for kind in (MODEL, OPTIMIZER):
        whole = load_file(made.file(shard_file(kind, 0)))
        for number in range(count):
            held = {name: tensor.chunk(count)[number] for name, tensor in whole.items() if number < len(tensor)}
            save_file(held, made.directory / shard_file(kind, number), {"step": "12"})
    (made.directory / "shards.json").write_bytes(index_bytes(index_of(made.directory, count)))
    more = [FileEntry(shard_file(kind, number), 0, "") for kind in (MODEL, OPTIMIZER) for number in range(1, count)]
    return seal(replace(made, manifest=replace(made.manifest, files=(*made.manifest.files, *more))))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> TrainedCheckpointSpec:
    spec = tiny_spec(tiny_root(tmp_path_factory.mktemp("whole")))
    assert run(spec)
    return spec


@pytest.fixture
def spec(trained: TrainedCheckpointSpec, tmp_path: Path) -> TrainedCheckpointSpec:
    """The same run, whose last checkpoint lies in four shards: more than its narrowest tensor has rows."""
    shutil.copytree(trained.root, tmp_path / "root")
    copied = tiny_spec(tmp_path / "root")
    cut(checkpoint(copied, 12), 4)
    return copied


def test_one_process_reads_what_four_wrote(trained: TrainedCheckpointSpec, spec: TrainedCheckpointSpec) -> None:
    for kind in (MODEL, OPTIMIZER):
        ours, theirs = (tensors_of(checkpoint(each, 12), kind) for each in (spec, trained))
        assert ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)
    model = GPT(model_config(spec.recipe, VOCABULARY))
    restore(checkpoint(spec, 12), model, optimizer_for(spec.recipe, dict(model.named_parameters())))
    assert torch.equal(model.embedding, tensors_of(checkpoint(trained, 12))["embedding"])
    assert all(result.passed for result in check(checkpoint(spec, 12)))


def test_only_shards_with_the_requested_rows_are_read(spec: TrainedCheckpointSpec) -> None:
    whole = tensors_of(checkpoint(spec, 12))["embedding"]
    shards = Shards(checkpoint(spec, 12))
    quarter = len(whole) // 4
    found = list(shards.pieces(MODEL, "embedding", quarter + 1, 3 * quarter))
    assert [len(piece) for piece in found] == [quarter - 1, quarter]
    assert torch.equal(torch.cat(found), whole[quarter + 1 : 3 * quarter])
    flip(spec.root / checkpoint(spec, 12).path / shard_file(MODEL, 3))
    assert list(shards.pieces(MODEL, "embedding", 0, 3 * quarter)), "the fourth is not looked at"


def lose(folder: Path) -> None:
    (folder / shard_file(MODEL, 2)).unlink()


def damage(folder: Path) -> None:
    flip(folder / shard_file(MODEL, 2))


def exchange(folder: Path) -> None:
    shutil.copy(folder / shard_file(MODEL, 1), folder / shard_file(MODEL, 2))


@pytest.mark.parametrize("harm", [lose, damage, exchange])
def test_a_damaged_shard_is_named_and_the_previous_checkpoint_is_resumed(
    spec: TrainedCheckpointSpec, caplog: pytest.LogCaptureFixture, harm: Callable[[Path], None]
) -> None:
    made = checkpoint(spec, 12)
    harm(made.directory)
    with pytest.raises(LineageGap, match=shard_file(MODEL, 2)):
        list(Shards(made).pieces(MODEL, "embedding"))
    found, damaged = newest_checkpoint(spec)
    assert found is not None and found.manifest.stats["steps"] == 8 and damaged == [made]
    assert f"training does not resume from {made.path}/{shard_file(MODEL, 2)}" in caplog.text


def forget(raw: dict[str, Any]) -> None:
    del raw["model"]["embedding"]["offsets"]


def overlap(raw: dict[str, Any]) -> None:
    raw["model"]["embedding"]["offsets"][2] = 0


def shorten(raw: dict[str, Any]) -> None:
    raw["model"]["embedding"]["shape"][0] -= 1


@pytest.mark.parametrize("change", [forget, overlap, shorten])
def test_a_malformed_index_is_named(spec: TrainedCheckpointSpec, change: Callable[[dict[str, Any]], None]) -> None:
    file = checkpoint(spec, 12).file("shards.json")
    raw = json.loads(file.read_bytes())
    change(raw)
    file.write_text(json.dumps(raw))
    with pytest.raises(LineageGap, match=r"shards\.json"):
        Shards(seal(checkpoint(spec, 12)))


def test_a_shard_with_other_rows_than_in_the_index_is_named(spec: TrainedCheckpointSpec) -> None:
    exchange(checkpoint(spec, 12).directory)
    tensors = load_file(checkpoint(spec, 12).directory / shard_file(MODEL, 2))
    save_file(tensors | {"embedding": tensors["embedding"][1:]}, checkpoint(spec, 12).directory / shard_file(MODEL, 2))
    made = seal(checkpoint(spec, 12))
    with pytest.raises(LineageGap, match=r"model_00002.safetensors: embedding; expected .* of shards.json"):
        tensors_of(made)
    assert [result.name for result in check(made) if not result.passed] == ["weights_are_finite"]
