"""An exported checkpoint scores text in `transformers` as it does here."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.training.checkpoints import export as exporting
from megacpp_assets.training.checkpoints.checkpoint import load_weights
from megacpp_assets.training.checkpoints.export import export
from megacpp_assets.training.loop import train
from megacpp_assets.training.network.model import GPT, model_input
from megacpp_assets.training.network.size import model_config
from megacpp_assets.training.processes.process import StopRequest
from megacpp_assets.training.processes.ranks import Ranks
from megacpp_assets.training.spec import TrainedCheckpointSpec, checkpoint_target, data_paths
from tests.training.world import ROW_TOKENS, VOCABULARY, batch_of, tiny_root, tiny_spec

CPU = torch.device("cpu")
FORMS = [{"structure_components": "none"}, {"kv_heads": 1, "rope_base": 700.0}, {"heads": 4, "kv_heads": 2}]


def trained(root: Path, **changes: object) -> tuple[TrainedCheckpointSpec, Artifact, Artifact]:
    spec = tiny_spec(tiny_root(root), **changes)
    train(spec, Ranks(0, 1, CPU), StopRequest(), live_metrics=root / "live.jsonl")
    return spec, open_artifact(root, checkpoint_target(spec, 12).path), open_artifact(root, data_paths(spec)[1])


@pytest.mark.parametrize("changes", FORMS, ids=["tokens alone", "one group", "two groups"])
def test_transformers_gives_the_same_scores(tmp_path: Path, changes: dict[str, object]) -> None:
    from transformers import AutoModelForCausalLM

    spec, checkpoint, tokenizer = trained(tmp_path / "root", **changes)
    export(checkpoint, tokenizer, ROW_TOKENS, tmp_path / "out")
    ours = GPT(model_config(spec.recipe, VOCABULARY))
    load_weights(checkpoint, ours)
    document = [2, *np.random.default_rng(5).integers(46, VOCABULARY, 30).tolist()]
    theirs = AutoModelForCausalLM.from_pretrained(tmp_path / "out")
    with torch.no_grad():
        expected = ours.logits(model_input(batch_of([document], row_tokens=len(document)), CPU))
        found = theirs(torch.tensor([document])).logits
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    assert theirs.num_parameters() >= sum(tensor.numel() for tensor in ours.parameters()) - 64 * spec.recipe.hidden


def test_an_export_records_its_origin(tmp_path: Path) -> None:
    _, checkpoint, tokenizer = trained(tmp_path / "root")
    export(checkpoint, tokenizer, ROW_TOKENS, tmp_path / "out", "bfloat16")
    origin = json.loads((tmp_path / "out/origin.json").read_bytes())
    assert origin["manifest_sha256"] == checkpoint.manifest.sha256 and origin["step"] == 12
    assert {tensor.dtype for tensor in load_file(tmp_path / "out/model.safetensors").values()} == {torch.bfloat16}
    assert (tmp_path / "out/tokenizer.json").read_bytes() == tokenizer.file("tokenizer.json").read_bytes()


def test_large_weights_are_split_into_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, checkpoint, tokenizer = trained(tmp_path / "root")
    export(checkpoint, tokenizer, ROW_TOKENS, tmp_path / "one")
    monkeypatch.setattr(exporting, "_FILE_BYTES", 7000)
    export(checkpoint, tokenizer, ROW_TOKENS, tmp_path / "several")
    index = json.loads((tmp_path / "several/model.safetensors.index.json").read_bytes())
    whole, found = load_file(tmp_path / "one/model.safetensors"), {}
    for name in sorted(set(index["weight_map"].values())):
        tensors = load_file(tmp_path / "several" / name)
        assert {index["weight_map"][each] for each in tensors} == {name}
        assert len(tensors) == 1 or sum(tensor.nbytes for tensor in tensors.values()) <= 7000
        found |= tensors
    assert found.keys() == whole.keys() and all(torch.equal(found[name], whole[name]) for name in whole)
    assert index["metadata"]["total_size"] == sum(tensor.nbytes for tensor in whole.values())


@pytest.mark.parametrize(
    ("name", "value"), [("softcap", 5.0), ("ngram_heads", 1), ("state_space_every", 1), ("tree_steps", 1)]
)
def test_parts_that_a_llama_lacks_are_rejected(tmp_path: Path, name: str, value: float) -> None:
    _, checkpoint, tokenizer = trained(tmp_path / "root", ngram_table=500, **{name: value})
    with pytest.raises(SpecError, match=f"a model without training.{name}; found {name} {value}"):
        export(checkpoint, tokenizer, ROW_TOKENS, tmp_path / "out")


def test_an_existing_folder_or_unknown_dtype_is_rejected(tmp_path: Path) -> None:
    _, checkpoint, tokenizer = trained(tmp_path / "root")
    (tmp_path / "out").mkdir()
    with pytest.raises(SpecError, match="expected a folder that does not exist"):
        export(checkpoint, tokenizer, ROW_TOKENS, tmp_path / "out")
    with pytest.raises(SpecError, match="float32 or bfloat16"):
        export(checkpoint, tokenizer, ROW_TOKENS, tmp_path / "other", "int8")


def test_who_may_read_the_other_files_may_read_the_weights(tmp_path: Path) -> None:
    _, checkpoint, tokenizer = trained(tmp_path / "root")
    export(checkpoint, tokenizer, ROW_TOKENS, tmp_path / "out")
    for folder, other in ((checkpoint.directory, "manifest.json"), (tmp_path / "out", "origin.json")):
        weights = list(folder.glob("*.safetensors"))
        assert weights and {file.stat().st_mode for file in weights} == {(folder / other).stat().st_mode}
