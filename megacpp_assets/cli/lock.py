"""`megacpp lock`: what each dataset pins, moving a pin, and what was pinned before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import click

from megacpp_assets.cli.options import data_root_option, dataset_option, user_name
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.lock.corpus_lock import CorpusLock, LockFile
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.storage.remote import shown_root
from megacpp_assets.storage.root.layout import data_root as resolve_root
from megacpp_assets.storage.root.lock_file import lock_history, lock_notes, read_lock

_DIGITS = 12


@click.group("lock")
def lock_group() -> None:
    """Show and change the pins of a data root.

    Pins are the commits of repositories, the recipes and the tokenizers.
    """


@lock_group.command("show")
@data_root_option
def show_command(data_root: str | None) -> None:
    """Print the pins of every dataset, unread references last. The active dataset is marked with *."""
    root = resolve_root(data_root)
    lock = read_lock(root)
    if not lock.datasets:
        click.echo(f"no dataset is pinned in {shown_root(root)}; megacpp run pins the dataset of a recipe")
    for name in sorted(lock.datasets):
        click.echo(f"{'*' if name == lock.active else ' '} {name}")
        corpus = lock.datasets[name]
        for key, value in (_facts(corpus) | _unread(corpus) | _removed(corpus)).items():
            click.echo(f"    {key:<32} {value}")


@lock_group.command("promote")
@click.argument("partition", metavar="NAME@REF")
@click.option("--why", default="", metavar="TEXT", help="Recorded in the lock's history, with your name.")
@click.option("--unchecked", is_flag=True, help="Promote even if stages are missing or checks fail.")
@dataset_option
@data_root_option
def promote_command(*, partition: str, why: str, unchecked: bool, dataset: str, data_root: str | None) -> None:
    """Let the mixtures read repository NAME at REF.

    All its stages must be current and all checks must pass. The next run rebuilds the mixtures; the tokenizer does not
    change. The lock still has the earlier reference, and the history has the earlier lock.
    """
    from megacpp_assets.pipeline.alone import only_run
    from megacpp_assets.pipeline.corpus import open_corpus
    from megacpp_assets.pipeline.pins.promotion import promote

    if unchecked and not why.strip():
        raise click.UsageError("--unchecked needs --why, which the history of the lock keeps")
    root = resolve_root(data_root)
    with only_run(root):
        before = open_corpus(root, dataset)
        after = promote(before, partition, who=user_name(), why=why, unchecked=unchecked)
    for line in _changes(before.lock, after.lock):
        click.echo(line)


@lock_group.command("history")
@data_root_option
def history_command(data_root: str | None) -> None:
    """Print every change of the lock, oldest first.

    A line has the number of the earlier state, time, person and reason.
    """
    root = resolve_root(data_root)
    states = [*lock_history(root), (0, read_lock(root))]
    notes = lock_notes(root)
    if len(states) == 1:
        click.echo("no earlier state of corpus.lock")
    for (number, before), (_, after) in pairwise(states):
        click.echo(f"after state {number}, {_noted(notes.get(number, {}))}")
        for line in _all_changes(before, after):
            click.echo(f"    {line}")


@lock_group.command("diff")
@click.argument("number", type=click.IntRange(min=1))
@data_root_option
def diff_command(number: int, data_root: str | None) -> None:
    """Print how the lock differs from state NUMBER of its history."""
    root = resolve_root(data_root)
    states = dict(lock_history(root))
    if number not in states:
        known = f"1 to {max(states)}" if states else "none yet"
        do = "megacpp lock history lists the states"
        raise SpecError(f"state {number} of corpus.lock", expected=known, found="none of that number", do=do)
    for line in _all_changes(states[number], read_lock(root)):
        click.echo(line)


def _noted(note: Mapping[str, Any]) -> str:
    """Return the time of a change in UTC; for a promotion or a removal also who made it and why."""
    time = f"{note['at'].replace('T', ' ').removesuffix('Z')} UTC" if "at" in note else "time not recorded"
    if "removed" in note:
        return f"{time}: {note['removed']} removed by {note['who']}; {note['why']}"
    if "promoted" in note:
        checks = f"{len(note['checks'])} checks passed" if note["checked"] else "unchecked"
        return f"{time}: {note['promoted']} promoted by {note['who']}, {checks}; {note['why'] or 'no reason given'}"
    return time


def _facts(corpus: CorpusLock) -> dict[str, str]:
    facts = {"recipe": corpus.recipe[:_DIGITS]}
    facts["tokenizer"] = corpus.tokenizer.commit[:_DIGITS] if corpus.tokenizer else "none yet"
    return facts | {pin.name: f"{pin.ref} {pin.commit[:_DIGITS]}" for pin in corpus.repos}


def _unread(corpus: CorpusLock) -> dict[str, str]:
    return {pin.partition.key: f"{pin.commit[:_DIGITS]} (not read by any mixture)" for pin in corpus.beside}


def _removed(corpus: CorpusLock) -> dict[str, str]:
    return {removal.what: f"removed: {removal.reason}" for removal in corpus.removed}


def _all_changes(before: LockFile, after: LockFile) -> Iterator[str]:
    if before.active != after.active:
        yield f"active: {before.active or 'none'} -> {after.active}"
    for name in sorted(before.datasets.keys() | after.datasets.keys()):
        empty = CorpusLock(name, "none")
        for line in _changes(before.datasets.get(name, empty), after.datasets.get(name, empty)):
            yield f"{name}: {line}"


def _changes(before: CorpusLock, after: CorpusLock) -> Iterator[str]:
    first, second = _facts(before), _facts(after)
    for key in sorted(first.keys() | second.keys()):
        if first.get(key) != second.get(key):
            yield f"{key}: {first.get(key, 'none')} -> {second.get(key, 'none')}"
    for key, commit in _unread(after).items():
        if before.find(RepoRef.parse(key)) is None:
            yield f"{key}: none -> {commit}"
    for key, files in sorted(_removed(after).items() - _removed(before).items()):
        yield f"{key}: {files}"
