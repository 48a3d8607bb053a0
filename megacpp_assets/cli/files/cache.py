"""`megacpp cache`: opens Megatron pairs as a training does, and prints the arguments for Megatron."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from megacpp_assets.cli.files.beside import artifact_beside
from megacpp_assets.contract.canonical import sha256_bytes
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.megatron_files import BIN, IDX

if TYPE_CHECKING:
    from megacpp_assets.storage.artifact import Artifact

_FORM = "PREFIX, or WEIGHT PREFIX WEIGHT PREFIX …"


@click.command("cache")
@click.argument("blend", nargs=-1, required=True, metavar=_FORM)
@click.option("--seq-length", default=4096, show_default=True, type=click.IntRange(min=1), help="Tokens of a sample.")
@click.option(
    "--num-samples",
    default=1_000_000,
    show_default=True,
    type=click.IntRange(min=1),
    help="Number of samples in the training.",
)
@click.option(
    "--seed",
    default=1234,
    show_default=True,
    type=click.IntRange(0, 2**32 - 1),
    help="Seed of the order of documents and samples.",
)
@click.option("--split", default="98,1,1", show_default=True, help="Shares of train, valid and test, in file order.")
@click.option("--multimodal", is_flag=True, help="The pairs are multimodal: they have a mode for each sequence.")
@click.option(
    "--sequences",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the counts for --per-dataset-sequences-path to this file.",
)
@click.option(
    "--fast-cache-load", is_flag=True, help="Store the index maps now, so that Megatron neither builds nor checks them."
)
@click.option(
    "--defer-npy-index-mmap", is_flag=True, help="Store the index maps now, so that Megatron opens them at first use."
)
@click.option(
    "--write",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write blend.txt (for --data-args-path) and arguments.sh into this folder.",
)
def cache_command(
    blend: tuple[str, ...],
    *,
    seq_length: int,
    num_samples: int,
    seed: int,
    split: str,
    multimodal: bool,
    sequences: Path | None,
    fast_cache_load: bool,
    defer_npy_index_mmap: bool,
    write: Path | None,
) -> None:
    """Print Megatron's arguments to train on pairs.

    Prints also the documents, tokens and type of each pair. A prefix is a pair's path without `.bin` or `.idx`. The
    samples are those that megatron-core 0.16.1 makes. With the printed arguments, attention does not cross documents.

    With --fast-cache-load or --defer-npy-index-mmap the pairs are only for training, without --split. Then
    --num-samples must be the number of iterations times the global batch.
    """
    from megacpp_assets.megatron.launch import Launch, megatron_tokenizer, sequence_counts
    from megacpp_assets.megatron.samples.blend import open_blend
    from megacpp_assets.megatron.samples.index_cache import IndexCache, tokenizer_identifiers
    from megacpp_assets.megatron.vocabulary import stated_vocabulary_size

    weighted = _weighted(blend)
    artifacts = [_artifact(prefix) for _, prefix in weighted]
    tokenizer = _one_tokenizer(artifacts)
    # Megatron knows its indices again by path and settings alone, so what was made anew needs another folder.
    key = sha256_bytes("".join(artifact.manifest.sha256 for artifact in artifacts).encode())
    cache = artifacts[0].root / "cache" / "megatron" / key[:16]
    folder = megatron_tokenizer(tokenizer, cache / "tokenizer")
    flags = {
        "--dataloader-fast-cache-load": fast_cache_load,
        "--dataloader-defer-npy-index-mmap": defer_npy_index_mmap,
    }
    fast_start = tuple(flag for flag, chosen in flags.items() if chosen)
    opened = open_blend(
        weighted,
        row_tokens=seq_length,
        samples=num_samples,
        seed=seed,
        split=None if fast_start else split,
        multimodal=multimodal,
        cache=IndexCache(cache, tokenizer_identifiers(folder)) if fast_start else None,
    )
    for (_, prefix), samples in zip(weighted, opened.prefixes, strict=True):
        pair = samples.pair
        click.echo(
            f"{prefix.name}  documents {pair.documents:,}  tokens {len(pair.tokens):,}  {pair.header.dtype.name}"
        )
    if sequences is not None:
        pairs = {prefix: samples.pair for (_, prefix), samples in zip(weighted, opened.prefixes, strict=True)}
        sequences = sequences.resolve()
        sequences.write_bytes(sequence_counts(pairs, stated_vocabulary_size(tokenizer)))
    click.echo(f"training samples {len(opened):,} of {seq_length:,} tokens")
    vocabulary = stated_vocabulary_size(tokenizer)
    launch = Launch(weighted, folder, seq_length, seed, split, cache, vocabulary, sequences, fast_start)
    if write is not None:
        launch.write(write)
    click.echo(" \\\n".join(launch.arguments()))


def _weighted(blend: tuple[str, ...]) -> list[tuple[float, Path]]:
    if len(blend) == 1:
        return [(1.0, Path(blend[0]).resolve())]
    try:
        return [(float(weight), Path(prefix).resolve()) for weight, prefix in zip(blend[::2], blend[1::2], strict=True)]
    except ValueError as error:
        do = "write a weight before each prefix"
        raise SpecError("blend", expected=_FORM, found=" ".join(blend), do=do) from error


def _artifact(prefix: Path) -> Artifact:
    artifact = artifact_beside(prefix)
    if artifact is None:
        do = "name a pair in the folder of a published artifact; in place of a merged pair, name those it was made of"
        raise SpecError(f"{prefix}", expected="a manifest in its folder", found="none", do=do)
    pairs = [file.name.removesuffix(IDX) for file in artifact.manifest.files if file.name.endswith(IDX)]
    if prefix.name not in pairs:
        do = "name a pair by its path without .bin and .idx"
        raise SpecError.unknown(f"pair in {prefix.parent}", prefix.name, pairs, do)
    for suffix in (BIN, IDX):
        artifact.file(prefix.name + suffix)
    return artifact


def _one_tokenizer(artifacts: list[Artifact]) -> Artifact:
    """Return the one tokenizer of all pairs."""
    from megacpp_assets.megatron.vocabulary import tokenizer_of

    found = {each.manifest.sha256: each for each in map(tokenizer_of, artifacts)}
    if len(found) != 1:
        do = "blend pairs of one dataset's tokenizer"
        raise SpecError("blend", expected="one tokenizer for all prefixes", found=len(found), do=do)
    return next(iter(found.values()))
