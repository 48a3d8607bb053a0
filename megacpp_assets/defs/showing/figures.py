"""The figures of a materialization: those that a person reads first, and all others in one table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import dagster as dg

from megacpp_assets.pipeline.execute import Done
from megacpp_assets.storage.work import read_work

MOST: Final = 20
"""Figures that stand alone: a page of them is read, a longer one is scrolled past."""
REST: Final = "other figures"

_FIRST: Final = {
    "pinned_repos": ("source_files", "headers", "source_bytes"),
    "semantic_jsonl": (
        "documents", "characters", "source_characters", "chunks", "symbols", "calls_resolved_per_cent", "units",
        "units_parsed", "units_reused", "units_failed", "skipped_files", "unlabelled_per_cent",
        "documents_alone_per_cent",
    ),
    "tokenizer": ("commit", "vocabulary_size", "documents", "tokens", "unique_words", "merges", "round_trip_failures"),
    "tokenized_parquet": ("documents", "tokens", "text_bytes", "split_documents", "val_documents", "val_tokens"),
    "v6_enriched": ("documents", "tokens", "chunks", "call_edges", "type_edges", "dropped_edges"),
    "packed_rows": (
        "rows", "row_tokens", "documents", "tokens", "utilisation_ppm", "valid_rows", "valid_documents", "valid_tokens",
    ),
    "megatron_bin_idx": ("documents", "tokens", "rows", "valid_documents", "valid_tokens", "vocabulary_size"),
    "trained_checkpoint": ("parameters", "steps", "tokens", "validation_bits_per_byte", "validation_bytes"),
}  # fmt: skip
_NAMES: Final = {
    "calls_resolved_per_cent": "calls resolved (%)",
    "unlabelled_per_cent": "unlabelled characters (%)",
    "documents_alone_per_cent": "documents that lack no name of the repository (%)",
    "utilisation_ppm": "rows filled (ppm)",
    "units_parsed": "units parsed, which what changed reaches",
    "units_reused": "units as an earlier run parsed them",
    "source_bytes": "source (bytes)",
    "text_bytes": "text (bytes)",
    "commit": "tokenizer commit",
    "validation_bits_per_byte": "held-out roots (bits per byte)",
    "validation_bytes": "held-out text (bytes)",
}
"""Where the statistic's own name does not say its unit, or not in words."""


def figures(done: Done) -> dict[str, Any]:
    """Time, memory and size of any step, then the first figures of its stage; what else was counted is a table."""
    manifest = done.artifact.manifest
    stats = {name: value for name, value in manifest.stats.items() if isinstance(value, int | float | str)}
    stats |= read_work(done.artifact)
    first = [name for name in _FIRST[manifest.stage] if name in stats]
    shown: dict[str, Any] = {
        "time (s)": done.receipt.seconds,
        "peak memory (MB)": round(done.receipt.peak_bytes / 1e6, 1),
        "size (bytes)": sum(entry.bytes for entry in manifest.files),
    }
    shown |= {_name(name): stats[name] for name in first}
    return shown | _rest({name: stats[name] for name in sorted(stats.keys() - set(first))})


def _rest(stats: Mapping[str, Any]) -> dict[str, Any]:
    records = [dg.TableRecord({"figure": _name(name), "value": str(value)}) for name, value in stats.items()]
    return {REST: dg.MetadataValue.table(records)} if records else {}


def _name(stat: str) -> str:
    return _NAMES.get(stat, stat.replace("_", " "))
