"""Signatures and files of all repositories on disk, so that memory does not grow with them.

A temporary SQLite file has the bands, the comparisons made and the groups. Its page cache and its sorter are bounded;
SQLite puts both file and sorted runs below TMPDIR. Results follow from contents alone, not from the order of calls.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.errors import DiskFailure
from megacpp_assets.curation.copies import BANDS, ROWS, pairs_within
from megacpp_assets.storage.scratch import scratch_folder

_CACHE_KIB: Final = 32 << 10
_DISK_CODES: Final = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)
_SCHEMA: Final = """
CREATE TABLE contents (blob TEXT PRIMARY KEY, owner INTEGER) WITHOUT ROWID;
CREATE TABLE bands (band INTEGER, key BLOB, blob TEXT);
CREATE TABLE files (repo TEXT, path BLOB, blob TEXT, first INTEGER);
CREATE TABLE compared (one TEXT, other TEXT, alike INTEGER, PRIMARY KEY (one, other)) WITHOUT ROWID;
CREATE TABLE parents (blob TEXT PRIMARY KEY, parent TEXT) WITHOUT ROWID;
CREATE TABLE groups (blob TEXT PRIMARY KEY, name TEXT) WITHOUT ROWID;
"""


class SharedFile(NamedTuple):
    """A file of a repository. `first` is True in a dataset whose files stay before all others, as held-out ones do."""

    repo: str
    path: str
    blob: str
    first: bool = False


class SharedIndex:
    """Contents by signature and files by content.

    A content without a signature is too short to be compared: only equal files are its copies.
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def add_content(self, blob: str, owner: int, signature: NDArray[np.uint32]) -> None:
        """Take a content, which the source number `owner` can read. A content that is known stays as it is."""
        if self._database.execute("INSERT OR IGNORE INTO contents VALUES (?, ?)", (blob, owner)).rowcount:
            keys = (signature[band * ROWS : (band + 1) * ROWS].tobytes() for band in range(BANDS))
            rows = ((band, key, blob) for band, key in enumerate(keys))
            self._database.executemany("INSERT INTO bands VALUES (?, ?, ?)", rows)

    def add_files(self, files: Iterable[SharedFile]) -> None:
        """Take files in any order."""
        rows = ((file.repo, file.path.encode("utf-8", "surrogateescape"), file.blob, file.first) for file in files)
        self._database.executemany("INSERT INTO files VALUES (?, ?, ?, ?)", rows)

    def owner(self, blob: str) -> int:
        """Return the number of the source that can read a known content."""
        row = self._database.execute("SELECT owner FROM contents WHERE blob = ?", (blob,)).fetchone()
        return int(row[0])

    def sizes(self) -> dict[str, int]:
        """Return the number of files with a signature of each repository."""
        return dict(self._database.execute("SELECT repo, count(*) FROM files JOIN contents USING (blob) GROUP BY repo"))

    def groups(self, similar: Callable[[str, str], bool]) -> Iterator[list[SharedFile]]:
        """Yield the files of each group with files of two repositories or more; `similar` compares two contents.

        One group is in memory at a time.
        """
        self._join(similar)
        rows = self._database.execute(
            "SELECT coalesce(groups.name, files.blob) AS name, repo, path, blob, first "
            "FROM files LEFT JOIN groups USING (blob) ORDER BY name, repo, path, first, blob"
        )
        for _, members in groupby(rows, key=lambda row: row[0]):
            group = [
                SharedFile(repo, path.decode("utf-8", "surrogateescape"), blob, bool(first))
                for _, repo, path, blob, first in members
            ]
            if len({file.repo for file in group}) > 1:
                yield group

    def _join(self, similar: Callable[[str, str], bool]) -> None:
        def compare(one: str, other: str) -> bool:
            known = self._database.execute(
                "SELECT alike FROM compared WHERE one = ? AND other = ?", (one, other)
            ).fetchone()
            if known is None:
                known = (similar(one, other),)
                self._database.execute("INSERT INTO compared VALUES (?, ?, ?)", (one, other, known[0]))
            return bool(known[0])

        rows = self._database.execute("SELECT band, key, blob FROM bands ORDER BY band, key, blob")
        for _, members in groupby(rows, key=lambda row: row[:2]):
            for one, other in pairs_within((blob for _, _, blob in members), compare):
                first, last = sorted((self._least(one), self._least(other)))
                if first != last:
                    self._database.execute("INSERT INTO parents VALUES (?, ?)", (last, first))
        # A parent is less than its child, so that its own group is known when the child is reached.
        for blob, parent in self._database.execute("SELECT blob, parent FROM parents ORDER BY blob"):
            self._database.execute(
                "INSERT INTO groups VALUES (?, coalesce((SELECT name FROM groups WHERE blob = ?), ?))",
                (blob, parent, parent),
            )

    def _least(self, blob: str) -> str:
        """Return the least content of the group of `blob`."""
        passed: list[str] = []
        while (
            row := self._database.execute("SELECT parent FROM parents WHERE blob = ?", (blob,)).fetchone()
        ) is not None:
            passed.append(blob)
            blob = row[0]
        # As in `joined`, a chain of n copies is not followed n times. The last one is right below the root already.
        rows = ((blob, each) for each in passed[:-1])
        self._database.executemany("UPDATE parents SET parent = ? WHERE blob = ?", rows)
        return blob


@contextmanager
def open_index() -> Iterator[SharedIndex]:
    """Open an empty index, which is removed at the end. `DiskFailure` if its disk is full or fails."""
    with scratch_folder("megacpp-copies-") as folder:
        database = sqlite3.connect(folder / "copies.sqlite", isolation_level=None)
        try:
            database.executescript(
                "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = FILE; "
                f"PRAGMA cache_size = -{_CACHE_KIB}; {_SCHEMA}"
            )
            database.execute("BEGIN")
            yield SharedIndex(database)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _DISK_CODES:  # the lower byte is the code without details
                raise
            do = "free space there, or name another folder by TMPDIR"
            raise DiskFailure(f"signatures in {folder}", expected="a disk", found=str(error), do=do) from error
        finally:
            database.close()
