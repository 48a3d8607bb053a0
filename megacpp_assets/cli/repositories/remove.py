"""`megacpp remove`: removes a repository, or files of it, from a dataset for good."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from megacpp_assets.cli.options import data_root_option, dataset_option, user_name
from megacpp_assets.cli.screen.running import at_work, bring_up_to_date
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.lock.removal import Removal
from megacpp_assets.lineage.history import read_history
from megacpp_assets.pipeline.corpus import open_corpus
from megacpp_assets.pipeline.execute import examine_steps
from megacpp_assets.pipeline.pins.removal import checkpoints_that_saw, left_of, made_steps, remove, require_present
from megacpp_assets.storage.root.layout import data_root as resolve_root
from megacpp_assets.storage.root.lock_file import read_lock


@click.command("remove")
@click.option("--repo", default="", metavar="NAME", help="A repository of the dataset, with all references.")
@click.option(
    "--path",
    default="",
    metavar="NAME:PATTERN",
    help="Files of a repository, a shell pattern over whole paths: 'fmt:src/os*'.",
)
@click.option("--reason", required=True, metavar="TEXT", help="Reason, which corpus.lock keeps.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Print the checkpoints that saw it and the artifacts that would be made again; change nothing.",
)
@dataset_option
@data_root_option
def remove_command(*, repo: str, path: str, reason: str, dry_run: bool, dataset: str, data_root: str | None) -> None:
    """Remove a repository, or files of one, from a dataset for good.

    An entry of corpus.lock keeps the removed files out, in later tags too. Artifacts that contain them are made again
    without them; the tokenizer does not change. The command names the checkpoints that saw the files. megacpp audit
    --repo names these checkpoints later too.
    """
    removal = _removal(repo, path, reason)
    if dry_run:
        corpus = open_corpus(resolve_root(data_root), dataset)
        require_present(corpus, removal)
        _tell_who_saw(corpus, removal)
        after = replace(corpus, lock=corpus.lock.removing(removal))
        for step, done in examine_steps(made_steps(after)):
            if done is None:
                click.echo(f"to make again: {step.name}")
        _tell_what_ends(corpus, after)
        return
    with at_work(data_root) as root:
        corpus = remove(open_corpus(root, dataset), removal, who=user_name())
        click.echo(f"{removal.what} is removed from {corpus.dataset}: {removal.reason}")
        _tell_who_saw(corpus, removal)
        try:
            if steps := made_steps(corpus):
                bring_up_to_date(corpus, steps)
        finally:
            _tell_what_is_left(corpus, removal)


def _removal(repo: str, path: str, reason: str) -> Removal:
    if bool(repo) == bool(path):
        raise click.UsageError("give --repo NAME or --path NAME:PATTERN, one of them")
    if repo:
        return Removal(repo, "", reason)
    name, _, pattern = path.partition(":")
    if not pattern:
        raise SpecError("--path", expected="NAME:PATTERN", found=repr(path), do="or --repo NAME for all of it")
    return Removal(name, pattern, reason)


def _tell_who_saw(corpus: Corpus, removal: Removal) -> None:
    """Print the checkpoints that saw the repository. Manifests do not say which of them saw a single file."""
    answer = checkpoints_that_saw(read_history(corpus.root), removal.repository)
    click.echo(f"{len(answer.uses)} checkpoints saw {removal.repository}{':' if answer.uses else ''}")
    for use in answer.uses:
        click.echo(f"  {use.path}  {use.how}{'' if use.lies else '  (replaced or removed since)'}")
    for line in answer.untraced:
        click.secho(f"warning: cannot be traced: {line}", fg="yellow", err=True)


def _tell_what_ends(before: Corpus, after: Corpus) -> None:
    """Print the partitions that no run makes any more: the repository's, and mixtures that only it defined."""
    made = {step.name for step in made_steps(after)}
    ended = dict.fromkeys(step.partition for step in made_steps(before) if step.name not in made)
    for partition in ended:
        click.echo(f"no longer made, kept for audits: {partition}")


def _tell_what_is_left(corpus: Corpus, removal: Removal) -> None:
    for name, lock in sorted(read_lock(corpus.root).datasets.items()):
        if name != corpus.dataset and removal.repository in {pin.name for pin in lock.known}:
            click.echo(f"dataset {name} has {removal.repository} too: the same with --dataset {name}")
    if not removal.path:
        _tell_files(corpus.root, removal.repository)


def _tell_files(root: Path, name: str) -> None:
    if left := left_of(read_history(root), name):
        click.echo(f"made of {name}, kept for audits, and still in {root}:")
        for path in left:
            click.echo(f"  {path}")
