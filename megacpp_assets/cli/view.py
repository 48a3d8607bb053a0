"""`megacpp view`: a packed row or a document as text, in the colours of its structure."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from megacpp_assets.cli.options import NameChoice, data_root_option, dataset_option
from megacpp_assets.contract.names import SPLITS
from megacpp_assets.storage.root.layout import data_root as resolve_root

_WIDTH = 120


@click.command("view")
@click.argument("partition", metavar="SPECIALIST/PHASE|NAME@REF")
@click.argument("which", metavar="ROW|DOCUMENT")
@click.option("--split", type=NameChoice(SPLITS), default=SPLITS[0], show_default=True, help="Split of the row.")
@click.option(
    "--version",
    default="",
    metavar="VERSION",
    help="Version of the document: v3_simple, or v3 for the first variant of v3.",
)
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), help="Write an HTML page to FILE instead.")
@click.option("--color/--no-color", default=None, help="Use colours. Default: only if standard output is a terminal.")
@dataset_option
@data_root_option
def view_command(
    *,
    partition: str,
    which: str,
    split: str,
    version: str,
    html: Path | None,
    color: bool | None,
    dataset: str,
    data_root: str | None,
) -> None:
    """Show a row of a mixture, or a document, in colour.

    Name a row as `base/4k 0`. Name a document as `fmt@11.0.0 0`, or by its id. The colour of a token is that of its
    category. Context is dim, and synthetic text is underlined. Lines that a commit added or removed have a green or red
    background. Chunks and their edges follow. A control character is shown as its number.
    """
    from rich.console import Console

    from megacpp_assets.storage.atomic import write_atomic
    from megacpp_assets.storage.root.lock_file import read_lock
    from megacpp_assets.viewing.find import Where, find
    from megacpp_assets.viewing.page import page
    from megacpp_assets.viewing.terminal import print_shown

    root = resolve_root(data_root)
    shown = find(root, dataset or read_lock(root).active, partition, which, Where(split, version))
    if html is not None:
        write_atomic(html, page(shown).encode())
        click.echo(f"open {html.resolve()}")
        return
    coloured = sys.stdout.isatty() if color is None else color
    width = None if sys.stdout.isatty() else _WIDTH
    console = Console(color_system="truecolor" if coloured else None, force_terminal=coloured, width=width)
    print_shown(shown, console)
