"""What follows from the table of stages."""

from __future__ import annotations

import pytest

from megacpp_assets.compute.tokenizer_device import VARIABLE
from megacpp_assets.contract.recipe.text import load_recipe
from megacpp_assets.pipeline.stages import CHECKPOINT, STAGE_NAMES, STAGES, TOKENIZER, chain, stages_of, upstream_of


def test_each_stage_comes_after_those_it_reads() -> None:
    for position, name in enumerate(STAGE_NAMES):
        assert set(STAGES[name].upstream) <= set(STAGE_NAMES[:position])


def test_a_chain_has_all_that_an_artifact_rests_on_and_nothing_else() -> None:
    assert chain(TOKENIZER) == ("pinned_repos", TOKENIZER)
    assert chain("v6_enriched")[-2:] == ("tokenized_parquet", "v6_enriched")
    assert "packed_rows" not in chain("v6_enriched")
    assert set(STAGE_NAMES) - set(chain(CHECKPOINT)) == {
        "commits", "commit_documents", "commit_windows", "resolved_windows"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("version", "stages"),
    [
        ("v3_simple", ["commits", "commit_documents"]),
        ("v4", ["commits", "commit_windows"]),
        ("v5", ["commits", "resolved_windows"]),
    ],
)
def test_stages_of_commits_are_there_where_a_phase_takes_a_version_of_commits(version: str, stages: list[str]) -> None:
    plain, versions = (load_recipe("smoke", settings) for settings in ((), (f"phases.4k.blend.{version}=1.0",)))
    assert [stage.name for stage in stages_of(versions) if stage not in stages_of(plain)] == stages
    tokenized = STAGES["tokenized_parquet"]
    assert [stage.name for stage in upstream_of(tokenized, plain)] == ["semantic_jsonl", TOKENIZER]
    assert {stage.name for stage in upstream_of(tokenized, versions)} == {"semantic_jsonl", TOKENIZER, stages[-1]}


def _resources(*settings: str) -> dict[str, str]:
    recipe = load_recipe("smoke", settings)
    return {stage.name: resource for stage in stages_of(recipe) if (resource := stage.resource_for(recipe))}


def test_a_stage_takes_a_slot_of_what_it_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    always = {"pinned_repos": "network", "semantic_jsonl": "parsing"}
    assert _resources() == always
    assert _resources("training.device=cuda") == {**always, CHECKPOINT: "accelerator"}
    assert _resources("launch.launcher=slurm") == {**always, CHECKPOINT: "accelerator"}
    monkeypatch.setenv(VARIABLE, "gpu")
    assert _resources() == {**always, TOKENIZER: "accelerator", "tokenized_parquet": "accelerator"}
