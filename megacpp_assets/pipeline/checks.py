"""The names of the checks of every stage, as Dagster declares them before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from megacpp_assets.quality import enriched, megatron, packed, repos, semantic, tokenized, tokenizer, training

WARNING_CHECKS: Final = frozenset(("semantic_jsonl", name) for name in semantic.WARNINGS)
"""(stage, check) of the checks that warn and block nothing."""
CHECKS_OF_STAGE: Final[Mapping[str, tuple[str, ...]]] = {
    "pinned_repos": tuple(repos.CHECKS),
    "semantic_jsonl": tuple(semantic.CHECKS),
    "tokenizer": tuple(tokenizer.CHECKS),
    "tokenized_parquet": tuple(tokenized.CHECKS),
    "v6_enriched": tuple(enriched.CHECKS),
    "packed_rows": tuple(packed.CHECKS),
    "megatron_bin_idx": tuple(megatron.CHECKS),
    "trained_checkpoint": tuple(training.CHECKS),
}
