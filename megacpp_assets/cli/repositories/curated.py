"""`megacpp curated`: the files of a repository that were left out, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from megacpp_assets.cli.options import data_root_option, dataset_option
from megacpp_assets.cli.screen.words import counted
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.storage.root.layout import data_root as resolve_root

if TYPE_CHECKING:
    from megacpp_assets.viewing.left_out import FilesLeftOut, LeftOut


@click.command("curated")
@click.argument("repository", metavar="NAME[@REF]")
@click.option("--reason", default="", metavar="TEXT", help="Only files whose reason begins with TEXT.")
@click.option(
    "--limit", type=click.IntRange(min=0), default=20, show_default=True, help="The most files that are listed."
)
@click.option("--all", "everything", is_flag=True, help="List every file.")
@dataset_option
@data_root_option
def curated_command(
    *, repository: str, reason: str, limit: int, everything: bool, dataset: str, data_root: str | None
) -> None:
    """Show which files of a repository were left out, and why.

    Counts C and C++ files by reason, then lists each file with what its reason rests on. Reasons are those of
    curation (licence, quality, copies, benchmarks) and, if the repository is indexed, those of the index too (removed,
    empty, too large, not parsed). Without @REF, the pinned reference of NAME is meant.
    """
    from megacpp_assets.pipeline.corpus import open_corpus
    from megacpp_assets.viewing.left_out import files_left_out

    corpus = open_corpus(resolve_root(data_root), dataset)
    repo = _reference(corpus, repository)
    found = files_left_out(corpus.root, corpus.dataset, repo)
    wanted = [file for file in found.left_out if file.reason.startswith(reason)]
    if reason and not wanted:
        known = Counter(file.reason for file in found.left_out)
        raise SpecError.unknown(f"reason of {repo.key}", reason, known, "leave --reason out to list every file")
    _print_counts(repo, found)
    _print_files(wanted, len(wanted) if everything else limit)


def _reference(corpus: Corpus, text: str) -> RepoRef:
    """Return the reference NAME@REF, or the one of NAME that mixtures read. `SpecError` if the dataset lacks it."""
    name, ref = RepoRef.asked(text)
    if ref:
        return corpus.pin(RepoRef(name, ref).key).partition
    pinned = {repo.name: repo for repo in corpus.repo_refs}
    if name not in pinned:
        do = "megacpp lock show lists what each dataset pins"
        raise SpecError.unknown(f"repository of dataset {corpus.dataset}", name, pinned, do)
    return pinned[name]


def _print_counts(repo: RepoRef, found: FilesLeftOut) -> None:
    click.echo(f"{repo.key}: {len(found.left_out):,} of {counted(found.files, 'file')} left out")
    if not found.indexed:
        click.echo("not indexed yet: files that only semantic_jsonl leaves out are missing here")
    for reason, count in Counter(file.reason for file in found.left_out).most_common():
        click.echo(f"{count:>7,}  {reason}")


def _print_files(files: Sequence[LeftOut], limit: int) -> None:
    from megacpp_assets.viewing.neutral import neutral

    if files:
        click.echo("")
    for file in files[:limit]:
        why = f"{file.reason}: {file.detail}" if file.detail else file.reason
        click.echo(neutral(f"{file.path}  {why}".replace("\n", " ")))
    if len(files) > limit:
        click.echo(f"… and {counted(len(files) - limit, 'more file')}; --all lists every one")
