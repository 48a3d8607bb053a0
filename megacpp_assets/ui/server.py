"""Runs Dagster's web server on loopback behind its guard, together with the processes that it needs."""

from __future__ import annotations

import secrets
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Final

import dagster as dg
import uvicorn
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import WorkspaceFileTarget
from dagster_webserver.app import create_app_from_workspace_process_context

from megacpp_assets.contract.errors import EnvironmentLacks, MegacppError, ServiceEnded
from megacpp_assets.defs.commands.missing import record_missing
from megacpp_assets.defs.home.database import failures_named
from megacpp_assets.defs.home.instance import open_instance, prepare_home
from megacpp_assets.storage.root.locks import exclusive_lock
from megacpp_assets.training.processes.process import GRACE_SECONDS
from megacpp_assets.ui.bodies import Bodies
from megacpp_assets.ui.door import TOKEN_PARAMETER, Door
from megacpp_assets.ui.ending import (
    Deadline,
    Orphans,
    adopt_orphans,
    hurry_on_signals,
    interrupt_on_signals,
    kill_all_below,
)
from megacpp_assets.ui.pages import routes_of
from megacpp_assets.ui.parts import write_workspace
from megacpp_assets.ui.patience import PatientProtocol
from megacpp_assets.ui.runs import cancel_runs, fail_dead_runs, fail_killed_runs
from megacpp_assets.ui.services import Service, ServiceStarter

LOOPBACK: Final = "127.0.0.1"
_TOKEN_BYTES = 32
_RELOAD_MILLISECONDS = 2000
_CLOSE_SECONDS = 2
_END_SECONDS = GRACE_SECONDS + 15
"""Seconds until all processes have ended or are killed. A training may take the first part of it."""
_WATCH_SECONDS = 0.5
_MISSING_SECONDS = 60.0
_MOST_CONNECTIONS = 300
"""Connections. A browser opens six, and one more for each page that subscribes. A process may have 1,024 open files."""
_MESSAGE_BYTES = 1 << 20
"""Bytes of a WebSocket message. Pages send nothing but the documents of their subscriptions."""
_DAEMON: Final = 1
"""The place of the daemon among the services. The server of the assets comes first, because runs belong to it.

A read-only UI has no daemon.
"""


def serve(root: Path, port: int, ready: Callable[[str], None], *, read_only: bool = False) -> None:
    """Serve the UI of the data root until SIGINT or SIGTERM. `ready` is called with the address to open.

    With `port` 0 a free port is used. At the end every started process has ended; a second signal makes the end faster.
    With `read_only` nothing can be changed through the UI, no daemon is started, and other UIs of the same root may
    run. Raises `SpecError` if a UI of this root is running, `EnvironmentLacks` if the port is in use, and
    `ServiceEnded` if a process of Dagster ends by itself.
    """
    interrupt_on_signals()
    home = prepare_home(root)
    with nullcontext() if read_only else _only_ui(root), _listener(port) as listener, suppress(KeyboardInterrupt):
        folder = tempfile.TemporaryDirectory(prefix="megacpp-ui-")
        with folder as private, open_instance(root) as instance:
            _serve(listener, instance, ServiceStarter(Path(private), home / "ui.log"), ready, read_only=read_only)


def serve_pages(
    root: Path, code: str, place: tuple[str, int], ready: Callable[[str], None], *, read_only: bool = False
) -> None:
    """Serve the pages alone, at the address and port of `place`, for assets that are served at `code` (HOST:PORT).

    Runs and the daemon belong to other processes and go on when this one ends.
    """
    interrupt_on_signals()
    home = prepare_home(root)
    with _listener(place[1], place[0]) as listener, suppress(KeyboardInterrupt):
        folder = tempfile.TemporaryDirectory(prefix="megacpp-web-")
        with folder as private, open_instance(root) as instance:
            target = WorkspaceFileTarget([str(write_workspace(Path(private), code))])
            with WorkspaceProcessContext(instance, target, read_only=read_only) as context:
                _answer(listener, context, [], ServiceStarter(Path(private), home / "ui.log"), ready)


def _serve(
    listener: socket.socket,
    instance: dg.DagsterInstance,
    launcher: ServiceStarter,
    ready: Callable[[str], None],
    *,
    read_only: bool,
) -> None:
    services: list[Service] = []
    with _ending_services(services) if read_only else _ending(instance, services):
        services.append(launcher.serve_assets())
        launcher.wait_for_assets(services[0])
        if not read_only:
            services.append(launcher.run_daemon())
        target = WorkspaceFileTarget([str(launcher.workspace)])
        with WorkspaceProcessContext(instance, target, read_only=read_only) as context:
            _answer(listener, context, services, launcher, ready)


@contextmanager
def _ending_services(services: list[Service]) -> Iterator[None]:
    """At the end of the block stop the services. Runs go on, because all belong to another UI."""
    adopt_orphans()
    try:
        yield
    finally:
        deadline = Deadline(_CLOSE_SECONDS)
        hurry_on_signals(deadline)
        for service in services:
            service.end(deadline)
        kill_all_below()


@contextmanager
def _ending(instance: dg.DagsterInstance, services: list[Service]) -> Iterator[None]:
    """At the end of the block: start no new run, end the running ones, then their server, then what is left."""
    adopt_orphans()
    fail_dead_runs(instance)
    try:
        yield
    finally:
        deadline = Deadline(_END_SECONDS)
        hurry_on_signals(deadline)
        for service in services[1:]:
            service.end(deadline)
        cancel_runs(instance, deadline)
        for service in services[:1]:
            service.end(deadline)
        kill_all_below()
        fail_killed_runs(instance)


def _answer(
    listener: socket.socket,
    context: WorkspaceProcessContext,
    services: list[Service],
    launcher: ServiceStarter,
    ready: Callable[[str], None],
) -> None:
    """Answer requests until a signal arrives, or until a service ends, which is raised."""
    port, token = listener.getsockname()[1], secrets.token_urlsafe(_TOKEN_BYTES)
    app = create_app_from_workspace_process_context(context, "", _RELOAD_MILLISECONDS)
    app.router.routes[:0] = routes_of(Path(context.instance.root_directory).parent)
    config = uvicorn.Config(
        Door(Bodies(app, read_only=context.read_only), port, token),
        http=PatientProtocol,
        access_log=False,
        log_level="warning",
        proxy_headers=False,
        server_header=False,
        limit_concurrency=_MOST_CONNECTIONS,
        ws_max_size=_MESSAGE_BYTES,
        timeout_graceful_shutdown=_CLOSE_SECONDS,
    )
    server = uvicorn.Server(config)
    ready(f"http://{LOOPBACK}:{port}/?{TOKEN_PARAMETER}={token}")
    looking = nullcontext() if context.read_only else _noticing_missing(context.instance)
    with _watching(services, launcher, server) as ended, looking, suppress(KeyboardInterrupt):
        server.run(sockets=[listener])
    for error in ended:
        raise error


@contextmanager
def _watching(
    services: list[Service], launcher: ServiceStarter, server: uvicorn.Server
) -> Iterator[list[ServiceEnded]]:
    """Wait for adopted processes that have ended, and restart a daemon that ended.

    If another service ends, stop the web server, or it would go on answering without it.
    """
    ended: list[ServiceEnded] = []
    stop, orphans = threading.Event(), Orphans()

    def watch() -> None:
        while not stop.wait(_WATCH_SECONDS):
            try:
                orphans.reap({service.process.pid for service in services})
                services[_DAEMON:] = [launcher.kept_running(daemon) for daemon in services[_DAEMON:]]
                for service in services:
                    service.require_running()
            except ServiceEnded as error:
                ended.append(error)
                server.should_exit = True
                return

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield ended
    finally:
        stop.set()
        thread.join()


@contextmanager
def _noticing_missing(instance: dg.DagsterInstance) -> Iterator[None]:
    """Record artifacts whose folder is missing: at the start of the block, then every minute."""
    stop, root = threading.Event(), Path(instance.root_directory).parent

    def look() -> None:
        wait = 0.0
        while not stop.wait(wait):
            wait = _MISSING_SECONDS
            # A lock, a recipe or a database that cannot be read is an error for whoever needs it. The next look may
            # succeed.
            with suppress(MegacppError), failures_named(root):
                record_missing(root, instance)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@contextmanager
def _only_ui(root: Path) -> Iterator[None]:
    """Allow one UI only: two daemons over one instance would both start its runs."""
    with exclusive_lock(root, "ui", f"UI of {root}", expected="none yet", do="use it or end it"):
        yield


def _listener(port: int, address: str = LOOPBACK) -> socket.socket:
    try:
        return socket.create_server((address, port))
    except OSError as error:
        raise EnvironmentLacks(
            f"port {port} of {address}", expected="to be free", found=error.strerror, do="choose another with --port"
        ) from error
