"""A scorer of the user: a program that gives each text a number, in a process of its own with bounds.

It reads a JSON object {"path", "text"} a line, and answers with a number a line, in order. The files that decide its
answers, such as its model, are named with their sha256, which is in the manifest. A score of a text may depend on these
files and the text alone, since artifacts are reproduced from them.
"""

from __future__ import annotations

import json
import math
import os
import resource
import selectors
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from megacpp_assets.compute.process_group import end_group
from megacpp_assets.contract.canonical import sha256_file
from megacpp_assets.contract.errors import EnvironmentLacks, SpecError
from megacpp_assets.contract.recipe.curation import CurationRecipe, hashed_file

WHERE: Final = "curation.scorer"
_BLOCK: Final = 1 << 16
_ANSWER_BYTES: Final = 1000
_SAID_BYTES: Final = 4000
_DO: Final = "run the program by hand with one line of its input, or raise its bounds in [curation]"


def scorer_config(recipe: CurationRecipe) -> dict[str, object]:
    """Return what of the scorer decides a byte: its command, with hashes in place of files, and these hashes."""
    files = {path: digest for digest, path in (hashed_file(line, "scorer_files") for line in recipe.scorer_files)}
    return {"scorer": [files.get(word, word) for word in recipe.scorer], "scorer_files": sorted(files.values())}


@contextmanager
def opened_scorer(recipe: CurationRecipe) -> Iterator[Scorer | None]:
    """Yield the recipe's scorer, whose process ends with the context; None without one.

    `SpecError` if one of its files is missing or another one; `EnvironmentLacks` if its program cannot be started.
    """
    if not recipe.scorer:
        yield None
        return
    _require_files(recipe.scorer_files)
    with tempfile.TemporaryFile() as said:
        process = _start(recipe, said)
        try:
            yield Scorer(process, said, recipe.scorer_seconds)
        finally:
            end_group(process)


def _require_files(lines: Sequence[str]) -> None:
    for line in lines:
        digest, path = hashed_file(line, "scorer_files")
        where = f"scorer file {path}"
        try:
            found = sha256_file(Path(path))
        except OSError as error:
            raise SpecError(
                where,
                expected="a readable file",
                found=error.strerror or str(error),
                do="correct the path in curation.scorer_files",
            ) from error
        if found != digest:
            do = "write what sha256sum prints into curation.scorer_files"
            raise SpecError(where, expected=f"sha256 {digest}", found=f"sha256 {found}", do=do)


def _start(recipe: CurationRecipe, said: IO[bytes]) -> subprocess.Popen[bytes]:
    try:
        process = subprocess.Popen(
            recipe.scorer, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, start_new_session=True
        )
    except OSError as error:
        found = f"{recipe.scorer[0]}: {error.strerror}"
        raise EnvironmentLacks(
            WHERE, expected="a program that can be started", found=found, do="correct curation.scorer"
        ) from error
    size = recipe.scorer_memory
    for what, limit in ((resource.RLIMIT_AS, size), (resource.RLIMIT_CORE, 0)):
        try:
            resource.prlimit(process.pid, what, (limit, limit))
        except ProcessLookupError:
            break  # it has ended, which the first question reports
    return process


@dataclass(slots=True)
class Scorer:
    """A running scorer. `seconds` is the longest time for one text; `said` has its standard error."""

    process: subprocess.Popen[bytes]
    said: IO[bytes]
    seconds: int

    def score(self, path: str, text: str) -> float:
        """Return the number that the program gives `text`. `SpecError` for any other answer, or none in time."""
        question = json.dumps({"path": path, "text": text}).encode() + b"\n"
        answer = self._ask(path, question)
        try:
            number = float(answer)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise SpecError(f"{WHERE}, {path}", expected="a finite number", found=repr(answer[:60]), do=_DO)
        return number

    def _ask(self, path: str, question: bytes) -> str:
        """Send a question and read one line. Both may block, so neither is done without looking at the clock."""
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None and stdout is not None
        deadline, answer, left = time.monotonic() + self.seconds, b"", memoryview(question)
        for stream in (stdin, stdout):
            os.set_blocking(stream.fileno(), False)
        with selectors.DefaultSelector() as ready:
            ready.register(stdout, selectors.EVENT_READ)
            if ready.select(0) and (early := self._read(path, 0)):
                raise self._fault(path, "one line for each line", f"{early[:60]!r} before the question")
            ready.register(stdin, selectors.EVENT_WRITE)
            while not answer.endswith(b"\n"):
                events = ready.select(max(0.0, deadline - time.monotonic()))
                if not events:
                    raise self._fault(path, f"an answer within {self.seconds} s", "none")
                for chosen, _ in events:
                    if chosen.fileobj is stdout:
                        answer += self._read(path, len(answer))
                    elif not (left := left[self._write(path, left) :]):
                        ready.unregister(stdin)
        if left or answer.count(b"\n") > 1:
            raise self._fault(path, "one line for each line", "an answer to half a question, or two")
        return answer.decode("ascii", "replace").strip()

    def _read(self, path: str, had: int) -> bytes:
        assert self.process.stdout is not None
        block = os.read(self.process.stdout.fileno(), _BLOCK)
        if not block:
            raise self._fault(path, "a number", self._end())
        if had + len(block) > _ANSWER_BYTES:
            raise self._fault(path, "a number", f"a line of more than {_ANSWER_BYTES} bytes")
        return block

    def _write(self, path: str, left: memoryview) -> int:
        assert self.process.stdin is not None
        try:
            return os.write(self.process.stdin.fileno(), left[:_BLOCK])
        except BrokenPipeError:
            raise self._fault(path, "a number", self._end()) from None

    def _end(self) -> str:
        """Say how the program ended, and the last line of its standard error."""
        try:
            code = self.process.wait(self.seconds)
        except subprocess.TimeoutExpired:
            return f"a program that closed its input or output, and still ran after {self.seconds} s"
        self.said.seek(0, os.SEEK_END)
        self.said.seek(max(0, self.said.tell() - _SAID_BYTES))
        last = self.said.read().decode("utf-8", "replace").strip().splitlines()[-1:]
        return f"the end of the program with code {code}" + (f": {last[0]}" if last else "")

    def _fault(self, path: str, expected: str, found: str) -> SpecError:
        return SpecError(f"{WHERE}, {path}", expected=expected, found=found, do=_DO)
