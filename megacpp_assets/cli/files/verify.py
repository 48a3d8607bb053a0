"""`megacpp verify`: reads every byte of a data root, an artifact or a Megatron pair and compares it with manifests."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import click

from megacpp_assets.cli.files.beside import artifact_beside, below_root, is_sealed
from megacpp_assets.cli.options import data_root_option
from megacpp_assets.contract.columns import MANIFEST_FILE
from megacpp_assets.contract.errors import LineageGap, SpecError
from megacpp_assets.contract.megatron_files import BIN, IDX
from megacpp_assets.lineage.whole import read_all, read_one
from megacpp_assets.storage.artifact import Artifact, Examined
from megacpp_assets.storage.remote import SCHEME
from megacpp_assets.storage.root.layout import DATA_ROOT_VARIABLE
from megacpp_assets.storage.root.layout import data_root as resolve_root


@click.command("verify")
@click.argument("target", required=False)
@click.option(
    "--vocabulary-size",
    type=click.IntRange(min=1),
    help="Number of ids of a pair. Default: the number in its manifest.",
)
@click.option("--multimodal", is_flag=True, help="The pair is multimodal: it has a mode for each sequence.")
@data_root_option
def verify_command(target: str | None, *, vocabulary_size: int | None, multimodal: bool, data_root: str | None) -> None:
    """Read every byte of TARGET again. Exit code 1 if anything differs; each difference is named.

    TARGET is a data root (default: the one of --data-root), the folder of one artifact, or the Megatron pair TARGET.bin
    / TARGET.idx. Files are compared with the manifest in their folder. Git checks repositories and the registry of
    tokenizers. Every token of a pair must be in the vocabulary. If the data root is gs://BUCKET/FOLDER, every object is
    downloaded and compared with its manifest, and none is kept.
    """
    named = target or data_root or os.environ.get(DATA_ROOT_VARIABLE) or ""
    if named.startswith(SCHEME):
        from megacpp_assets.storage.bucket.verification import examine_bucket

        _report(examine_bucket(named), named)
        return
    place = resolve_root(data_root) if target is None else Path(target).resolve()
    if target is not None and not place.is_dir():
        _require_pair(place)
        _verify_pair(place, vocabulary_size, multimodal=multimodal)
    elif is_sealed(place):
        root, path = below_root(place)
        _report([read_one(root, path)], place)
    else:
        _report(read_all(place), place)


def _report(artifacts: Iterable[Examined], place: Path | str) -> None:
    """Print one line for each problem and one for the sum; exit code 1 if there is a problem."""
    count, files, size, bad = 0, 0, 0, 0
    for each in artifacts:
        count, files, size = count + 1, files + each.files, size + each.bytes
        bad += bool(each.problems)
        for name, expected, found in each.problems:
            click.echo(f"{name}: expected {expected}; found {found}")
    if not count:
        do = "name a data root, the folder of an artifact, or a pair without its suffix"
        raise SpecError(f"{place}", expected="artifacts below it", found="none", do=do)
    click.echo(f"artifacts {count:,}  files {files:,}  bytes {size:,}  damaged {bad:,}")
    if bad:
        raise click.exceptions.Exit(1)


def _require_pair(prefix: Path) -> None:
    if not any(Path(f"{prefix}{suffix}").exists() for suffix in (BIN, IDX)):
        do = "name a data root, the folder of an artifact, or a Megatron pair without its suffix"
        found = "a file" if prefix.is_file() else "no such path"
        raise SpecError(f"{prefix}", expected=f"a folder, or a pair {prefix.name}{BIN} and {IDX}", found=found, do=do)


def _verify_pair(prefix: Path, vocabulary_size: int | None, *, multimodal: bool) -> None:
    from megacpp_assets.megatron.verify import verify_prefix
    from megacpp_assets.megatron.vocabulary import stated_vocabulary_size

    beside = artifact_beside(prefix)
    if beside is None and vocabulary_size is None:
        raise SpecError(
            f"vocabulary size of {prefix.name}",
            expected=f"{MANIFEST_FILE} in its folder, which states the number of ids",
            found="none",
            do="give it with --vocabulary-size",
        )
    size = vocabulary_size if beside is None or vocabulary_size else stated_vocabulary_size(beside)
    assert size is not None
    report = verify_prefix(prefix, size, multimodal=multimodal)
    _compare_with_manifest(beside, prefix.name)
    click.echo(f"documents {report.documents:,}  tokens {report.tokens:,}  largest id {report.max_token:,}")
    if report.modes:
        click.echo("sequences by mode: " + ", ".join(f"{mode}: {count:,}" for mode, count in report.modes.items()))
    click.echo("first tokens of document 0: " + " ".join(map(str, report.first_tokens)))


def _compare_with_manifest(beside: Artifact | None, name: str) -> None:
    """Raise unless the manifest lists the pair and every file of the manifest has its hash."""
    if beside is None:
        click.echo("no manifest in its folder: structure and ids were checked, hashes were not")
        return
    for suffix in (BIN, IDX):
        beside.file(name + suffix)
    for file, expected, found in beside.problems():
        raise LineageGap(file, expected=expected, found=found, do="rerun megatron_bin_idx")
