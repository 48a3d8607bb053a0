"""All errors that a user can see: one root class, and a subclass per cause.

A message names the object, what was expected, what was found, and what to do.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from difflib import get_close_matches
from pathlib import Path
from typing import Final, Self

from megacpp_assets.contract.disks import free_space
from megacpp_assets.contract.sources.urls import without_secrets

_LIKE: Final = 0.65
"""How alike two names must be for one to be proposed for the other: `fmt` for `fnt`, but no `holdout` for `colour`."""
_SHORT: Final = 3
"""The number of letters up to which a name is short."""
_LISTED: Final = 24
"""The most names that an error lists."""


def closest_name(name: str, known: Iterable[str]) -> str:
    """Return the name of `known` that is most like `name`, or "" if none is: `closest` of an error.

    For a short name only one with the same first letter is proposed, or one that is a part of it, as `L` of `XL`: `tpu`
    is another device than `gpu`.
    """
    proposed = [each for each in known if len(name) > _SHORT or each[:1] == name[:1] or each in name]
    return "".join(get_close_matches(name, proposed, n=1, cutoff=_LIKE))


class MegacppError(Exception):
    """The root of all expected errors. The command line prints it without a traceback.

    Its text is one line, for logs; `lines` is the same text on several lines, for a terminal. Secrets are removed from
    URLs.
    """

    def __init__(
        self, what: str, *, expected: object = None, found: object = None, do: str = "", closest: str = ""
    ) -> None:
        self.what = without_secrets(what)
        self.closest = f"did you mean `{closest}`?" if closest else ""
        self.expected, self.found = (None if each is None else without_secrets(str(each)) for each in (expected, found))
        self.do = without_secrets(do)
        super().__init__("; ".join(self._parts()))

    def lines(self) -> str:
        """Return the object on the first line, then what was expected, found and what to do, indented."""
        return "\n  ".join(self._parts())

    def to_record(self) -> dict[str, str | None]:
        """Return the parts of the text, for another process, which makes the same error of them."""
        return {name: getattr(self, name) for name in ("what", "closest", "expected", "found", "do")}

    @classmethod
    def from_record(cls, record: Mapping[str, str | None]) -> Self:
        """Return the error of `to_record`."""
        error = cls("")
        vars(error).update(record)
        error.args = ("; ".join(error._parts()),)
        return error

    @property
    def cause(self) -> str:
        """The object and what was found, without advice, to be used as `found` of another error."""
        return f"{self.what}: {self.found}" if self.found is not None else self.what

    def within(self, where: str, do: str = "") -> Self:
        """Return a copy of the error with `where` before its object, and with the advice `do` if it has none."""
        return self._changed(f"{where}: {self.what}", self.do or do)

    def advised(self, do: str) -> Self:
        """Return a copy of the error with the advice `do` in place of its own."""
        return self._changed(self.what, do)

    def _changed(self, what: str, do: str) -> Self:
        changed = copy(self)
        changed.what, changed.do = what, do
        changed.args = ("; ".join(changed._parts()),)
        return changed

    def _parts(self) -> list[str]:
        parts = [self.what]
        if self.closest:
            parts.append(self.closest)
        if self.expected is not None:
            parts.append(f"expected {self.expected}")
        if self.found is not None:
            parts.append(f"found {self.found}")
        if self.do:
            parts.append(f"what to do: {self.do}")
        return parts


class SpecError(MegacppError):
    """A request that cannot be carried out as written: unknown name, bad reference, bad option."""

    @classmethod
    def unknown(cls, what: str, name: str, known: Iterable[str], do: str = "correct the name") -> Self:
        """Return the error for a `name` that is not in `known`.

        It names the closest known name, or all if none is close.
        """
        known = tuple(known)
        asked, found = f"{what} {name!r}", "an unknown name"
        if not known:
            return cls(asked, expected="a name that exists", found="none at all", do=do)
        if close := closest_name(name, known):
            return cls(asked, found=found, do=do, closest=close)
        listed = known if len(known) <= _LISTED else (*known[:_LISTED], f"… ({len(known)} names)")
        return cls(asked, expected=f"one of {', '.join(listed)}", found=found, do=do)


class EnvironmentLacks(MegacppError):
    """The machine lacks a tool, a header, memory or a setting."""


class DiskFailure(MegacppError):
    """The operating system rejected access to a file: no room, no permission, a broken disk."""


class SourcePinMismatch(MegacppError):
    """A reference no longer names the commit that `corpus.lock` pinned."""


class OverLimit(MegacppError):
    """Data from outside, such as a repository, exceeds a limit of the recipe."""


class SourceUnreachable(MegacppError):
    """A repository cannot be fetched: neither network nor mirror."""


class OverBudget(MegacppError):
    """Work needed more time or memory than the recipe allows."""


class TokenizerDrift(MegacppError):
    """A tokenizer differs from the lock's, or its golden encodings have changed."""


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
    """The training process ended without its checkpoint."""


class WorkerDied(MegacppError):
    """A worker process ended or failed unexpectedly before it returned a result."""


class ServiceEnded(MegacppError):
    """A process that the UI needs ended unexpectedly."""


class BucketUnreachable(MegacppError):
    """A bucket does not exist, or does not answer after all retries."""


class AlertUndelivered(MegacppError):
    """A hook of `[alerts]` failed, or took too long."""


class DatabaseUnreachable(MegacppError):
    """The server of Dagster's database does not answer, or rejects the request."""


class LostRace(MegacppError):
    """Another machine changed an object of a bucket between the reading and the writing of this one."""


_AGAIN: Final = "and run the same command again: it continues"
_MEANINGS: Final = {
    errno.ENOSPC: ("room on its disk", f"free some {_AGAIN}"),
    errno.EDQUOT: ("room in its quota", f"free some {_AGAIN}"),
    errno.EFBIG: ("room under the limit of file sizes", f"raise the limit (ulimit -f) {_AGAIN}"),
    errno.EIO: ("a disk that can be read and written", "look into the system's log; restore the disk or take another"),
    errno.EROFS: ("a disk that may be written", "mount it for writing, or choose another folder"),
    errno.EACCES: ("permission", "grant it, or choose another folder"),
    errno.EPERM: ("permission", "grant it (chattr, mount), or choose another folder"),
    errno.ENOTDIR: ("a folder", "choose another path"),
    errno.EEXIST: ("a folder, or nothing", "choose another path"),
    errno.ENOENT: ("a file or folder", "correct the path; in a data root, megacpp run makes missing artifacts again"),
    errno.EMFILE: ("a file more", f"raise the limit of open files (ulimit -n) {_AGAIN}"),
    errno.ENAMETOOLONG: ("a shorter path", "choose a data root with a shorter path"),
}
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
_OTHERWISE: Final = ("an answer of the operating system", f"remove the cause {_AGAIN}")


def disk_failure(error: OSError) -> DiskFailure:
    """Return the converted error. It names the file if the system or `naming` did, else disks with their free space."""
    expected, do = _MEANINGS.get(error.errno or 0, _OTHERWISE)
    found = error.strerror or str(error)
    if error.filename is not None:
        return DiskFailure(str(error.filename), expected=expected, found=found, do=do)
    if error.errno in _FULL:
        return DiskFailure(
            "a file that the system did not name", expected=expected, found=f"{found}: {free_space()}", do=do
        )
    return DiskFailure("a file or a process", expected=expected, found=found, do=do)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add `path` to an `OSError` of the block that names no file, such as one of a write to an open file."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise
