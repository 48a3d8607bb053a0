"""Identity of code for a cache: a module and all of this package that it imports, directly or not.

Read from the import statements, so that no list of modules has to be kept by hand, and none can be forgotten.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_PACKAGE = __name__.partition(".")[0]
_BLOCKS = ("body", "orelse", "handlers", "finalbody", "cases")
"""Fields of a syntax node that hold statements, or the parts of one (`handlers` of try, `cases` of match)."""


@cache
def code_identity(module: str) -> str:
    """Hash of the files of `module` and of what it imports of this package; native modules by their machine code."""
    digest = hashlib.sha256()
    for name, file in sorted(imported(module).items()):
        digest.update(f"{name} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def imported(module: str) -> dict[str, Path]:
    """The file of each module of this package that importing `module` needs, itself included."""
    found: dict[str, Path] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        file = None if name in found else _file(name)
        if file is not None:
            found[name] = file
            waiting.extend(_imports(file.read_bytes()) if file.suffix == ".py" else ())
    return found


@cache
def _imports(source: bytes) -> tuple[str, ...]:
    """The modules of this package that `source` may import, each once."""
    return tuple(dict.fromkeys(name for name in _named(source) if _is_ours(name)))


def _named(source: bytes) -> Iterator[str]:
    """What `from M import x` means may be a module M.x or a name in M; both are looked for."""
    for node in _statements(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _statements(block: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements under `block`. No expression is visited: there are ten times as many, without an import."""
    for part in _BLOCKS:
        for statement in getattr(block, part, ()):
            yield statement
            yield from _statements(statement)


def _file(name: str) -> Path | None:
    """The file of a module of this package, wherever it is installed; None for what is no module, or another's."""
    if not _is_ours(name):
        return None
    try:
        spec = find_spec(name)
    except ModuleNotFoundError:  # its parent is no package: it is a name in a module
        return None
    return Path(spec.origin) if spec and spec.origin else None


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] == _PACKAGE
