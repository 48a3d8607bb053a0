"""Every error a user can meet: one root, leaves by cause; a message names the object, expected, found, what to do."""

from __future__ import annotations

from megacpp_assets.contract.sources.urls import without_secrets


class MegacppError(Exception):
    """Root of all expected failures; the command line prints it without a traceback."""

    def __init__(self, what: str, *, expected: object = None, found: object = None, do: str = "") -> None:
        parts = [what]
        if expected is not None:
            parts.append(f"expected {expected}")
        if found is not None:
            parts.append(f"found {found}")
        if do:
            parts.append(f"what to do: {do}")
        super().__init__("; ".join(map(without_secrets, parts)))


class SpecError(MegacppError):
    """A request that cannot be carried out as written: unknown name, bad reference, bad option."""


class EnvironmentLacks(MegacppError):
    """The machine lacks a tool, a header, memory or a setting."""


class DiskFailure(MegacppError):
    """The operating system refused a file: no room, no permission, a broken disk."""


class SourcePinMismatch(MegacppError):
    """A reference no longer names the commit that `corpus.lock` pinned."""


class OverLimit(MegacppError):
    """What others wrote holds or costs more than a limit of the recipe allows."""


class SourceUnreachable(MegacppError):
    """A repository cannot be fetched: neither network nor mirror."""


class OverBudget(MegacppError):
    """Work took more than its recipe lets it have."""


class TokenizerDrift(MegacppError):
    """A tokenizer is not the one that the lock names, or no longer gives its golden encodings."""


class SchemaViolation(MegacppError):
    """A data file lacks a required column or has one of another type or length."""


class PackOverflow(MegacppError):
    """A document does not fit the row or exceeds the chunk cap."""


class IndexCorrupt(MegacppError):
    """A Megatron .bin/.idx pair contradicts itself."""


class LineageGap(MegacppError):
    """An artifact is missing, incomplete, changed since it was published, or not traceable."""


class CheckFailed(MegacppError):
    """A blocking data check failed."""


class TrainingFailed(MegacppError):
    """The training process ended without the checkpoint it was to make."""


class WorkerDied(MegacppError):
    """A worker process ended, or failed in a way that nobody foresaw, before it had answered."""


class ServiceEnded(MegacppError):
    """A process that the UI needs ended by itself."""
