"""A bucket of the emulator for all tests of this folder. Each test has a folder of its own in it, and its machines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from megacpp_assets.storage.bucket import objects
from megacpp_assets.storage.bucket.answers import Patience
from megacpp_assets.storage.bucket.binding import CACHE_VARIABLE, Location
from megacpp_assets.storage.bucket.objects import Objects, open_objects
from megacpp_assets.storage.root.layout import data_root
from tests.emulator import lead_clients_to
from tests.storage.bucket.proxy import Plan, Proxy, proxied

BUCKET = "bucket"
_FOLDERS = count(1)
PATIENCE = Patience(answer=0.3, retries=20, first_pause=0.001)
"""A stalled request fails after 0.3 seconds."""


@dataclass(frozen=True, slots=True)
class Shared:
    """A data root in the bucket, and machines that have caches of it."""

    proxy: Proxy
    folder: str
    place: Path
    patch: pytest.MonkeyPatch

    @property
    def uri(self) -> str:
        """The URI of the root."""
        return f"gs://{BUCKET}/{self.folder}"

    @property
    def objects(self) -> Objects:
        """Its objects."""
        return open_objects(Location(BUCKET, self.folder))

    def machine(self, name: str) -> Path:
        """Open the root on the machine `name`, and return its cache there."""
        self.patch.setenv(CACHE_VARIABLE, str(self.place / name))
        return data_root(self.uri)

    def plan(self, plan: Plan) -> None:
        """Have faults from now on. Requests are numbered from 0 again."""
        self.proxy.requests.clear()
        self.proxy.faults.clear()
        self.proxy.plan = plan

    def names(self, prefix: str = "") -> set[str]:
        """Return the names of the root's objects that start with `prefix`."""
        return {name for name in self.proxy.names(self.folder) if name.startswith(prefix)}


@pytest.fixture(scope="session")
def proxy() -> Iterator[Proxy]:
    """A proxy before an emulator."""
    with proxied(BUCKET) as made:
        yield made


@pytest.fixture
def shared(proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shared]:
    """An empty folder of the bucket."""
    lead_clients_to(proxy.url, monkeypatch)
    monkeypatch.setattr(objects, "PATIENCE", PATIENCE)
    made = Shared(proxy, f"folder{next(_FOLDERS)}", tmp_path, monkeypatch)
    made.plan(no_fault)
    yield made
    made.plan(no_fault)


def no_fault(_number: int, _request: object) -> str:
    """Plan no fault."""
    return ""


def once(fault: str, number: int) -> Plan:
    """Plan `fault` for the request of that number alone."""
    return lambda each, _request: fault if each == number else ""
