"""`megacpp estimate`: hours, disk, memory, tokens and cost of each stage, from what finished steps took here."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from megacpp_assets.cli.options import NameChoice, data_root_option, split_list
from megacpp_assets.cli.screen.words import counted
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.extras import require
from megacpp_assets.contract.names import REPOSITORY_CATEGORIES
from megacpp_assets.repos.catalogue import SHIPPED, CatalogueEntry, load_catalogue
from megacpp_assets.storage.root.layout import data_root as resolve_root

if TYPE_CHECKING:
    from megacpp_assets.estimate.forecast import Forecast, StageForecast
    from megacpp_assets.estimate.rates import Rates
    from megacpp_assets.estimate.sizes import Size

_AMDAHL_CORES: Final = (2, 16, 64)
_HOUR: Final = 3600.0
_UNKNOWN_ERROR: Final = -1.0
_FAR: Final = 10
"""A repository that is so many times larger than what was measured is not described by its rates."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """What the user asks for: machines of `cores`, and prices of a core hour and of a gigabyte for a month."""

    machines: int
    cores: int
    core_hour: float
    gigabyte_month: float

    def cost(self, stage: StageForecast) -> float:
        """Return the price of computing a stage and of storing it for a month."""
        return stage.cpu_seconds / _HOUR * self.core_hour + stage.stored_bytes / 1e9 * self.gigabyte_month


@click.command("estimate")
@click.option("--catalogue", default="upstream", show_default=True, help=f"{', '.join(SHIPPED)}, or a TOML file.")
@click.option("--repos", default="", metavar="NAME,…", help="Repositories of the catalogue. Default: all open ones.")
@click.option("--category", type=NameChoice(REPOSITORY_CATEGORIES), help="Only repositories of this category.")
@click.option(
    "--mixtures",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    help="Number of mixtures, each of all repositories.",
)
@click.option("--machines", type=click.IntRange(1), default=1, show_default=True, help="Number of machines.")
@click.option("--cores", type=click.IntRange(1), help="Cores of each machine. Default: the cores of this machine.")
@click.option("--core-hour", type=click.FloatRange(0), default=0.0, help="Price of a core for an hour.")
@click.option(
    "--gigabyte-month", type=click.FloatRange(0), default=0.0, help="Price of storing a gigabyte for a month."
)
@click.option("--rates", "rates_file", type=click.Path(path_type=Path), help="File of rates of another data root.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@data_root_option
def estimate_command(
    *,
    catalogue: str,
    repos: str,
    category: str | None,
    mixtures: int,
    machines: int,
    cores: int | None,
    core_hour: float,
    gigabyte_month: float,
    rates_file: Path | None,
    as_json: bool,
    data_root: str | None,
) -> None:
    """Estimate hours, disk, memory, tokens and cost of a catalogue.

    Rates are fitted to the finished steps of the data root and kept in its rates.json. To find the error of a rate,
    each step is predicted from the others. For a repository that is not pinned, the estimate uses the bytes of its
    catalogue entry. If the entry has none, it uses the size class, which may be wrong by a factor of ten. megacpp
    launch --estimate estimates a training.
    """
    require("build")
    from megacpp_assets.estimate.forecast import forecast
    from megacpp_assets.estimate.observed import observations, pinned_sizes
    from megacpp_assets.estimate.rates import keep_rates, kept_rates, measured_rates

    root = resolve_root(data_root)
    pinned = pinned_sizes(root)
    if rates_file is None:
        rates = measured_rates(observations(root, pinned))
        keep_rates(root, rates)
    else:
        rates = kept_rates(rates_file)
    sizes = _sizes(catalogue, split_list(repos), category, root, pinned)
    found = forecast(sizes, mixtures, rates, _estimated_stages())
    plan = _Plan(machines, cores or os.cpu_count() or 1, core_hour, gigabyte_month)
    if as_json:
        click.echo(json.dumps(_as_json(found, sizes, rates, plan), indent=2))
    else:
        _print(found, sizes, rates, plan)
        _warn(sizes, max(size.source_bytes for size in pinned.values()))


def _estimated_stages() -> tuple[str, ...]:
    """Return the stages of every recipe but training, whose cost depends on the model alone."""
    from megacpp_assets.pipeline.stages import CHECKPOINT, chain

    return tuple(name for name in chain(CHECKPOINT) if name != CHECKPOINT)


def _sizes(
    catalogue: str, names: Sequence[str], category: str | None, root: Path, pinned: dict[str, Size]
) -> list[Size]:
    from megacpp_assets.estimate.sizes import entry_size

    known = load_catalogue(catalogue, root)
    for name in names:
        if name not in known:
            raise SpecError.unknown(f"repository of catalogue {catalogue}", name, list(known), "megacpp catalogue list")
    entries = [entry for name, entry in known.items() if not names or name in names]
    wrong = next((entry for entry in entries if isinstance(entry, SpecError)), None)
    if wrong is not None:
        raise wrong
    wanted = [entry for entry in entries if isinstance(entry, CatalogueEntry) and entry.access == "open"]
    wanted = [entry for entry in wanted if category in (None, entry.category)]
    if not wanted:
        do = "choose others with --repos, --category or --catalogue"
        raise SpecError(f"catalogue {catalogue}", expected="an open repository that matches", found="none", do=do)
    if not pinned:
        do = "pin some first: megacpp run --repos NAME@REF --until pinned_repos"
        raise SpecError(f"data root {root}", expected="a pinned repository to compare with", found="none", do=do)
    return [entry_size(entry, pinned) for entry in wanted]


_RATE: Final = ("error of the rate", "measured on")
"""The columns that say how good a stage's rate is: the median and worst error in per cent, and the finished steps."""


def _print(found: Forecast, sizes: Sequence[Size], rates: Rates, plan: _Plan) -> None:
    from rich.table import Table

    from megacpp_assets.cli.screen.bars import wide_console

    on = f"{plan.cores} cores" if plan.machines == 1 else f"{plan.machines} machines of {plan.cores} cores"
    heads = ("stage", "partitions", "CPU h", "serial %", f"hours on {on}", "disk GB", "peak GB", "cost", *_RATE)
    table = Table(heads[0])
    for head in heads[1:]:
        table.add_column(head, justify="right")
    for stage in found.stages:
        table.add_row(*_row(stage, plan))
    console = wide_console()
    console.print(table)
    for line in _notes(found, sizes, rates, plan):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def _warn(sizes: Sequence[Size], measured: float) -> None:
    """Say which repositories are much larger than the largest pinned one, whose bytes are `measured`."""
    larger = [size.name for size in sizes if size.source_bytes > _FAR * measured]
    if larger:
        limit = f"more than {_FAR} times the largest pinned repository ({measured / 1e6:,.2f} MB)"
        click.echo(
            f"warning: {limit}: {', '.join(larger)}. Their figures, memory above all, are extrapolated.", err=True
        )


def _row(stage: StageForecast, plan: _Plan) -> list[str]:
    cpu = stage.cpu_seconds
    return [
        stage.stage,
        str(len(stage.partitions)),
        f"{cpu / _HOUR:,.2f}",
        f"{100 * stage.serial_seconds / cpu:.0f}" if cpu else "",
        f"{stage.elapsed_seconds(plan.cores, plan.machines) / _HOUR:,.2f}",
        f"{stage.stored_bytes / 1e9:,.2f}",
        f"{stage.peak_bytes / 1e9:,.1f}",
        f"{plan.cost(stage):,.2f}" if plan.core_hour or plan.gigabyte_month else "",
        _error(stage),
        counted(stage.rate.steps, "step"),
    ]


def _error(stage: StageForecast) -> str:
    """Return the median and the worst relative error, in per cent."""
    rate = stage.rate
    if rate.median_error == _UNKNOWN_ERROR:
        return "unknown"
    return f"{100 * rate.median_error:.0f} %, worst {100 * rate.worst_error:.0f} %"


def _notes(found: Forecast, sizes: Sequence[Size], rates: Rates, plan: _Plan) -> list[str]:
    sources = Counter(size.source for size in sizes)
    dates = [stage.rate.measured for stage in found.stages]
    megabytes = sum(size.source_bytes for size in sizes) / 1e6
    by_source = ", ".join(f"{count} {source}" for source, count in sorted(sources.items()))
    tokens = f"about {found.tokens / 1e6:,.1f} M tokens"
    lines = [
        f"{counted(len(sizes), 'repository')} ({by_source}), {megabytes:,.0f} MB of C and C++, {tokens}",
        f"rates of {rates.machine}, {min(dates, default='')} to {max(dates, default='')}",
        "hours by cores of one machine: "
        + "; ".join(f"{cores}: {_hours(found, cores):,.2f}" for cores in _AMDAHL_CORES),
    ]
    if plan.core_hour or plan.gigabyte_month:
        lines.append(f"cost of all stages: {sum(map(plan.cost, found.stages)):,.2f}, the first month of disk included")
    if found.unknown:
        lines.append(f"no finished step was measured of: {', '.join(found.unknown)}")
    return lines


def _hours(found: Forecast, cores: int, machines: int = 1) -> float:
    return sum(stage.elapsed_seconds(cores, machines) for stage in found.stages) / _HOUR


def _as_json(found: Forecast, sizes: Sequence[Size], rates: Rates, plan: _Plan) -> dict[str, Any]:
    return {
        "machine": rates.machine,
        "repositories": {size.name: {"source_bytes": size.source_bytes, "known_by": size.source} for size in sizes},
        "tokens": round(found.tokens),
        "stages": {
            stage.stage: {
                "partitions": len(stage.partitions),
                "cpu_seconds": round(stage.cpu_seconds, 3),
                "serial_seconds": round(stage.serial_seconds, 3),
                "elapsed_seconds": round(stage.elapsed_seconds(plan.cores, plan.machines), 3),
                "stored_bytes": round(stage.stored_bytes),
                "peak_bytes": round(stage.peak_bytes),
                "cost": round(plan.cost(stage), 4),
                "measured_steps": stage.rate.steps,
                "median_error": stage.rate.median_error,
                "worst_error": stage.rate.worst_error,
            }
            for stage in found.stages
        },
        "hours_by_cores": {str(cores): round(_hours(found, cores), 4) for cores in _AMDAHL_CORES},
        "not_measured": list(found.unknown),
    }
