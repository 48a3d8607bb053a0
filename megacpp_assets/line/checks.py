"""The names of the checks of every stage, as Dagster declares them before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from megacpp_assets.quality import enriched, megatron, packed, repos, semantic, tokenized, tokenizer, training

CHECKS_OF_STAGE: Final[Mapping[str, tuple[str, ...]]] = {
    "pinned_repos": repos.CHECKS,
    "semantic_jsonl": semantic.CHECKS,
    "tokenizer": tokenizer.CHECKS,
    "tokenized_parquet": tokenized.CHECKS,
    "v6_enriched": enriched.CHECKS,
    "packed_rows": packed.CHECKS,
    "megatron_bin_idx": megatron.CHECKS,
    "trained_checkpoint": training.CHECKS,
}
