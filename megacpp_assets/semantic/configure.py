"""`--configure`: a tree's own cmake, run only inside bubblewrap, for the compile database that it describes.

In: a folder with all files of a commit. Out: the bytes of `compile_commands.json`, or why there are none. The tree's
code runs without network, environment, credentials or anything of the host but `/usr`; it can write to memory alone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from megacpp_assets.contract.errors import EnvironmentLacks

_INSTALL = "apt-get install bubblewrap cmake ninja-build g++"
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/alternatives", "/etc/ld.so.cache")
"""What programs below /usr need beside it: links into it, and tables of it."""
_OPTIONS = "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=ON"
_SCRIPT = r"""
ulimit -c 0; ulimit -t "$CPU"; ulimit -v "$MEMORY_KB"; ulimit -f "$FILE_BLOCKS"; ulimit -n 1024
database=/build/out/compile_commands.json
run() { cmake -S /source -B /build/out -G "$GENERATOR" "$@" >>/build/log 2>&1 </dev/null; }
run $OPTIONS || { status=$?; grep -a -m 1 "^CMake Error" /build/log >&2; exit $status; }
cp "$database" /build/first.json || exit 90
# Options that add tests and samples, switched on where that still configures: their sources are part of the corpus.
more=$(sed -nE 's/^(([A-Za-z0-9_]*_)?(tests?|testing|samples|examples)):BOOL=OFF$/-D\1=ON/Ip' /build/out/CMakeCache.txt)
if [ -n "$more" ] && run $more && [ -s "$database" ]; then cat "$database"; else cat /build/first.json; fi
"""


@dataclass(frozen=True, slots=True)
class ConfigureLimits:
    """Of one configure: wall and CPU seconds (the latter per process), memory per process, each of its two disks."""

    wall_s: float = 300.0
    cpu_s: int = 300
    memory_bytes: int = 4 << 30
    disk_bytes: int = 1 << 30
    output_bytes: int = 64 << 20


@dataclass(frozen=True, slots=True)
class Configured:
    """The database as cmake wrote it (paths below `/source` and `/build/out`), or the reason for having none."""

    database: bytes
    reason: str = ""


DEFAULT_LIMITS = ConfigureLimits()


def require_sandbox() -> str:
    """The version line of cmake; `EnvironmentLacks` unless cmake, a build tool and a working bubblewrap are there."""
    for name in ("bwrap", "cmake"):
        if shutil.which(name) is None:
            raise EnvironmentLacks(f"--configure needs {name}", expected="it on PATH", found="none", do=_INSTALL)
    _generator()
    with tempfile.TemporaryDirectory(prefix="megacpp-sandbox-") as empty:
        command = [*_sandbox(Path(empty), DEFAULT_LIMITS), "cmake", "--version"]
        tried = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL, timeout=60)
    if tried.returncode:
        found = tried.stderr.decode(errors="replace").strip()
        raise EnvironmentLacks("--configure", expected="a sandbox that starts cmake", found=found, do=_INSTALL)
    return tried.stdout.decode().splitlines()[0]


def configure(tree: Path, limits: ConfigureLimits = DEFAULT_LIMITS) -> Configured:
    """Run cmake for `tree` (read-only for it). A configure that fails, hangs or writes too much gives its reason.

    `EnvironmentLacks` where the sandbox cannot be made; never a run outside it.
    """
    require_sandbox()
    if not (tree / "CMakeLists.txt").is_file():
        return Configured(b"", "no CMakeLists.txt at the root")
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(  # its death ends everything in its process namespace
            [*_sandbox(tree, limits), "/bin/sh", "-c", _SCRIPT],
            stdin=subprocess.DEVNULL, stdout=output, stderr=errors, start_new_session=True,
        )  # fmt: skip
        try:
            status = process.wait(limits.wall_s)
        except subprocess.TimeoutExpired:
            return Configured(b"", f"cmake did not end in {limits.wall_s:g} s")
        finally:
            process.kill()
            process.wait()
        output.seek(0)
        errors.seek(0)
        data = output.read(limits.output_bytes)
        said = errors.read(400).decode(errors="replace")
    if status:
        return Configured(b"", f"cmake ended with status {status}{_first_line(said)}")
    return Configured(data) if data.strip() else Configured(b"", "cmake wrote no compile_commands.json")


def _first_line(said: str) -> str:
    line = "".join(character for character in said.partition("\n")[0] if character.isprintable())
    return f": {line[:200]}" if line else ""


def _generator() -> str:
    if shutil.which("ninja"):
        return "Ninja"
    if shutil.which("make"):
        return "Unix Makefiles"
    raise EnvironmentLacks("--configure needs ninja or make", expected="one on PATH", found="none", do=_INSTALL)


def _sandbox(tree: Path, limits: ConfigureLimits) -> list[str]:
    """The command line of bubblewrap up to the program: nothing inherited but what is listed here."""
    variables = {
        "PATH": f"{Path(_cmake()).parent}:/usr/bin:/bin", "HOME": "/home", "LC_ALL": "C.UTF-8", "TZ": "UTC",
        "SOURCE_DATE_EPOCH": "0", "GENERATOR": _generator(), "OPTIONS": _OPTIONS, "CPU": str(limits.cpu_s),
        "MEMORY_KB": str(limits.memory_bytes >> 10), "FILE_BLOCKS": str(limits.output_bytes >> 9),
    }  # fmt: skip
    disk = ["--size", str(limits.disk_bytes), "--tmpfs"]
    return [
        "bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv",
        *(part for name, value in variables.items() for part in ("--setenv", name, value)),
        *_mounts(), "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/home", *disk, "/tmp", *disk, "/build",  # noqa: S108 - inside
        "--ro-bind", str(tree), "/source", "--remount-ro", "/", "--chdir", "/build",
    ]  # fmt: skip


def _cmake() -> str:
    return os.path.realpath(shutil.which("cmake") or "")


def _mounts() -> Iterator[str]:
    yield from ("--ro-bind", "/usr", "/usr")
    for path in _SYSTEM:
        if os.path.islink(path):
            yield from ("--symlink", os.readlink(path), path)
        else:
            yield from ("--ro-bind-try", path, path)
    prefix = str(Path(_cmake()).parents[1])
    if not prefix.startswith("/usr"):
        yield from ("--ro-bind", prefix, prefix)
