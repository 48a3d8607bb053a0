"""Runs git with our own configuration only: no hooks, filters, prompts, credentials, redirects or submodules."""

from __future__ import annotations

import re
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from threading import Event, Timer

from megacpp_assets.contract.disks import free_space
from megacpp_assets.contract.errors import DiskFailure, EnvironmentLacks, MegacppError, SourceUnreachable
from megacpp_assets.storage.git_objects import git_environment

MINIMUM_GIT = (2, 39, 5)
"""Older releases follow hostile submodules and links (CVE-2024-32002 and similar)."""
_TIMEOUT_S = 3600
_BLOCK = 1 << 16
_WORDS = 600
_NO_MEMORY = re.compile(rb"^(?!remote:).*(?:[Oo]ut of memory|Cannot allocate memory)", re.M)
"""Memory that the git process lacks. Lines of the server say nothing about this machine."""
_REMOTE = re.compile(rb"^remote: ", re.M)
_FULL_DISK = re.compile(
    rb"^(?!remote:).*(?:No space left on device|Out of diskspace|Disk quota exceeded)", re.MULTILINE
)
"""What git says of a disk of this machine, and not of the server's."""


class GitFailed(SourceUnreachable):
    """A git command failed. The message contains git's own words."""


class GitStopped(MegacppError):
    """A git command exceeded a limit of its process. `limit` names it."""

    limit = ""


class RecordTooLong(MegacppError):
    """Git wrote a record that is longer than the limit."""


def environment() -> dict[str, str]:
    """Return the environment of every git command of this package."""
    config = resources.files("megacpp_assets.repos").joinpath("shipped", "git.config")
    return {**git_environment(), "GIT_CONFIG_GLOBAL": str(config)}


def git(*arguments: str, git_dir: Path | None = None, stdin: bytes | None = None, served_here: bool = False) -> bytes:
    """Return the standard output of `git ARGUMENTS`. If git's server runs on this machine, it is `served_here`.

    `GitFailed` on a non-zero exit or if git does not end; `GitStopped` if a limit was the cause.
    """
    try:
        result = subprocess.run(
            _command(arguments, git_dir),
            input=stdin,
            capture_output=True,
            env=environment(),
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise _unended(arguments[0], _TIMEOUT_S) from error
    errors = _REMOTE.sub(b"", result.stderr) if served_here else result.stderr
    require_success(arguments[0], result.returncode, errors, git_dir)
    return result.stdout


def git_records(
    *arguments: str, git_dir: Path | None = None, longest: int, ending: bytes = b"\0", seconds: float = _TIMEOUT_S
) -> Iterator[bytes]:
    """Yield the records of `git ARGUMENTS`, each ended by `ending`, as they arrive. Memory holds one block and one
    record.

    `RecordTooLong` above `longest` bytes, `GitFailed` after `seconds`, and the errors of `git` after the last record.
    Git is ended with the iterator.
    """
    command, late = _command(arguments, git_dir), Event()
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=environment()) as process,
        _ended_after(seconds, process, late),
    ):
        assert process.stdout is not None
        rest = b""
        while block := process.stdout.read1(_BLOCK):  # type: ignore[attr-defined]
            *records, rest = (rest + block).split(ending)
            if max(map(len, records), default=0) > longest or len(rest) > longest:
                raise RecordTooLong(f"git {arguments[0]}", expected=f"records of at most {longest} bytes")
            yield from records
        code = process.wait()
        if late.is_set():
            raise _unended(arguments[0], seconds)
        errors.seek(0)
        require_success(arguments[0], code, errors.read(_BLOCK), git_dir)


@contextmanager
def _ended_after(seconds: float, process: subprocess.Popen[bytes], late: Event) -> Iterator[None]:
    """Kill `process` at the end of the block. Set `late` if it ran out of time."""

    def end() -> None:
        late.set()
        process.kill()

    timer = Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        process.kill()


def git_head(*arguments: str, git_dir: Path, length: int) -> bytes:
    """Return the first `length` bytes that `git ARGUMENTS` writes, then end git."""
    command = _command(arguments, git_dir)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment()) as process:
        try:
            assert process.stdout is not None
            return process.stdout.read(length)
        finally:
            process.kill()


def _command(arguments: tuple[str, ...], git_dir: Path | None) -> list[str]:
    return ["git", *(["--git-dir", str(git_dir)] if git_dir else []), *arguments]


def require_success(command: str, code: int, errors: bytes, git_dir: Path | None = None) -> None:
    """Raise an error unless `git COMMAND` ended with exit code 0. `errors` is its standard error.

    `GitStopped` for a limit of its process, `DiskFailure` for a full disk, `GitFailed` for the rest.
    """
    if code == 0:
        return
    stopped = _limit_met(code, errors)
    words = " ".join(errors.decode(errors="replace").replace("\0", " ").split())[-_WORDS:]
    if stopped:
        error = GitStopped(f"git {command}", expected="to stay within its limits", found=f"exit {code}: {words}")
        error.limit = stopped
        raise error
    if _FULL_DISK.search(errors):
        what = f"git {command} in {git_dir}" if git_dir else f"git {command}"
        do = "free some and run the same command again: it continues"
        raise DiskFailure(
            what, expected="room on its disk", found=f"{words} ({free_space(*[git_dir] if git_dir else [])})", do=do
        )
    raise GitFailed(f"git {command} failed with exit code {code}", found=words)


def _unended(command: str, seconds: float) -> GitFailed:
    return GitFailed(
        f"git {command}", expected=f"an end within {seconds:g} s", found=f"still running after {seconds:g} s"
    )


def _limit_met(code: int, errors: bytes) -> str:
    """Return the limit that ended a git command or its child; "" for another cause."""
    if found := re.search(rb"died of signal (\d+)", errors):
        code = -int(found[1])
    if _NO_MEMORY.search(errors):
        return "memory_bytes"
    return {-signal.SIGXCPU: "cpu_seconds", -signal.SIGXFSZ: "total_bytes"}.get(code, "")


def require_git() -> str:
    """Return the version of git. `EnvironmentLacks` if it is missing or older than `MINIMUM_GIT`."""
    minimum = ".".join(map(str, MINIMUM_GIT))
    try:
        text = git("--version").decode()
    except FileNotFoundError as error:
        raise EnvironmentLacks("git", expected=f"{minimum} or newer", found="none", do="apt-get install git") from error
    found = tuple(int(part) for part in re.findall(r"\d+", text)[:3])
    if found < MINIMUM_GIT:
        raise EnvironmentLacks("git", expected=f"{minimum} or newer", found=text.strip(), do="upgrade git")
    return ".".join(map(str, found))
