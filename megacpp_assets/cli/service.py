"""`megacpp service`: the parts of the UI as processes of their own, one a container: see deploy/compose.yaml."""

from __future__ import annotations

import click

from megacpp_assets.cli.options import data_root_option
from megacpp_assets.storage.root.layout import data_root as resolve_root

_port = click.IntRange(1, 65535)
_code_option = click.option(
    "--code", required=True, metavar="HOST:PORT", help="Address of megacpp service code, which has no access control."
)


@click.group("service")
def service_group() -> None:
    """Run one part of the UI: assets, daemon or web server.

    megacpp ui runs all three on one machine. These commands are for containers that share a data root and a Postgres
    server: see docs/cluster.md.
    """


@service_group.command("code")
@click.option(
    "--listen",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Address to listen on; only one of a private network.",
)
@click.option("--port", type=_port, default=4000, show_default=True)
@data_root_option
def code_command(*, listen: str, port: int, data_root: str | None) -> None:
    """Serve the assets, and start runs.

    The daemon and the web server connect to the port. Anyone who can connect can start runs. Use it only in a private
    network.
    """
    from megacpp_assets.ui.parts import serve_code

    serve_code(resolve_root(data_root), listen, port)


@service_group.command("daemon")
@_code_option
@data_root_option
def daemon_command(*, code: str, data_root: str | None) -> None:
    """Take runs from the queue, and run sensors and schedules.

    It also splits backfills into runs.
    """
    from megacpp_assets.ui.parts import run_daemon

    run_daemon(resolve_root(data_root), code)


@service_group.command("web")
@_code_option
@click.option(
    "--listen",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Address to listen on; in a container 0.0.0.0.",
)
@click.option(
    "--port",
    type=_port,
    default=3000,
    show_default=True,
    help="Port to listen on; publish it on loopback under the same number.",
)
@click.option("--read-only", is_flag=True, help="Allow no change.")
@data_root_option
def web_command(*, code: str, listen: str, port: int, read_only: bool, data_root: str | None) -> None:
    """Serve the pages. Anyone with the link has full access.

    The access check is that of megacpp ui. Only requests to 127.0.0.1 and localhost are answered, whatever address the
    server listens on.
    """
    from megacpp_assets.ui.server import serve_pages

    root = resolve_root(data_root)
    serve_pages(root, code, (listen, port), lambda address: click.echo(f"open {address}"), read_only=read_only)
