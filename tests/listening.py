"""Which listening sockets a tree of processes has"""

from __future__ import annotations

import ipaddress
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

_LISTEN = "0A"
_WORD = 8


@dataclass
class Seen:
    """Addresses that any process of the tree listened on, how often it was looked, and command lines of the tree."""

    addresses: set[str] = field(default_factory=set)
    looks: int = 0
    commands: set[str] = field(default_factory=set)

    @property
    def beyond_loopback(self) -> set[str]:
        """Those that another machine could reach."""
        return {address for address in self.addresses if not ipaddress.ip_address(address).is_loopback}


@contextmanager
def listening_sockets(pause: float = 0.05) -> Iterator[Seen]:
    """Look at all descendants of this process from a thread, again and again for the length of the block.

    `pause` seconds lie between two looks, each of which takes tens of milliseconds of CPU time.
    """
    seen, stop = Seen(), threading.Event()
    # Sockets of this process itself are not the trainer's, and are there before.
    known = set(_listening())

    def look() -> None:
        while not stop.wait(pause):
            new = {inode: address for inode, address in _listening().items() if inode not in known}
            children = psutil.Process().children(recursive=True)
            if new:
                owned = {inode for child in children for inode in _sockets(child.pid)}
                seen.addresses |= {address for inode, address in new.items() if inode in owned}
            for child in children:
                with suppress(psutil.Error):
                    seen.commands.add(" ".join(child.cmdline()))
            seen.looks += 1

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        stop.set()
        thread.join()


def _listening() -> dict[str, str]:
    """Inode to address of each listening TCP socket of this machine."""
    found = {}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTEN:
                found[fields[9]] = _address(fields[1].partition(":")[0])
    return found


def _address(text: str) -> str:
    """The kernel writes each 32-bit word in this machine's byte order."""
    words = [bytes.fromhex(text[at : at + _WORD])[::-1] for at in range(0, len(text), _WORD)]
    return str(ipaddress.ip_address(b"".join(words)))


def _sockets(pid: int) -> Iterator[str]:
    with suppress(OSError):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                target = str(descriptor.readlink())
                if target.startswith("socket:["):
                    yield target[len("socket:[") : -1]
