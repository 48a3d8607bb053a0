"""`megacpp backfill`: releases of a repository as partitions. Missing and outdated ones are built."""

from __future__ import annotations

import click

from megacpp_assets.cli.options import NameChoice, data_root_option, dataset_option, split_list
from megacpp_assets.cli.screen.running import at_work, bring_up_to_date
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.pipeline.corpus import open_corpus
from megacpp_assets.pipeline.execute import examine_steps
from megacpp_assets.pipeline.pins.pinning import add_pins, with_pins
from megacpp_assets.pipeline.pins.releases import Releases, find_releases
from megacpp_assets.pipeline.stages import REPOSITORY_STAGES
from megacpp_assets.pipeline.steps import RunPlan, planned_steps
from megacpp_assets.storage.root.layout import data_root as resolve_root

_DIGITS = 12


@click.command("backfill")
@click.option("--repo", "name", required=True, metavar="NAME", help="A repository of the dataset.")
@click.option("--tags", required=True, metavar="PATTERN,…", help="Releases upstream, as shell patterns: '11.*,10.2.1'.")
@click.option("--dry-run", is_flag=True, help="Print what would be built; change nothing.")
@click.option(
    "--until",
    "last",
    type=NameChoice(REPOSITORY_STAGES),
    default=REPOSITORY_STAGES[-1],
    show_default=True,
    help="Last stage to run.",
)
@dataset_option
@data_root_option
def backfill_command(*, name: str, tags: str, dry_run: bool, last: str, dataset: str, data_root: str | None) -> None:
    """Pin and build releases that the mixtures do not read yet.

    New releases upstream are added to corpus.lock with their commits. For each release, missing and outdated stages
    run. A tag that moved upstream is reported and not built. Mixtures do not change until megacpp lock promote.
    """
    patterns = split_list(tags)
    if dry_run:
        root = resolve_root(data_root)
        corpus = open_corpus(root, dataset)
        releases = find_releases(corpus, name, patterns)
        _tell(with_pins(corpus, releases.pins), releases, last)
        return
    with at_work(data_root) as root:
        corpus = open_corpus(root, dataset)
        releases = find_releases(corpus, name, patterns)
        corpus = add_pins(corpus, releases.pins)
        _tell(corpus, releases, last)
        if releases.pins:
            bring_up_to_date(corpus, planned_steps(corpus, _plan(releases, last)))


def _plan(releases: Releases, last: str) -> RunPlan:
    return RunPlan((), last, tuple(pin.partition for pin in releases.pins))


def _tell(corpus: Corpus, releases: Releases, last: str) -> None:
    """Print each release with its commit and what will be done for it."""
    stale: dict[str, list[str]] = {}
    if releases.pins:
        for step, done in examine_steps(planned_steps(corpus, _plan(releases, last))):
            if done is None:
                stale.setdefault(step.partition, []).append(step.stage.name)
    new = {pin.partition for pin in releases.new}
    for pin in releases.pins:
        lacking = ", ".join(stale.get(pin.partition.key, ())) or "nothing, complete"
        known = "new  " if pin.partition in new else "known"
        click.echo(f"{pin.partition.key:<32} {pin.commit[:_DIGITS]} {known} to make: {lacking}")
    for moved in releases.moved:
        click.secho(f"warning: {moved}", fg="yellow", err=True)
