"""A fetch is tried again where the connection broke off, and nowhere else."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

import pytest

from megacpp_assets.contract.errors import SourceUnreachable
from megacpp_assets.contract.recipe.documents import SourcesRecipe
from megacpp_assets.repos.catalogue import CatalogueEntry
from megacpp_assets.repos.fetch import fetch_commit
from megacpp_assets.repos.git import GitFailed, git
from megacpp_assets.repos.pins import pin_at
from megacpp_assets.repos.upstream import again
from megacpp_assets.repos.upstream.again import asked_again

TRIES = len(again.WAITS_S) + 1


@dataclass(slots=True)
class Hangup:
    """A server that ends each connection before it has said a word."""

    listener: socket.socket
    connections: list[object] = field(default_factory=list)

    @property
    def url(self) -> str:
        """A repository there."""
        return f"https://127.0.0.1:{self.listener.getsockname()[1]}/owner/lib"

    def serve(self) -> None:
        """Until the listener is closed."""
        while True:
            try:
                connection, address = self.listener.accept()
            except OSError:
                return
            self.connections.append(address)
            connection.close()


@pytest.fixture(autouse=True)
def without_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(again, "WAITS_S", (0.0,) * (TRIES - 1))


@pytest.fixture
def hangup() -> Iterator[Hangup]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Hangup(listener)
        thread = Thread(target=server.serve)
        thread.start()
        yield server
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def _fetch(url: str, root: Path, git_dir: Path) -> None:
    made = pin_at(CatalogueEntry("lib", url, "v1"), "v1", git_ref="refs/tags/v1", commit="0" * 40)
    fetch_commit(made, root, git_dir, SourcesRecipe())


def test_a_server_that_hangs_up_is_asked_four_times(hangup: Hangup, root: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceUnreachable, match=r"check the network"):
        _fetch(hangup.url, root, tmp_path / "repo.git")
    assert len(hangup.connections) == TRIES


def test_what_comes_at_the_second_try_is_taken(hangup: Hangup, upstream: Path) -> None:
    sources = iter([hangup.url, str(upstream)])
    assert b"refs/tags/v1" in asked_again(lambda: git("ls-remote", "--", next(sources)))


def test_a_repository_that_is_not_there_is_asked_for_once(tmp_path: Path) -> None:
    asked = []

    def ask() -> bytes:
        asked.append(1)
        return git("ls-remote", "--", str(tmp_path / "nowhere"))

    with pytest.raises(GitFailed, match="nowhere"):
        asked_again(ask)
    assert len(asked) == 1
