"""`megacpp tokenizer`: train, show, compare and pin the tokenizer of a corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from megacpp_assets.cli.options import data_root_option, dataset_option
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.pipeline.alone import only_run
from megacpp_assets.pipeline.corpus import open_corpus
from megacpp_assets.storage.root.layout import data_root as resolve_root

if TYPE_CHECKING:
    from megacpp_assets.storage.artifact import Artifact

_EXAMPLES = 12


@click.group("tokenizer")
def tokenizer_group() -> None:
    """Train, show, compare and pin the tokenizer of a corpus."""


@tokenizer_group.command("train")
@dataset_option
@data_root_option
def train_command(dataset: str, data_root: str | None) -> None:
    """Train a tokenizer on the pinned repositories and pin it.

    Nothing else retrains a tokenizer. The present tokenizer stays pinned until the training has succeeded.
    """
    from megacpp_assets.cli.screen.bars import Bars, wide_console
    from megacpp_assets.defs.commands.command_run import command_run
    from megacpp_assets.pipeline.run import machine_budget, run_steps
    from megacpp_assets.pipeline.stages import STAGES, TOKENIZER
    from megacpp_assets.pipeline.steps import RunPlan, planned_steps

    root = resolve_root(data_root)
    with only_run(root):
        corpus = open_corpus(root, dataset)
        needed = {TOKENIZER, *STAGES[TOKENIZER].upstream}
        steps = [step for step in planned_steps(corpus, RunPlan((), TOKENIZER)) if step.stage.name in needed]
        counts = Counter(step.stage.name for step in steps)
        recorded = command_run(root, corpus, steps, title="megacpp tokenizer train", retrain=True)
        with recorded as records, Bars(counts, wide_console()) as bars:
            corpus = run_steps(corpus, steps, records.forwarding_to(bars), records, machine_budget(), retrain=True)
    _show(corpus)


@tokenizer_group.command("show")
@dataset_option
@data_root_option
def show_command(dataset: str, data_root: str | None) -> None:
    """Print the pinned tokenizer and its quality.

    Prints its quality page, and its bytes per token for each category. Reads every file of the tokenizer first; a
    missing or damaged one is an error.
    """
    _show(_open(data_root, dataset))


@tokenizer_group.command("diff")
@click.argument("first")
@click.argument("second")
@data_root_option
def diff_command(first: str, second: str, data_root: str | None) -> None:
    """Compare two commits of the tokenizer's registry.

    Compares vocabularies, merges and recipes. Unique prefixes of commits are enough.
    """
    from megacpp_assets.pipeline.pins.tokenizers import diff_vocabularies

    found = diff_vocabularies(resolve_root(data_root), first, second)
    click.echo(f"{found.changed_ids} ids differ, {found.changed_merges} merges differ")
    one, two = found.recipes
    click.echo(f"same recipe: {one}" if one == two else f"recipe of {first}: {one}\nrecipe of {second}: {two}")
    for name, texts in ((first, found.only_first), (second, found.only_second)):
        click.echo(f"only in {name}: {len(texts)}  {' '.join(texts[:_EXAMPLES])}")


@tokenizer_group.command("pin")
@click.argument("commit")
@dataset_option
@data_root_option
def pin_command(commit: str, dataset: str, data_root: str | None) -> None:
    """Pin COMMIT of the registry as the tokenizer of the corpus.

    The next run rebuilds the later stages.
    """
    from megacpp_assets.pipeline.pins.pinning import with_tokenizer
    from megacpp_assets.pipeline.pins.tokenizers import registered_pin

    root = resolve_root(data_root)
    with only_run(root):
        corpus = open_corpus(root, dataset)
        pin = registered_pin(corpus, commit)
        with_tokenizer(corpus, pin)
    click.echo(f"pinned {pin.commit} (sha256 {pin.sha256}), trained on {', '.join(pin.repos)}")


@tokenizer_group.command("agree")
@dataset_option
@data_root_option
def agree_command(dataset: str, data_root: str | None) -> None:
    """Compare the ids of all files with HuggingFace tokenizers. Exit code 1 if any differ."""
    from megacpp_assets.tokenizer.report.compare import with_huggingface

    artifact, texts = _tokenizer_and_texts(_open(data_root, dataset))
    found = with_huggingface(artifact.fetched().directory, texts)
    click.echo(f"{found.documents:,} documents, {found.tokens:,} tokens: {found.differing} documents differ")
    if found.undecodable:
        click.echo(f"not compared: {found.undecodable:,} documents that are not UTF-8, which HuggingFace cannot take")
    if found.differing:
        raise click.exceptions.Exit(1)


@tokenizer_group.command("trie")
@dataset_option
@data_root_option
def trie_command(dataset: str, data_root: str | None) -> None:
    """Compare BPE with greedy longest match, on every file.

    Both have the same vocabulary.
    """
    from megacpp_assets.tokenizer.encoder import Encoder
    from megacpp_assets.tokenizer.report.compare import with_trie

    artifact, texts = _tokenizer_and_texts(_open(data_root, dataset))
    found = with_trie(Encoder.load(artifact.fetched().directory), texts)
    click.echo(f"documents that differ  {found.differing:,} of {found.documents:,}")
    click.echo(f"BPE tokens lost        {100 * found.lost / max(1, found.tokens):.2f} % of {found.tokens:,}")
    click.echo(f"tokens of longest match {found.others / max(1, found.tokens):.4f} of BPE's")


def _tokenizer_and_texts(corpus: Corpus) -> tuple[Artifact, Iterator[bytes]]:
    from megacpp_assets.storage.artifact import open_artifact
    from megacpp_assets.storage.root.layout import tokenizer_path
    from megacpp_assets.tokenizer.stage import training_texts

    artifact = open_artifact(corpus.root, tokenizer_path(corpus.dataset))
    artifact.verify()
    inputs = [open_artifact(corpus.root, entry.path) for entry in artifact.manifest.inputs]
    return artifact, training_texts(inputs, corpus.lock.removed)


def _open(data_root: str | None, dataset: str) -> Corpus:
    return open_corpus(resolve_root(data_root), dataset)


def _require_whole(artifact: Artifact) -> None:
    """Raise `LineageGap` if a file of the tokenizer is missing or damaged: its figures would be shown all the same."""
    try:
        artifact.verify()
    except LineageGap as error:
        do = "restore the file, or megacpp run makes it again"
        raise LineageGap(error.what, expected=error.expected, found=error.found, do=do) from error


def _show(corpus: Corpus) -> None:
    from megacpp_assets.pipeline.pins.tokenizers import categories_under
    from megacpp_assets.storage.artifact import open_artifact
    from megacpp_assets.storage.root.layout import tokenizer_path
    from megacpp_assets.tokenizer.lock import pin_of
    from megacpp_assets.tokenizer.report.page import PAGE_FILE, category_page

    artifact = open_artifact(corpus.root, tokenizer_path(corpus.dataset))
    _require_whole(artifact)
    pin = pin_of(artifact)
    pinned = corpus.lock.tokenizer is not None and corpus.lock.tokenizer.commit == pin.commit
    click.echo(f"commit   {pin.commit}{' (pinned)' if pinned else ''}\nsha256   {pin.sha256}\n")
    click.echo(artifact.file(PAGE_FILE).read_text(encoding="utf-8"), nl=False)
    if categories := categories_under(corpus, artifact):
        click.echo("\n" + category_page(categories), nl=False)
