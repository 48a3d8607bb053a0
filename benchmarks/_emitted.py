"""The calls that a compiler emits for a unit, read from its unoptimised LLVM IR: where each stands and whom it calls.

Debian's clang is asked, which shares nothing with the libclang that we parse with but its origin.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from megacpp_assets.contract.errors import EnvironmentLacks

_NAMES = ("clang", *(f"clang-{version}" for version in range(22, 13, -1)))
_CALL = re.compile(r'(?:call|invoke)\b[^\n@]*@("[^"\n]+"|[\w.$]+)\(([^\n]*(?:\n\s+to label[^\n]*)?), !dbg !(\d+)')
_NODE = re.compile(
    r"^!(\d+) = (?:distinct )?!(DI(?:Location|Subprogram|LexicalBlock|LexicalBlockFile|File))\((.*)\)$", re.M
)
_FIELD = re.compile(r'(\w+): (?:!(\d+)|(\d+)|"([^"]*)")')
_RUNTIME = re.compile(r"llvm\.|__cxa_|__clang_|_Unwind|__dynamic_cast|_Zn[wa]|_Zd[la]|__gxx")
_TAGS = re.compile(r"\[abi:\w+\]")
_WORD = re.compile(r"operator\b")


class Emitted(NamedTuple):
    """A call at `line` and `column` (of bytes, both from 1) of the unit's file.

    `callee` is the last part of its `name`, `constructor` tells whether it is one, `caller` is the last part of the
    name of the function around it."""

    line: int
    column: int
    callee: str
    constructor: bool
    caller: str
    name: str = ""


def find_clang() -> str:
    """The compiler; `EnvironmentLacks` that says what to install if there is none."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        install = "apt-get install --no-install-recommends clang"
        raise EnvironmentLacks("clang", expected="one on the PATH, of any version from 14 on", found="none", do=install)
    return found


def emitted(clang: str, tree: Path, path: str, arguments: Sequence[str]) -> set[Emitted] | None:
    """The distinct calls whose place is in the file at `path` itself; None if clang cannot compile it.

    Destructors, deallocation and what the runtime does are left out: nobody writes them.
    """
    flags = ["-w", "-O0", "-gline-tables-only", "-gcolumn-info", "-S", "-emit-llvm", "-o", "-"]
    command = [clang, *arguments, *flags, path]
    done = subprocess.run(command, cwd=tree, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        return None
    text = done.stdout.decode(errors="replace")
    nodes = {int(number): (kind, _fields(rest)) for number, kind, rest in _NODE.findall(text)}
    calls = [(name.strip('"'), int(place)) for name, _, place in _CALL.findall(text)]
    calls = [(name, place) for name, place in dict.fromkeys(calls) if not _RUNTIME.match(name)]
    names = _demangled([name for name, _ in calls])
    return set(_placed(path, calls, names, nodes))


_Nodes = dict[int, tuple[str, dict[str, str]]]


def _fields(text: str) -> dict[str, str]:
    return {name: node or number or word for name, node, number, word in _FIELD.findall(text)}


def _placed(path: str, calls: Sequence[tuple[str, int]], names: dict[str, str], nodes: _Nodes) -> Iterator[Emitted]:
    for name, number in calls:
        _, place = nodes.get(number, ("", {}))
        scopes = list(_scopes(nodes, place))
        file = next((fields["file"] for _, fields in scopes if "file" in fields), None)
        if not int(place.get("column", 0)) or file is None or nodes[int(file)][1]["filename"] != path:
            continue
        callee, constructor = last_part(names[name])
        caller = next((fields["name"] for kind, fields in scopes if kind == "DISubprogram" and "name" in fields), "")
        if not callee.startswith("~"):
            at = int(place["line"]), int(place["column"])
            yield Emitted(*at, callee, constructor, caller.partition("<")[0], names[name])


def _scopes(nodes: _Nodes, place: dict[str, str]) -> Iterator[tuple[str, dict[str, str]]]:
    while (scope := place.get("scope")) and int(scope) in nodes:
        kind, place = nodes[int(scope)]
        yield kind, place


def _demangled(names: Sequence[str]) -> dict[str, str]:
    done = subprocess.run(["c++filt", "-p"], input="\n".join(names), capture_output=True, check=True, text=True)
    return dict(zip(names, done.stdout.split("\n"), strict=False))


def last_part(name: str) -> tuple[str, bool]:
    """`a::B<int>::f<int>` -> (`f`, False), `a::B<int>::B` -> (`B`, True): without template arguments."""
    parts = [part.strip() for part in _split(_TAGS.sub("", name))]
    last = parts[-1]
    if _WORD.match(last):
        return " ".join(_operator(last).split()), False
    return _plain(last), len(parts) > 1 and _plain(parts[-2]) == _plain(last)


def _plain(part: str) -> str:
    return part.partition("<")[0].strip()


def _operator(text: str) -> str:
    """`operator<< <char>` -> `operator<<`."""
    symbol = re.match(
        r'operator\s*(?:\(\)|\[\]|""\s*\w+|new\[\]|delete\[\]|<=>|<<=|>>=|->\*?|<<|>>|<=|>=|[^\w\s(<]+|<|.*)', text
    )
    return symbol[0] if symbol else text


def _split(name: str) -> list[str]:
    """At the `::` outside brackets."""
    parts, depth, start, at = [], 0, 0, 0
    while at < len(name):
        if depth == 0 and _WORD.match(name, at) and (at == 0 or not (name[at - 1].isalnum() or name[at - 1] == "_")):
            break
        if name[at] in "(<[{":
            depth += 1
        elif name[at] in ")>]}" and name[at - 1] != "-":
            depth -= 1
        elif depth == 0 and name.startswith("::", at):
            parts.append(name[start:at])
            start = at + 2
            at += 1
        at += 1
    return [*parts, name[start:]]
