"""The compiler that reads the sources: libclang, its built-in headers, the system's C and C++ library headers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Toolchain:
    """Where the compiler lies on this machine, and `identity`: versions only, part of the stage's configuration."""

    library: str
    resource_dir: str
    header_roots: tuple[str, ...]
    identity: Mapping[str, str]


def find_toolchain() -> Toolchain:
    """The installed toolchain, self-tested; `EnvironmentLacks` with what to install."""
    raise NotImplementedError
