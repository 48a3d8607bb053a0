"""What batches can do to their worker: module-level functions, as the executor seam asks for."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.compute.executors.folders import content_of, located

Batch = TypeVar("Batch")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Work:
    """Numbers to square, and what else happens on the way."""

    numbers: tuple[int, ...]
    mishap: str = ""
    scratch: str = ""


def square(work: Work) -> NDArray[np.int64]:
    """The squares of the numbers, after the mishap."""
    mishap(work)
    return np.square(np.array(work.numbers, dtype=np.int64))


def mishap(work: Work) -> None:
    """Crash, hang, raise, print, or end the process that runs the Dask worker or another one."""
    if work.mishap == "crash":
        ctypes.string_at(0)
    elif work.mishap == "hang":
        signal.pause()
    elif work.mishap == "raise":
        raise ValueError("planted")
    elif work.mishap == "print":
        print("x" * 100_000, file=sys.__stdout__, flush=True)
    elif work.mishap == "kill worker":
        os.kill(os.getppid(), signal.SIGKILL)
        signal.pause()
    elif work.mishap == "kill worker once" and first_time(work.scratch):
        os.kill(os.getppid(), signal.SIGKILL)
        signal.pause()
    elif work.mishap == "kill process":
        os.kill(work.numbers[0], signal.SIGKILL)
        signal.pause()


def first_time(folder: str) -> bool:
    """Whether this is the first call with `folder`, in whatever process."""
    try:
        os.close(os.open(Path(folder) / "happened", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def narrow_and_move(folder: str) -> None:
    """Leave the process with another directory and hardly any file descriptors, as a parser's limits would."""
    os.chdir(folder)
    resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))


def surroundings(_: str) -> tuple[str, tuple[int, int]]:
    """Directory and file descriptor limits of the process that runs the batch."""
    return os.getcwd(), resource.getrlimit(resource.RLIMIT_NOFILE)


def unpicklable(_: str) -> object:
    """A value that cannot travel."""
    return lambda: None


@dataclass(frozen=True, slots=True)
class AfterKillingOneWorker(Generic[Batch, Result]):
    """`function`, but the first batch of all kills the Dask worker that runs it, and so itself."""

    function: Callable[[Batch], Result]
    scratch: str

    def __call__(self, batch: Batch) -> Result:
        """The value of the function for `batch`."""
        if first_time(self.scratch):
            os.kill(os.getppid(), signal.SIGKILL)
            signal.pause()
        return self.function(batch)


@dataclass(frozen=True, slots=True)
class Answering(Generic[Result]):
    """Answers `result` whatever the batch is: a worker that does not do its work."""

    result: Result

    def __call__(self, _: object) -> Result:
        """The result."""
        return self.result


@dataclass(frozen=True, slots=True)
class Shared:
    """A folder of a test; what is prepared beside it is a file with one word."""

    path: str

    def content(self) -> str:
        return content_of(self.path)

    def prepare(self, path: str) -> None:
        Path(f"{path}.word").write_text("prepared")

    def identity(self) -> str:
        return "the same everywhere"


@dataclass(frozen=True, slots=True)
class OtherOnHosts(Shared):
    """As `Shared`, with another identity in every process but that of the test."""

    test: int = 0

    def identity(self) -> str:
        return "ours" if os.getpid() == self.test else "theirs"


def read_shared(path: str) -> tuple[list[str], str, str]:
    """The files of the shared folder, the text of the first one, and what was prepared beside it."""
    folder = Path(located(path))
    files = sorted(each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file())
    return files, (folder / files[0]).read_text(), Path(f"{folder}.word").read_text()
