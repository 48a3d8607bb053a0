"""`megacpp copy` and `megacpp gc`: data roots in buckets."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import click

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.storage.remote import SCHEME, shown_root

_WEEK = 168
_LEAST_GRACE = 48
"""`SHORTEST_GRACE` of storage/bucket/collection.py, which imports Google's client."""


@click.command("copy")
@click.argument("source")
@click.argument("target")
def copy_command(source: str, target: str) -> None:
    """Copy a data root to a bucket, from one, or between two.

    SOURCE and TARGET are folders or gs://BUCKET/FOLDER; at least one is a bucket. Every file is compared with its
    manifest. TARGET is empty, or an earlier copy of SOURCE; then only missing files are copied. Between two buckets,
    Google's storage copies the objects itself. Do not run gc on TARGET at the same time.
    """
    count = 0
    for name in _copy(_named(source), _named(target)):
        click.echo(name)
        count += 1
    click.echo(f"copied {count:,} to {target}; megacpp verify {target} reads all of it again")


def _named(root: str) -> str:
    """Return the URI for a folder that is the cache of a bucket."""
    return root if root.startswith(SCHEME) else shown_root(Path(root).expanduser().resolve())


def _copy(source: str, target: str) -> Iterator[str]:
    from megacpp_assets.lineage.whole import artifact_paths
    from megacpp_assets.storage.bucket.copying import copy_between_buckets, copy_from_bucket, copy_to_bucket

    if source.startswith(SCHEME):
        return (
            copy_between_buckets(source, target)
            if target.startswith(SCHEME)
            else copy_from_bucket(source, Path(target))
        )
    if not target.startswith(SCHEME):
        raise SpecError(
            "copy", expected="gs://… as SOURCE or TARGET", found="two folders", do=f"cp -a {source} {target}"
        )
    if not Path(source).is_dir():
        raise SpecError(f"data root {source}", expected="a folder", found="no such folder", do="correct SOURCE")
    return copy_to_bucket(Path(source), artifact_paths(Path(source)), target)


@click.command("gc")
@click.argument("root", metavar="gs://BUCKET/FOLDER")
@click.option("--delete", is_flag=True, help="Delete the artifacts. Without this option they are only listed.")
@click.option(
    "--grace-hours",
    default=_WEEK,
    show_default=True,
    type=click.IntRange(min=_LEAST_GRACE),
    help="Keep objects that are younger than this.",
)
def gc_command(root: str, *, delete: bool, grace_hours: int) -> None:
    """List the artifacts of a bucket to which no path refers. With --delete, delete them.

    Manifests are kept, so that audits can trace replaced artifacts. This does not touch the caches of machines; each
    cache keeps to its own limit.
    """
    from megacpp_assets.storage.bucket.collection import find_unreferenced, open_collection, remove

    if not root.startswith(SCHEME):
        do = "delete folders of artifacts yourself; the next run makes what is missing"
        raise SpecError(f"gc of {root}", expected="gs://BUCKET/FOLDER", found="a folder", do=do)
    grace = timedelta(hours=grace_hours)
    objects, count, size, kept = open_collection(root, grace), 0, 0, 0
    for found in find_unreferenced(objects, grace):
        if delete and not remove(objects, found):
            kept += 1
            continue
        click.echo(f"{found.manifest_sha256}  {found.bytes:,} bytes  written {found.updated:%Y-%m-%d %H:%M} UTC")
        count, size = count + 1, size + found.bytes
    verb = "deleted" if delete else "to delete with --delete"
    click.echo(f"{verb}: {count:,} artifacts, {size:,} bytes{f'; {kept} are being stored again' if kept else ''}")
