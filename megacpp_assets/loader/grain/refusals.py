"""The errors of the Grain source. Each is also the built-in error that callers of upstream's code expect."""

from __future__ import annotations

from megacpp_assets.contract.errors import IndexCorrupt, LineageGap, SchemaViolation, SpecError


class BadArgument(SpecError, ValueError):
    """An invalid number or name for a window, a shard or a step."""


class BadIndex(IndexCorrupt, ValueError):
    """An index that contradicts itself, or a file that does not match its index."""


class BadTokens(SchemaViolation, ValueError):
    """Tokens that a transform cannot process."""


class NoSuchWindow(SpecError, IndexError):
    """A window or record that does not exist. As an `IndexError` it also ends a `for` loop over a source."""


class NoSuchFile(LineageGap, FileNotFoundError):
    """A file of the index that is missing at its path, after `path_remap`."""
