"""The identity of code for a cache: a module and all modules of this package that it imports, directly or not.

It is read from the import statements, so that no list of modules must be maintained by hand.
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
"""Fields of a syntax node that contain statements, or parts of one (`handlers` of try, `cases` of match)."""


@cache
def code_identity(module: str) -> str:
    """Return the hash of the files of `module` and of its imports in this package.

    Native modules count by their binary.
    """
    digest = hashlib.sha256()
    for name, file in sorted(imported(module).items()):
        digest.update(f"{name} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def imported(module: str) -> dict[str, Path]:
    """Return the file of each module of this package that importing `module` needs, itself included."""
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
    """Return the modules of this package that `source` may import, each once."""
    return tuple(dict.fromkeys(name for name in _named(source) if _is_ours(name)))


def _named(source: bytes) -> Iterator[str]:
    """Yield the names of imported modules. For `from M import x`, M and M.x are yielded, because x may be a module."""
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
    """Return the file of a module of this package; None for other packages and for names that are not modules."""
    if not _is_ours(name):
        return None
    try:
        spec = find_spec(name)
    except ModuleNotFoundError:  # the parent is not a package, so this is a name in a module
        return None
    return Path(spec.origin) if spec and spec.origin else None


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] == _PACKAGE
