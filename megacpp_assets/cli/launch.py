"""`megacpp launch`: previews and estimates of trainings; the jobs that run; cancelling one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from megacpp_assets.cli.options import data_root_option, dataset_option, not_empty, recipe_settings_option, split_list
from megacpp_assets.cli.screen.words import counted
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.storage.remote import shown_root
from megacpp_assets.storage.root.layout import data_root as resolve_root

if TYPE_CHECKING:
    from megacpp_assets.launch.client.records import AttemptRecord

_DEFAULT = "base"


@click.group("launch", invoke_without_command=True)
@click.option("--dry-run", is_flag=True, help="Print the request to the launcher, word for word.")
@click.option(
    "--estimate", "estimating", is_flag=True, help="Print the expected duration, from the rates of finished trainings."
)
@click.option("--hourly", type=float, metavar="PRICE", help="Price of an hour of the whole job, for --estimate.")
@click.option(
    "--partition", default="", metavar="SPECIALIST/PHASE", help="Default: base in the first phase of the curriculum."
)
@click.option(
    "--specialists",
    default="",
    metavar="NAME,NAME",
    help="Several specialists, each in the first phase of the curriculum.",
)
@click.option("--recipe", metavar="NAME|FILE", callback=not_empty, help="Default: the recipe of the dataset.")
@recipe_settings_option
@dataset_option
@data_root_option
@click.pass_context
def launch_group(
    context: click.Context,
    *,
    dry_run: bool,
    estimating: bool,
    hourly: float | None,
    partition: str,
    specialists: str,
    recipe: str | None,
    settings: tuple[str, ...],
    dataset: str,
    data_root: str | None,
) -> None:
    """Show what a training would request from its launcher.

    With --estimate it also shows how long the training would take. This changes nothing. megacpp run starts a training;
    megacpp launch status lists the jobs; megacpp launch cancel stops one.
    """
    if context.invoked_subcommand is not None:
        return
    if not (dry_run or estimating):
        raise click.UsageError("name one of --dry-run, --estimate, status, cancel or compile; megacpp run launches")
    if partition and specialists:
        raise click.UsageError("--partition and --specialists exclude each other")
    corpus = _corpus(data_root, dataset, recipe, settings)
    phase = corpus.recipe.curriculum[0]
    asked = [partition] if partition else [f"{name}/{phase}" for name in split_list(specialists) or (_DEFAULT,)]
    for each in asked:
        if len(asked) > 1:
            click.echo(f"# {each}")
        if dry_run:
            _preview(corpus, each)
        if estimating:
            _estimate(corpus, each, hourly)


@launch_group.command("status")
@data_root_option
def status_command(data_root: str | None) -> None:
    """Print every job attempt that was launched from the data root.

    A line has run, partition, launcher, state and rate.
    """
    from megacpp_assets.launch.client import records

    root = resolve_root(data_root)
    for record in (launched := records.records(root)):
        rate = f"  {record.rate.tokens_per_second:,.0f} tokens/s" if record.rate else ""
        click.echo(f"{record.name}  {record.partition:<16} {record.launch.launcher:<10} {_state(root, record)}{rate}")
    if not launched:
        click.echo(f"no training was launched from {shown_root(root)}; megacpp run launches it")


@launch_group.command("cancel")
@click.argument("run", metavar="RUN")
@data_root_option
def cancel_command(run: str, data_root: str | None) -> None:
    """Cancel the launched job RUN.

    megacpp launch status prints the names of jobs. The job saves its last step and ends. The command returns when no
    process of the job runs any more.
    """
    from megacpp_assets.launch.client.drive import cancel

    click.echo(f"{run}  {cancel(resolve_root(data_root), run)}")


@launch_group.command("compile")
@click.argument("topology", metavar="TOPOLOGY")
@click.option(
    "--recipe",
    metavar="NAME|FILE",
    required=True,
    help="Recipe of the model and the batch; its training.device must be tpu.",
)
@recipe_settings_option
@click.option("--phase", default="", help="Phase of the curriculum. Default: its first.")
def compile_command(topology: str, recipe: str, settings: tuple[str, ...], phase: str) -> None:
    """Compile a training step for a TPU slice.

    Prints how much memory the step takes of each chip. TOPOLOGY is the slice, such as v6e:2x2. This machine needs no
    TPU, so you learn whether the step fits before you rent one. Needs the extra tpu.
    """
    from megacpp_assets.contract.recipe.text import load_recipe
    from megacpp_assets.training.tpu import require_jax

    require_jax("megacpp launch compile")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    from megacpp_assets.training.tpu.compile import compile_for

    asked = load_recipe(recipe, ("training.device=tpu", *settings))
    phase = phase or asked.curriculum[0]
    row_tokens = asked.phase(phase).row_tokens
    found = compile_for(topology, asked.training_of(phase), asked.tokenizer.vocabulary_size, row_tokens)
    batch = f"{asked.training.batch_rows} rows of {row_tokens:,} tokens"
    click.echo(f"{topology}, {found.devices} chips, {batch} a step: {found.bytes_a_device / 1e9:.2f} GB of each chip")


def _corpus(data_root: str | None, dataset: str, recipe: str | None, settings: Sequence[str]) -> Corpus:
    """Return the dataset, followed by its own recipe or by the one that was asked for; it need not have been
    run yet.
    """
    from megacpp_assets.contract.lock.corpus_lock import CorpusLock
    from megacpp_assets.contract.recipe.text import changed_recipe, load_recipe
    from megacpp_assets.pipeline.corpus import open_corpus
    from megacpp_assets.storage.root.lock_file import read_lock

    root = resolve_root(data_root)
    if recipe is None:
        corpus = open_corpus(root, dataset)
        return Corpus(root, corpus.lock, changed_recipe(corpus.recipe, settings))
    asked = load_recipe(recipe, settings)
    return Corpus(root, read_lock(root).datasets.get(asked.dataset, CorpusLock(asked.dataset, "")), asked)


def _preview(corpus: Corpus, partition: str) -> None:
    from megacpp_assets.launch.client.preview import preview
    from megacpp_assets.trained.stage import scratch_folder, spec

    asked = spec(corpus, partition)
    shown = preview(asked, scratch_folder(asked))
    click.echo(shown.plan, nl=False)
    for path in shown.missing:
        click.secho(f"not made yet: {path}; the name of the job will be another", fg="yellow", err=True)


def _estimate(corpus: Corpus, partition: str, hourly: float | None) -> None:
    from megacpp_assets.launch.client import records
    from megacpp_assets.launch.client.preview import estimate

    found = estimate(corpus.recipe, corpus.mixture(partition).phase, records.records(corpus.root))
    how = "as it trained" if found.same else "scaled by parameters x tokens of a step"
    click.echo(f"model      {counted(found.parameters, 'parameter')}, {counted(found.steps, 'step')}")
    click.echo(f"rate       {found.rate.seconds_per_step:.3g} s a step, {found.rate.tokens_per_second:,.0f} tokens/s")
    click.echo(f"measured   {found.measured.name} of {found.measured.partition}, {how}")
    click.echo(
        f"duration   {timedelta(seconds=round(found.seconds))} (h:mm:ss), {found.rate.start_seconds:.1f} s of it"
    )
    click.echo("           before the first step")
    if hourly is not None:
        click.echo(f"cost       {hourly * found.seconds / 3600:,.2f} at {hourly:g} an hour")


def _state(root: Path, record: AttemptRecord) -> str:
    from megacpp_assets.launch.client import records
    from megacpp_assets.launch.client.channel import activity
    from megacpp_assets.launch.launcher import Unanswered

    if record.ended:
        return record.ended
    try:
        said = activity(record)
    except Unanswered as error:
        said = f"no answer: {error}"
    if not records.is_driven(root, record.name):
        return f"its launching process has ended ({said}); the next run or megacpp launch cancel releases it"
    return f"{'being cancelled' if record.cancelled else 'running'}: {said}"
