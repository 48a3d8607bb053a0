"""Stores the facts of a repository's files in one scratch file, so that memory does not grow with the repository.

The facts of the files that were used last stay in memory.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from os import pread
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar, overload

import numpy as np

from megacpp_assets.semantic.graph.analysis.analysis import FileFacts
from megacpp_assets.semantic.graph.analysis.stored import PARTS, Packed, StoredFacts, pack

_KEPT_BYTES = 64 << 20
"""The stored size of the facts that stay in memory. What was decoded of them takes more."""
_KEPT_PARTS = 1 << 14
Value = TypeVar("Value")


class Recent(Generic[Value]):
    """The values that were used last, by number. At most `most` units of size are kept, at least half of that.

    It has two generations, because moving a value to the end of one list at each use would take longer than the use.
    """

    def __init__(self, most: int) -> None:
        self.young: dict[int, Value] = {}
        """The values of the young generation, for a quick look-up. Others are found by `find_old`."""
        self._old: dict[int, tuple[Value, int]] = {}
        self._sizes: dict[int, int] = {}
        self._half = most // 2
        self._size = 0

    def find_old(self, number: int) -> Value | None:
        """Return a value that was not used since the last change of generations, and count it as used."""
        found = self._old.get(number)
        if found is None:
            return None
        self.keep(number, *found)
        return found[0]

    def keep(self, number: int, value: Value, size: int) -> None:
        """Keep `value`, which takes `size`."""
        if self._size + size > self._half:
            self._old = {each: (kept, self._sizes[each]) for each, kept in self.young.items()}
            self.young, self._sizes, self._size = {}, {}, 0
        self.young[number] = value
        self._sizes[number] = size
        self._size += size


class FactsStore(Sequence[FileFacts]):
    """The facts of files by their number: first `put` each, in any order, then read them.

    A process that gets a pickled store reads the same scratch file, which is in `folder`. Cursors and symbols of the
    parse are not stored, because nothing reads them after the analysis.
    """

    def __init__(self, folder: Path, count: int) -> None:
        self._path = folder / "facts.bin"
        self._places = np.zeros((count, 1 + PARTS), dtype=np.int64)
        self._written = 0
        self._file: BinaryIO = self._path.open("w+b")
        self._recent = Recent[FileFacts](_KEPT_BYTES)

    def __getstate__(self) -> tuple[Path, Any]:
        return self._path, self._places

    def __setstate__(self, state: tuple[Path, Any]) -> None:
        self._path, self._places = state
        self._written = 0
        self._file = self._path.open("rb")
        self._recent = Recent[FileFacts](_KEPT_BYTES)

    def put(self, number: int, facts: FileFacts) -> None:
        """Store the facts of file `number`. Facts that were stored before are replaced."""
        packed = pack(facts)
        self._file.write(packed.data)
        self._places[number] = self._written, *packed.ends[1:]
        self._written += len(packed.data)

    def seal(self) -> FactsStore:
        """End writing. Facts can be read from now on."""
        self._file.flush()
        return self

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, number: int) -> FileFacts: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[FileFacts]: ...
    def __getitem__(self, number: int | slice) -> FileFacts | Sequence[FileFacts]:
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(len(self)))]
        found = self._recent.young.get(number)
        return found if found is not None else self._recent.find_old(number) or self._read(number)

    def __iter__(self) -> Iterator[FileFacts]:
        return map(self.__getitem__, range(len(self)))

    def _read(self, number: int) -> FileFacts:
        begin, *ends = self._places[number].tolist()
        data = pread(self._file.fileno(), ends[-1], begin)
        facts = StoredFacts(Packed(data, (0, *ends)))
        self._recent.keep(number, facts, len(data))
        return facts


Part = TypeVar("Part")


class ByFile(Sequence[Part]):
    """Parts of files as one sequence, such as chunks: those of the first file, then those of the second, and so on.

    `counts` are the numbers of parts of each file; `parts_of` makes those of one file when they are needed.
    """

    def __init__(self, counts: Sequence[int], parts_of: Callable[[int], list[Part]], most: int = _KEPT_PARTS) -> None:
        self._ends = np.cumsum(np.asarray(counts, dtype=np.int64))
        self._files = array("i", np.repeat(np.arange(len(counts), dtype=np.int32), counts).tobytes())
        self._parts_of = parts_of
        self._most = most
        self._recent = Recent[tuple[int, list[Part]]](most)

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs: everything but the parts that were used last."""
        return self.__dict__ | {"_recent": Recent[tuple[int, list[Part]]](self._most)}

    def __len__(self) -> int:
        return len(self._files)

    @overload
    def __getitem__(self, number: int) -> Part: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Part]: ...
    def __getitem__(self, number: int | slice) -> Part | Sequence[Part]:
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(len(self)))]
        file = self._files[number]
        found = self._recent.young.get(file)
        base, parts = found if found is not None else self._recent.find_old(file) or self._made(file)
        return parts[number - base if number >= 0 else number + len(self._files) - base]

    def __iter__(self) -> Iterator[Part]:
        for file in range(len(self._ends)):
            yield from self._parts_of(file)

    def file_of(self, number: int) -> int:
        """Return the file that part `number` is of, without making its parts."""
        return self._files[number]

    def _made(self, file: int) -> tuple[int, list[Part]]:
        parts = self._parts_of(file)
        made = int(self._ends[file]) - len(parts), parts
        self._recent.keep(file, made, 1 + len(parts))
        return made


class Chosen(Sequence[Part]):
    """The parts with the given numbers, which take less memory than the parts."""

    def __init__(self, parts: Sequence[Part], numbers: Sequence[int]) -> None:
        self._parts = parts
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return Chosen(self._parts, self._numbers[number])
        return self._parts[self._numbers[number]]


class Rows(Sequence[list[Any]]):
    """Lists of several lengths, one after another in arrays.

    Row i has the values [ends[i - 1], ends[i]) of `columns`: tuples of several columns, the values of a single one.
    """

    def __init__(self, ends: Any, *columns: Any) -> None:
        self._ends = np.concatenate(([0], ends)).astype(np.int64)
        self._columns = columns

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(len(self)))]
        start, end = self._ends.item(number), self._ends.item(number + 1)
        if start == end:
            return []
        if len(self._columns) == 1:
            return self._columns[0][start:end].tolist()
        return list(zip(*(column[start:end].tolist() for column in self._columns), strict=True))

    def __iter__(self) -> Iterator[list[Any]]:
        return map(self.__getitem__, range(len(self)))
