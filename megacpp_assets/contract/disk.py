"""Converts errors of the operating system to `DiskFailure`: the file, what was expected, found, and what to do."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from megacpp_assets.contract.errors import DiskFailure

_AGAIN: Final = "and run the same command again: it continues"
_MEANINGS: Final = {
    errno.ENOSPC: ("room on its disk", f"free some {_AGAIN}"),
    errno.EDQUOT: ("room in its quota", f"free some {_AGAIN}"),
    errno.EFBIG: ("room under the limit of file sizes", f"raise the limit (ulimit -f) {_AGAIN}"),
    errno.EIO: ("a disk that can be read and written", "look into the system's log; restore the disk or take another"),
    errno.EROFS: ("a disk that may be written", f"mount it for writing, or choose another data root, {_AGAIN}"),
    errno.EACCES: ("permission", f"grant it, or choose another data root, {_AGAIN}"),
    errno.EPERM: ("permission", f"grant it (chattr, mount), or choose another data root, {_AGAIN}"),
    errno.ENOTDIR: ("a folder", "choose another path"),
    errno.EEXIST: ("a folder, or nothing", "choose another path"),
    errno.ENOENT: ("a file", "restore it, or run the stage that makes it"),
    errno.EMFILE: ("a file more", f"raise the limit of open files (ulimit -n) {_AGAIN}"),
    errno.ENAMETOOLONG: ("a shorter path", "choose a data root with a shorter path"),
}
_OTHERWISE: Final = ("an answer of the operating system", f"remove the cause {_AGAIN}")


def disk_failure(error: OSError) -> DiskFailure:
    """Return the converted error. It names the file if the system or `naming` did."""
    expected, do = _MEANINGS.get(error.errno or 0, _OTHERWISE)
    what = str(error.filename) if error.filename is not None else "a file or a process"
    return DiskFailure(what, expected=expected, found=error.strerror or str(error), do=do)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add `path` to an `OSError` of the block that names no file, such as one of a write to an open file."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise
