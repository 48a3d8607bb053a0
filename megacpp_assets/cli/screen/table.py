"""The closing table of a run: one line per stage."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from rich.table import Table

from megacpp_assets.contract.columns import COMPLETE_FILE
from megacpp_assets.pipeline.execute import Done
from megacpp_assets.pipeline.stages import STAGE_NAMES
from megacpp_assets.pipeline.steps import Step
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.work import read_work

_COLUMNS = ("stage", "partitions", "new", "documents", "tokens", "bytes", "seconds", "MB/s", "peak memory")
_VALID: Final = "valid_"
"""Before the names of a mixture's counts of held-out documents. Its other counts are those of training."""
HISTORY_STAGES: Final = frozenset({"commit_documents", "commit_windows", "resolved_windows"})
"""The stages that make documents of history."""


def stage_table(finished: Sequence[tuple[Step, Done]], made: Collection[str]) -> Table:
    """Return the table: sums over the partitions of each stage; seconds, speed and memory of those that this run
    made.

    `made` names the steps that ran now. The others were current.
    """
    table = Table(*_COLUMNS)
    for column in table.columns[1:]:
        column.justify = "right"
    for stage in STAGE_NAMES:
        done = [result for step, result in finished if step.stage.name == stage]
        new = [result for step, result in finished if step.stage.name == stage and step.name in made]
        if done:
            table.add_row(stage, str(len(done)), str(len(new)), *_held(done), *_spent(new))
    return table


def units_reached(finished: Sequence[tuple[Step, Done]], made: Collection[str]) -> Iterator[str]:
    """Yield a line for each reference that was indexed after another one of its repository.

    It says how many units a change reached, also through headers, and which header reaches most of them.
    """
    for step, done in finished:
        work = read_work(done.artifact) if step.name in made else {}
        parsed, reused = work.get("units_parsed", 0), work.get("units_reused", 0)
        header = work.get("changed_header")
        # A run that resumes, repairs or follows another recipe reuses units too; no reference changed then.
        if (reused or header) and _has_another_reference(done.artifact):
            units = parsed + reused
            widest = f"; {work['changed_header_units']} include {header}, which changed" if header else ""
            again = f"{parsed} of {units} units parsed because of a change ({100 * parsed / units:.1f} %)"
            yield f"{step.partition}: {again}, {reused} reused{widest}"


def _has_another_reference(artifact: Artifact) -> bool:
    """Return whether another reference of the repository of `artifact` was made for the same dataset."""
    name = artifact.manifest.partition.partition("@")[0]
    others = (folder for folder in artifact.directory.parent.iterdir() if folder.name.partition("@")[0] == name)
    return any(folder != artifact.directory and (folder / COMPLETE_FILE).is_file() for folder in others)


def history_by_rule(finished: Sequence[tuple[Step, Done]], made: Collection[str]) -> Iterator[str]:
    """Yield a line for each dataset version of history of which this run made documents: its sums by rule."""
    documents: Counter[str] = Counter()
    left_out: dict[str, Counter[str]] = defaultdict(Counter)
    for step, done in finished:
        if step.name in made and step.stage.name in HISTORY_STAGES:
            for name, counts in done.artifact.manifest.stats["budgets"].items():
                documents[name] += counts["documents"]
                left_out[name].update(counts["left_out"])
    for name in sorted(documents):
        rules = ", ".join(f"{rule} {count:,}" for rule, count in left_out[name].most_common())
        yield f"{name}: {documents[name]:,} documents; left out: {rules or 'none'}"


def warnings_of(finished: Sequence[tuple[Step, Done]]) -> Iterator[str]:
    """Yield a line for each check that only warns and did not pass."""
    do = "decide whether you accept it: a warning stops no stage"
    for step, done in finished:
        for check in done.receipt.warnings:
            found = f"expected {check.expected}; found {check.found}"
            yield f"warning: {step.name}: check {check.name}: {found}; what to do: {do}"


def _held(done: Sequence[Done]) -> list[str]:
    return [_sum(done, "documents"), _sum(done, "tokens"), f"{_bytes(done):,}"]


def _spent(new: Sequence[Done]) -> list[str]:
    """Return seconds, MB per second and the largest peak memory; empty if nothing was made."""
    if not new:
        return ["", "", ""]
    seconds = sum(result.receipt.seconds for result in new)
    peak = max(result.receipt.peak_bytes for result in new)
    return [f"{seconds:.1f}", f"{_bytes(new) / 1e6 / seconds:.1f}" if seconds else "", f"{peak / 1e6:,.0f} MB"]


def _bytes(done: Sequence[Done]) -> int:
    return sum(entry.bytes for result in done for entry in result.artifact.manifest.files)


def _sum(done: Sequence[Done], name: str) -> str:
    values = [count for result in done if (count := held(result, name)) is not None]
    return f"{sum(values):,}" if values else ""


def held(done: Done, name: str) -> int | None:
    """Return how many documents or tokens (`name`) an artifact has, those of both splits; None if it counts none."""
    stats = done.artifact.manifest.stats
    return stats[name] + stats.get(f"{_VALID}{name}", 0) if name in stats else None
