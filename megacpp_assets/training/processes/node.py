"""The machines that a training runs on, which schedulers call nodes: which one this is, and how its processes meet.

The first process listens, at a port that the system chooses, on the address that its node has in the job's own network,
and on no other; where that is travels through the exchange of the job, which both sides trust.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from megacpp_assets.contract.errors import EnvironmentLacks, SpecError, TrainingFailed

ADDRESS_VARIABLE: Final = "MEGACPP_ADDRESS"
"""The node's address in the job's network, where its host name does not lead to it."""
MEETING_FILE: Final = "meeting"
"""Beside the job file: HOST:PORT of the first process."""
EXIT_DESERTED: Final = 76
"""Exit code of a process that lost one of another node: the job can go on from its newest checkpoint."""
PATIENCE_SECONDS: Final = 600.0
"""How long the processes of one node wait for those of another to come."""
_LOOK_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class Node:
    """Number `number` (from 0) of `count` nodes, each of which runs as many processes."""

    number: int = 0
    count: int = 1

    @staticmethod
    def of_scheduler(count: int, variable: str, environment: Mapping[str, str]) -> Node:
        """By the number that the scheduler leaves in an environment variable. `SpecError` if it is none of `count`."""
        found = environment.get(variable, "none")
        if not found.isdecimal() or int(found) >= count:
            expected = f"the number of a node, 0 to {count - 1}"
            raise SpecError(f"environment variable {variable}", expected=expected, found=found)
        return Node(int(found), count)

    @property
    def first(self) -> bool:
        """Whether the process that publishes checkpoints runs here."""
        return self.number == 0

    def ranks(self, processes: int) -> range:
        """Those of `processes` that run here."""
        each = processes // self.count
        return range(self.number * each, (self.number + 1) * each)

    def arguments(self) -> list[str]:
        """On a command line; none for a node alone."""
        return ["--node", f"{self.number}/{self.count}"] if self.count > 1 else []

    @staticmethod
    def parse(text: str) -> Node:
        """Inverse of `arguments`."""
        number, _, count = text.partition("/")
        return Node(int(number), int(count))


def own_address() -> tuple[str, str]:
    """This node's address in the job's network, and the interface that has it. `EnvironmentLacks` if none has."""
    name = os.environ.get(ADDRESS_VARIABLE) or socket.gethostname()
    try:
        address = socket.gethostbyname(name)
    except OSError as error:
        raise _no_address(name, str(error)) from error
    for interface, addresses in psutil.net_if_addrs().items():
        if any(each.address == address for each in addresses):
            return address, interface
    raise _no_address(name, address)


def meeting(directory: Path, patience: float = PATIENCE_SECONDS) -> tuple[str, int]:
    """Where the first process listens, once `directory` says so; `TrainingFailed` if that takes over `patience`."""
    file, end = directory / MEETING_FILE, time.monotonic() + patience
    while not file.is_file():
        if time.monotonic() > end:
            raise TrainingFailed(
                "the first process of the training",
                expected=f"its address within {patience:g} s",
                found="none",
                do="see why the first node did not start, then run it again",
            )
        time.sleep(_LOOK_SECONDS)
    host, _, port = file.read_text(encoding="utf-8").rpartition(":")
    return host, int(port)


def _no_address(name: str, found: str) -> EnvironmentLacks:
    do = f"set {ADDRESS_VARIABLE} to the node's address in the network of the job"
    return EnvironmentLacks(f"host {name!r}", expected="an address of an interface of this node", found=found, do=do)
