"""`megacpp merge`: several Megatron pairs as one."""

from __future__ import annotations

from pathlib import Path

import click

from megacpp_assets.cli.files.beside import artifact_beside
from megacpp_assets.contract.columns import TOKENIZER_FILE
from megacpp_assets.contract.errors import LineageGap, SpecError
from megacpp_assets.contract.megatron_files import IDX

_PREFIX = click.Path(path_type=Path)


@click.command("merge")
@click.argument("destination", type=_PREFIX)
@click.argument("prefixes", nargs=-1, required=True, type=_PREFIX, metavar="PREFIX…")
@click.option("--vocabulary-size", type=click.IntRange(min=1), help="Number of ids, if no manifest states it.")
@click.option("--multimodal", is_flag=True, help="The pairs are multimodal: they have a mode for each sequence.")
def merge_command(
    destination: Path, prefixes: tuple[Path, ...], *, vocabulary_size: int | None, multimodal: bool
) -> None:
    """Write several Megatron pairs as one pair DESTINATION.

    A prefix is a pair's path without `.bin` or `.idx`. The documents have the order of the prefixes, and keep their
    sequences. Structure, rows, chunks and names of documents are merged too if all pairs have them. Pairs of floats
    need no vocabulary size. Pairs of two tokenizers are rejected if their data roots name them.
    """
    from megacpp_assets.megatron.merge import merge_pairs

    _require_one_tokenizer(prefixes)
    size = vocabulary_size or (_one_size(prefixes) if _holds_token_ids(prefixes[0]) else None)
    merged = merge_pairs(prefixes, destination, size, multimodal=multimodal)
    click.echo(f"documents {merged.documents:,}  tokens {len(merged.tokens):,}")


def _holds_token_ids(prefix: Path) -> bool:
    from megacpp_assets.megatron.pair.reader import read_header

    return read_header(prefix.with_name(prefix.name + IDX)).holds_token_ids


def _require_one_tokenizer(prefixes: tuple[Path, ...]) -> None:
    """Raise `SpecError` if the tokens of two pairs are ids of two tokenizers: the same id is another text then.

    A pair outside of a data root, or one whose chain of manifests is not there, does not name its tokenizer.
    """
    found = {sha256: prefix for prefix in prefixes if (sha256 := _tokenizer_sha256(prefix))}
    if len(found) > 1:
        raise SpecError(
            "pairs to merge",
            expected="one tokenizer",
            found=", ".join(f"{sha256[:12]} in {prefix}" for sha256, prefix in found.items()),
            do="merge pairs of one dataset's tokenizer",
        )


def _tokenizer_sha256(prefix: Path) -> str:
    """Return the hash of the `tokenizer.json` that made the tokens of a pair; "" if no manifest names it."""
    from megacpp_assets.megatron.vocabulary import tokenizer_of

    try:
        artifact = artifact_beside(prefix)
        entries = [] if artifact is None else tokenizer_of(artifact).manifest.files
    except LineageGap:
        return ""
    return next((entry.sha256 for entry in entries if entry.name == TOKENIZER_FILE), "")


def _one_size(prefixes: tuple[Path, ...]) -> int:
    from megacpp_assets.megatron.vocabulary import stated_vocabulary_size

    beside = [artifact_beside(prefix) for prefix in prefixes]
    sizes = {stated_vocabulary_size(artifact) for artifact in beside if artifact is not None}
    if len(sizes) != 1 or None in beside:
        do = "give it with --vocabulary-size"
        raise SpecError(
            "vocabulary size", expected="one that all manifests state", found=sorted(sizes) or "none", do=do
        )
    return sizes.pop()
