"""What the Grain source refuses. Each error is also the built-in one that upstream's callers expect in its place."""

from __future__ import annotations

from megacpp_assets.contract.errors import IndexCorrupt, LineageGap, SchemaViolation, SpecError


class BadArgument(SpecError, ValueError):
    """A number or name that a window, a shard or a step cannot have."""


class BadIndex(IndexCorrupt, ValueError):
    """An index that contradicts itself, or a file that is not as its index says."""


class BadTokens(SchemaViolation, ValueError):
    """Tokens that a transform cannot work on."""


class NoSuchWindow(SpecError, IndexError):
    """A window or record beyond the last. As an `IndexError` it also ends a `for` over a source."""


class NoSuchFile(LineageGap, FileNotFoundError):
    """A file of the index that is not where the index, or its remapping, says."""
