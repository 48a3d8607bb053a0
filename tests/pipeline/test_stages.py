"""What follows from the table of stages."""

from __future__ import annotations

from megacpp_assets.pipeline.stages import CHECKPOINT, STAGE_NAMES, STAGES, TOKENIZER, chain


def test_each_stage_comes_after_those_it_reads() -> None:
    for position, name in enumerate(STAGE_NAMES):
        assert set(STAGES[name].upstream) <= set(STAGE_NAMES[:position])


def test_a_chain_has_all_that_an_artifact_rests_on_and_nothing_else() -> None:
    assert chain(TOKENIZER) == ("pinned_repos", TOKENIZER)
    assert chain("v6_enriched")[-2:] == ("tokenized_parquet", "v6_enriched")
    assert "packed_rows" not in chain("v6_enriched")
    assert set(chain(CHECKPOINT)) == set(STAGE_NAMES)
