"""`--configure`: runs a tree's own cmake inside bubblewrap to get its compile database and the headers that it writes.

In: a folder with all files of a commit. Out: the bytes of `compile_commands.json` and of generated headers, or the
reason why they are missing. The tree's code has no network, environment or credentials, and sees only `/usr` of the
host. It can write only to disks in memory, which have a fixed size. Time, memory and file size are limited for each
process. The number of processes is limited for all users except root, whom the kernel exempts. As root, a fork bomb
ends only after the wall time; until then only a limit around the whole run (of a container or a systemd unit) can bound
it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from megacpp_assets.contract.errors import EnvironmentLacks
from megacpp_assets.semantic.tree.folder import is_plain

_INSTALL = "apt-get install bubblewrap cmake ninja-build g++ (bubblewrap 0.8 or later)"
_ELF = b"\x7fELF"
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/alternatives", "/etc/ld.so.cache")
"""Links into /usr, and tables about its contents, that programs in /usr need."""
_DISKS = ("/home", "/tmp", "/build")  # noqa: S108 - inside
_SEALED = ("/proc", "/dev", "/")
"""Made read-only when everything is mounted. In `/proc`, root could otherwise write kernel settings from inside."""
_HEADER = re.compile(rb"(\d{1,9})\n([^\n]{1,1024})\n")
_LONGEST_NAME = 255
"""Bytes of the name of a file or folder; the file system takes no longer one."""
_OPTIONS = "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=ON"
BUILD = "/build/megacpp_out"
"""The build folder inside the sandbox. The database names generated headers below it."""
_SCRIPT = r"""
ulimit -c 0; ulimit -t "$CPU"; ulimit -v "$MEMORY_KB"; ulimit -f "$FILE_BLOCKS"; ulimit -n 1024
ulimit -p "$PROCESSES" 2>/dev/null || ulimit -u "$PROCESSES" || exit 91  # dash calls the option -p, bash calls it -u
database="$BUILD"/compile_commands.json
cached() {
    [ ! -f "$BUILD"/CMakeCache.txt ] ||
        sed -nE "s/^(([A-Za-z0-9_]*_)?($1)):(BOOL|UNINITIALIZED)=$2\$/-D\\1=$3/Ip" "$BUILD"/CMakeCache.txt
}
error() { grep -a -m 1 -A 3 "^CMake Error" /build/log | tr -s "\n\t " " "; }  # its reason is below its place
run() { cmake -S "$SOURCE" -B "$BUILD" -G "$GENERATOR" "$@" >>/build/log 2>&1 </dev/null; }
run $OPTIONS "$@" || {
    status=$?
    # Tests and benchmarks may need another repository that is missing here; the library itself may not.
    less=$(cached "tests?|testing|benchmarks?|samples|examples" ON OFF)
    [ -n "$less" ] && run $less "$@" || { error >&2; exit $status; }
}
cp "$database" /build/first.json || exit 90
# Options that add tests and samples, switched on where that still configures: their sources are part of the corpus.
[ -n "$less" ] || more=$(cached "tests?|testing|samples|examples" OFF ON)
if [ -n "$more" ] && run $more "$@" && [ -s "$database" ]; then cat "$database"; else cat /build/first.json; fi
printf '\0'
total=0
find "$BUILD" -name CMakeFiles -prune -o -type f -regextype posix-extended \
    -regex '.*\.(h|hh|hpp|hxx|h\+\+|inc|ipp|def)' -print | LC_ALL=C sort | head -n "$HEADERS" |
while IFS= read -r path; do
    size=$(wc -c <"$path") && total=$((total + size)) && [ "$total" -le "$HEADER_BYTES" ] || break
    printf '%s\n%s\n' "$size" "${path#"$BUILD"/}"
    cat "$path"
done
exit 0
"""


@dataclass(frozen=True, slots=True)
class ConfigureLimits:
    """Limits of one configure: wall seconds, CPU seconds and memory per process, the size of each of its three disks,
    and the number and total size of generated headers.
    """

    wall_s: float = 300.0
    cpu_s: int = 300
    memory_bytes: int = 4 << 30
    disk_bytes: int = 1 << 30
    processes: int = 512
    output_bytes: int = 64 << 20
    headers: int = 4096
    header_bytes: int = 16 << 20


@dataclass(frozen=True, slots=True)
class Configured:
    """The database as cmake wrote it (paths below `/source` and BUILD), or the reason why it is missing; and the
    headers that it wrote, by path below BUILD.
    """

    database: bytes
    reason: str = ""
    headers: Mapping[str, bytes] = field(default_factory=dict)


DEFAULT_LIMITS = ConfigureLimits()


def require_sandbox() -> str:
    """Return the version line of cmake. `EnvironmentLacks` unless cmake, a build tool and a working bubblewrap
    exist.
    """
    for name, found in (("bwrap", shutil.which("bwrap")), ("cmake", cmake_program())):
        if not found:
            raise EnvironmentLacks(f"--configure needs {name}", expected="it on PATH", found="none", do=_INSTALL)
    _generator()
    with tempfile.TemporaryDirectory(prefix="megacpp-sandbox-") as empty:
        command = [*_sandbox(Path(empty), DEFAULT_LIMITS), "cmake", "--version"]
        tried = subprocess.run(command, capture_output=True, check=False, env={}, stdin=subprocess.DEVNULL, timeout=60)
    if tried.returncode:
        found = tried.stderr.decode(errors="replace").strip()
        raise EnvironmentLacks("--configure", expected="a sandbox that starts cmake", found=found, do=_INSTALL)
    return tried.stdout.decode().splitlines()[0]


def configure(tree: Path, limits: ConfigureLimits = DEFAULT_LIMITS, arguments: tuple[str, ...] = ()) -> Configured:
    """Run cmake for `tree`, which it can only read. If it fails, hangs or writes too much, the result has a reason.

    `arguments` are those of the recipe: "-S" and the folder of the project, if it is not the root, and "-DNAME=VALUE".
    `EnvironmentLacks` if the sandbox cannot be created. Nothing runs outside of it.
    """
    require_sandbox()
    folder, options = (arguments[1], arguments[2:]) if arguments[:1] == ("-S",) else ("", arguments)
    if not (tree / folder / "CMakeLists.txt").is_file():
        where = f"in {folder}" if folder else "at the root"
        return Configured(b"", f"no CMakeLists.txt {where}: state its folder in the recipe's [cmake_arguments]")
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(  # when it ends, the kernel ends all processes of its process namespace
            [*_sandbox(tree, limits, folder), "/bin/sh", "-c", _SCRIPT, "configure", *options],
            env={}, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, start_new_session=True,
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
        message = errors.read(400).decode(errors="replace")
    if status:
        return Configured(b"", f"cmake ended with status {status}{_first_line(message)}")
    database, _, headers = data.partition(b"\0")
    if not database.strip():
        return Configured(b"", "cmake wrote no compile_commands.json")
    return Configured(database, headers=dict(headers_in(headers)))


def headers_in(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the bytes of each header: a line with its size, one with its path, then its bytes.

    A tree's code may have written anything here. It ends at the first thing that is no header.
    """
    place = 0
    while (named := _HEADER.match(data, place)) and (end := named.end() + int(named[1])) <= len(data):
        path = named[2].decode(errors="replace")
        if is_plain(path) and all(len(part.encode()) <= _LONGEST_NAME for part in path.split("/")):
            yield path, data[named.end() : end]
        place = end


def _first_line(message: str) -> str:
    line = "".join(character for character in message.partition("\n")[0] if character.isprintable())
    return f": {line[:200]}" if line else ""


def _generator() -> str:
    if shutil.which("ninja"):
        return "Ninja"
    if shutil.which("make"):
        return "Unix Makefiles"
    raise EnvironmentLacks("--configure needs ninja or make", expected="one on PATH", found="none", do=_INSTALL)


def _sandbox(tree: Path, limits: ConfigureLimits, folder: str = "") -> list[str]:
    """Return the command line of bubblewrap up to the program. Only what is listed here is inherited."""
    variables = {
        "PATH": f"{Path(cmake_program()).parent}:/usr/bin:/bin", "HOME": "/home", "LC_ALL": "C.UTF-8", "TZ": "UTC",
        "SOURCE_DATE_EPOCH": "0", "BUILD": BUILD, "HEADERS": str(limits.headers),
        "HEADER_BYTES": str(limits.header_bytes), "GENERATOR": _generator(), "OPTIONS": _OPTIONS,
        "CPU": str(limits.cpu_s), "SOURCE": os.path.join("/source", folder),
        "MEMORY_KB": str(limits.memory_bytes >> 10), "FILE_BLOCKS": str(limits.output_bytes >> 9),
        "PROCESSES": str(limits.processes),
    }  # fmt: skip
    # bubblewrap is process 1 of the sandbox, and a tree's code can read its environment in /proc. So it starts with an
    # empty one: --clearenv empties only that of the child. Its arguments can be read too, like the table of mounts.
    # They name folders (the scratch folder, the prefix of cmake), never their contents.
    return [
        os.path.abspath(shutil.which("bwrap") or "bwrap"), "--unshare-all", "--unshare-user", "--disable-userns",
        "--hostname", "cage", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv",
        *(part for name, value in variables.items() for part in ("--setenv", name, value)),
        *_mounts(), "--proc", "/proc", "--dev", "/dev",
        *(part for disk in _DISKS for part in ("--size", str(limits.disk_bytes), "--tmpfs", disk)),
        *_unpacked_cmake(),  # after the disks, because it may be below /home
        "--ro-bind", str(tree), "/source", *(part for folder in _SEALED for part in ("--remount-ro", folder)),
        "--chdir", "/build",
    ]  # fmt: skip


def cmake_program() -> str:
    """Return the path of the first cmake on PATH, else of the one in this environment's Python package; "" if missing.

    In an activated environment the first cmake on PATH may be a Python script, which cannot start inside the sandbox.
    """
    packaged = _packaged_cmake()
    for folder in os.get_exec_path():
        found = shutil.which("cmake", path=folder)
        if found and _is_program(found):
            return os.path.realpath(found)
        if found and packaged:
            break
    return packaged


def _packaged_cmake() -> str:
    package = find_spec("cmake")
    for home in (package.submodule_search_locations or ()) if package else ():
        if (inside := shutil.which("cmake", path=f"{home}/data/bin")) and _is_program(inside):
            return os.path.realpath(inside)
    return ""


def _is_program(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(len(_ELF)) == _ELF


def _mounts() -> Iterator[str]:
    yield from ("--ro-bind", "/usr", "/usr")
    for path in _SYSTEM:
        if os.path.islink(path):
            yield from ("--symlink", os.readlink(path), path)
        else:
            yield from ("--ro-bind-try", path, path)


def _unpacked_cmake() -> Iterator[str]:
    prefix = Path(cmake_program()).parents[1]
    if not prefix.is_relative_to("/usr"):  # only its own parts: the prefix may be somebody's home
        for part in (cmake_program(), *map(str, sorted(prefix.glob("share/cmake*")))):
            yield from ("--ro-bind", part, part)
