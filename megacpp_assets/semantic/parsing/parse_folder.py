"""The tree of a parse for workers on other hosts. The view is next to the tree; all hosts have equal headers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from megacpp_assets.compute.executors.folders import content_of
from megacpp_assets.semantic.commands.compiler_view import write_view
from megacpp_assets.semantic.commands.toolchain import Toolchain
from megacpp_assets.semantic.tree.tree_contents import machine_files


@dataclass(frozen=True, slots=True)
class ParseFolder:
    """The tree at `path`, a real path, and the toolchain that reads it."""

    path: str
    toolchain: Toolchain

    def content(self) -> str:
        """Return the hash of the tree."""
        return content_of(self.path)

    def prepare(self, path: str) -> None:
        """Write the compiler's view of the tree, which is at `path` on this host."""
        write_view(path, self.toolchain.visible)

    def identity(self) -> str:
        """Return that of the compiler's library and headers on this host."""
        return headers_identity(self.toolchain)


def headers_identity(toolchain: Toolchain) -> str:
    """Return the hash of the compiler's library and headers on this host: their paths and bytes."""
    digest = hashlib.sha256()
    for path in (toolchain.library, *machine_files(toolchain.header_roots)):
        try:
            content = Path(path).read_bytes()
        except OSError:
            continue
        digest.update(hashlib.sha256(path.encode("utf-8", "surrogateescape")).digest())
        digest.update(hashlib.sha256(content).digest())
    return digest.hexdigest()
