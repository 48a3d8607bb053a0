"""The figures of a materialization: the most interesting ones one by one, all others in one table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import dagster as dg

from megacpp_assets.pipeline.execute import Done
from megacpp_assets.pipeline.stages import STAGES
from megacpp_assets.storage.work import read_work

MOST: Final = 20
"""The number of single figures. A reader scrolls past a longer page."""
REST: Final = "other figures"

_MEGABYTE: Final = 1e6
_PPM_PER_CENT: Final = 1e4
_HASH: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_DIGITS: Final = 12
"""As on the command line."""

_NAMES: Final = {
    "calls_resolved_per_cent": "calls resolved (%)",
    "unlabelled_per_cent": "unlabelled characters (%)",
    "documents_alone_per_cent": "documents that declare every repository name they use (%)",
    "documents_compiled_per_cent": "documents that compile (%)",
    "units_parsed": "units re-parsed because of a change",
    "units_reused": "units reused from an earlier run",
    "changed_header": "changed header that most units include",
    "changed_header_units": "units that include it",
    "utilisation_ppm": "row fill ppm",
    "skipped_files": "files left out",
    "dropped_edges": "edges left out",
    "overflow_documents": "documents left out (longer than a row)",
    "commit": "tokenizer commit",
    "validation_bits_per_byte": "validation loss (bits per byte)",
}
"""Names for statistics whose own name does not say the unit, or not in words."""


def figures(done: Done) -> dict[str, Any]:
    """Return the figures that the stage names, then time, memory and size."""
    first = {
        name: value for name, value in _stats(done).items() if name in STAGES[done.artifact.manifest.stage].figures
    }
    shown = dict(figure(name, first[name]) for name in STAGES[done.artifact.manifest.stage].figures if name in first)
    size = sum(entry.bytes for entry in done.artifact.manifest.files)
    return shown | {
        "time (s)": round(done.receipt.seconds, 1),
        "peak memory (MB)": round(done.receipt.peak_bytes / _MEGABYTE, 1),
        "size (MB)": _megabytes(size),
    }


def other_figures(done: Done) -> dict[str, Any]:
    """Return a table of all other statistics, by name."""
    rest = {
        name: value
        for name, value in sorted(_stats(done).items())
        if name not in STAGES[done.artifact.manifest.stage].figures
    }
    shown = (figure(name, value) for name, value in rest.items())
    records = [dg.TableRecord({"figure": name, "value": str(value)}) for name, value in shown]
    return {REST: dg.MetadataValue.table(records)} if records else {}


def figure(stat: str, value: float | str) -> tuple[str, float | str]:
    """Return the name of a statistic with its unit, and its value: MB and per cent as numbers, counts with
    separators.
    """
    name = _NAMES.get(stat, stat.replace("_", " "))
    if isinstance(value, str):
        return name, shortened(value)
    if stat.endswith("_ppm"):
        return f"{name.removesuffix(' ppm')} (%)", round(value / _PPM_PER_CENT, 2)
    if stat.endswith("_bytes"):
        return f"{name.removesuffix(' bytes')} (MB)", _megabytes(value)
    return name, f"{value:,}" if isinstance(value, int) else round(value, 3)


def shortened(text: str) -> str:
    """Return the first digits of a hash, and any other text unchanged."""
    return f"{text[:_DIGITS]}…" if _HASH.fullmatch(text) else text


def _megabytes(number: float) -> float:
    """Round to three significant digits: artifacts of the sample have kilobytes, models have gigabytes."""
    return float(f"{number / _MEGABYTE:.3g}")


def _stats(done: Done) -> Mapping[str, int | float | str]:
    manifest = done.artifact.manifest
    return {
        name: value
        for name, value in {**manifest.stats, **read_work(done.artifact)}.items()
        if isinstance(value, int | float | str)
    }
