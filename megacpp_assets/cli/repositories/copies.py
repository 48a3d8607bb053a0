"""`megacpp copies`: the copies of files across the repositories of a dataset, as a list that a recipe may name."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from megacpp_assets.cli.options import data_root_option, dataset_option, split_list
from megacpp_assets.cli.screen.words import counted
from megacpp_assets.storage.root.layout import data_root as resolve_root

if TYPE_CHECKING:
    from megacpp_assets.curation.copies_list import SharedCopy


@click.command("copies")
@dataset_option
@click.option(
    "--against",
    default="",
    metavar="DATASET[,…]",
    help="Datasets whose files stay, such as earlier versions or held-out sets.",
)
@click.option("--write", type=click.Path(dir_okay=False, path_type=Path), help="Write the list to this file.")
@data_root_option
def copies_command(dataset: str, against: str, write: Path | None, data_root: str | None) -> None:
    """Find copies of files across the repositories of a dataset.

    Compares all repositories that the mixtures read, by the signatures that the stage curated_files stored. With
    --write, it writes a list of copies and prints a line for the recipe's curation.shared_copies. With this line, the
    next run leaves out each file whose copy stays elsewhere.
    """
    from megacpp_assets.curation.copies_list import dump_copies
    from megacpp_assets.curation.shared import find_shared
    from megacpp_assets.pipeline.corpus import open_corpus
    from megacpp_assets.storage.atomic import write_atomic

    root = resolve_root(data_root)
    corpus = open_corpus(root, dataset)
    others = [open_corpus(root, name) for name in split_list(against)]
    sources = [(each.dataset, repo, each is not corpus) for each in (*others, corpus) for repo in each.repo_refs]
    copies = find_shared(root, sources, corpus.recipe.curation.near_copy)
    for line in _summary(copies):
        click.echo(line)
    if write is not None:
        data = dump_copies(copies)
        write_atomic(write, data)
        click.echo(f"{hashlib.sha256(data).hexdigest()}  {write.resolve()}")


def _summary(copies: Iterable[SharedCopy]) -> Iterable[str]:
    listed = list(copies)
    left = [copy for copy in listed if copy.stays]
    clusters = counted(len({copy.cluster for copy in listed}), "cluster")
    yield f"{counted(len(listed), 'file')} in {clusters} across repositories; copies of one that stays: {len(left)}"
    pairs = Counter((copy.repo, copy.stays.partition(":")[0]) for copy in left)
    for (repo, stays), count in sorted(pairs.items()):
        yield f"{count:>6} of {repo} are copies of files of {stays}"
