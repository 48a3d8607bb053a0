"""The closing table of a run: one line per stage."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from megacpp_assets.pipeline.execute import Done
from megacpp_assets.pipeline.stages import STAGE_NAMES
from megacpp_assets.pipeline.steps import Step

_COLUMNS = ("stage", "partitions", "documents", "tokens", "bytes", "seconds", "MB/s", "peak memory")


def stage_table(finished: Sequence[tuple[Step, Done]]) -> Table:
    """Sums over the partitions of each stage: seconds as spent when each was made, memory of the largest step."""
    table = Table(*_COLUMNS)
    for column in table.columns[1:]:
        column.justify = "right"
    for stage in STAGE_NAMES:
        done = [result for step, result in finished if step.stage.name == stage]
        if done:
            table.add_row(stage, *_row(done))
    return table


def _row(done: Sequence[Done]) -> list[str]:
    size = sum(entry.bytes for result in done for entry in result.artifact.manifest.files)
    seconds = sum(result.receipt.seconds for result in done)
    peak = max(result.receipt.peak_bytes for result in done)
    return [
        str(len(done)),
        _sum(done, "documents"),
        _sum(done, "tokens"),
        f"{size:,}",
        f"{seconds:.1f}",
        f"{size / 1e6 / seconds:.1f}" if seconds else "",
        f"{peak / 1e6:,.0f} MB",
    ]


def _sum(done: Sequence[Done], name: str) -> str:
    values = [result.artifact.manifest.stats[name] for result in done if name in result.artifact.manifest.stats]
    return f"{sum(values):,}" if values else ""
