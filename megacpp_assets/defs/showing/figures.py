"""The figures of a materialization: those that a person reads first, and all others in one table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import dagster as dg

from megacpp_assets.pipeline.execute import Done
from megacpp_assets.pipeline.stages import STAGES
from megacpp_assets.storage.work import read_work

MOST: Final = 20
"""Figures that stand alone: a page of them is read, a longer one is scrolled past."""
REST: Final = "other figures"

_NAMES: Final = {
    "calls_resolved_per_cent": "calls resolved (%)",
    "unlabelled_per_cent": "unlabelled characters (%)",
    "documents_alone_per_cent": "documents that lack no name of the repository (%)",
    "utilisation_ppm": "rows filled (ppm)",
    "units_parsed": "units parsed, which what changed reaches",
    "units_reused": "units as an earlier run parsed them",
    "changed_header": "changed header that most units include",
    "changed_header_units": "units that include it",
    "source_bytes": "source (bytes)",
    "text_bytes": "text (bytes)",
    "commit": "tokenizer commit",
    "validation_bits_per_byte": "held-out roots (bits per byte)",
    "validation_bytes": "held-out text (bytes)",
}
"""Where the statistic's own name does not say its unit, or not in words."""


def figures(done: Done) -> dict[str, Any]:
    """Time, memory and size of any step, then what its stage names; what else was counted is a table."""
    manifest = done.artifact.manifest
    stats = {name: value for name, value in manifest.stats.items() if isinstance(value, int | float | str)}
    stats |= read_work(done.artifact)
    first = [name for name in STAGES[manifest.stage].figures if name in stats]
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
