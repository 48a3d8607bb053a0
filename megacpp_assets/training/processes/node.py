"""The machines of a training, which schedulers call nodes: the number of this node, and how processes find each other.

The first process listens only on its node's address in the job's network, at a port that the system chooses. The job's
exchange carries that address to the other nodes. Both sides trust the exchange.
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
"""Environment variable with the node's address in the job's network, for hosts whose name does not resolve to it."""
MEETING_FILE: Final = "meeting"
"""A file next to the job file with HOST:PORT of the first process."""
EXIT_PEER_LOST: Final = 76
"""Exit code of a process that lost its connection to another node. The job can resume from its newest checkpoint."""
PATIENCE_SECONDS: Final = 600.0
"""The time for which the processes of one node wait for those of another node to start."""
_LOOK_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class NodeRank:
    """Node `number` (from 0) of `count` nodes. All nodes run equally many processes."""

    number: int = 0
    count: int = 1

    @staticmethod
    def of_scheduler(count: int, variable: str, environment: Mapping[str, str]) -> NodeRank:
        """Read the number from an environment variable of the scheduler. `SpecError` unless it is 0 to `count` - 1."""
        found = environment.get(variable, "none")
        if not found.isdecimal() or int(found) >= count:
            expected = f"the number of a node, 0 to {count - 1}"
            raise SpecError(
                f"environment variable {variable}", expected=expected, found=found, do="set it on every node"
            )
        return NodeRank(int(found), count)

    @property
    def first(self) -> bool:
        """Return whether the process that publishes checkpoints runs on this node."""
        return self.number == 0

    def ranks(self, processes: int) -> range:
        """Return the ranks, out of `processes`, that run on this node."""
        each = processes // self.count
        return range(self.number * each, (self.number + 1) * each)

    def arguments(self) -> list[str]:
        """Return the node as command-line arguments; empty if it is the only node."""
        return ["--node", f"{self.number}/{self.count}"] if self.count > 1 else []

    @staticmethod
    def parse(text: str) -> NodeRank:
        """Do the inverse of `arguments`."""
        number, _, count = text.partition("/")
        return NodeRank(int(number), int(count))


def own_address() -> tuple[str, str]:
    """Return this node's address in the job's network and the name of its interface.

    `EnvironmentLacks` if no interface of this node has the address.
    """
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
    """Wait for `MEETING_FILE` in `directory`; return host and port of the first process.

    `TrainingFailed` if the file does not appear within `patience` seconds.
    """
    file, end = directory / MEETING_FILE, time.monotonic() + patience
    while not file.is_file():
        if time.monotonic() > end:
            raise TrainingFailed(
                "the first process of the training",
                expected=f"its address within {patience:g} s",
                found="none",
                do="find out why the first node did not start, then run it again",
            )
        time.sleep(_LOOK_SECONDS)
    host, _, port = file.read_text(encoding="utf-8").rpartition(":")
    return host, int(port)


def _no_address(name: str, found: str) -> EnvironmentLacks:
    do = f"set {ADDRESS_VARIABLE} to the node's address in the network of the job"
    return EnvironmentLacks(f"host {name!r}", expected="an address of an interface of this node", found=found, do=do)
