"""libclang as others drive it: the parses that we made and nothing else, or a full parse and a walk in Python.

Everything runs in the tree, with the arguments that our own plan gave, so that both sides read the same files.
"""

from __future__ import annotations

import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import byref, c_uint
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clang import cindex

from megacpp_assets.semantic import _visitor
from megacpp_assets.semantic.plan import Unit
from megacpp_assets.semantic.toolchain import Toolchain, working_directory

CALL = cindex.CursorKind.CALL_EXPR


@dataclass(frozen=True, slots=True)
class Call:
    """One parse that was asked of libclang; `saved` says that a precompiled header was written after it."""

    path: str
    arguments: tuple[str, ...]
    flags: int
    saved: bool


def load_library(toolchain: Toolchain) -> None:
    """Let the Python binding use the library that we use."""
    if not cindex.Config.loaded:
        cindex.Config.set_library_file(toolchain.library)


@contextmanager
def recorded(calls: list[Call]) -> Iterator[None]:
    """Put every parse that this process asks of our visitor into `calls`, in order."""
    parse, precompile = _visitor.parse, _visitor.precompile

    def keeping(work: Callable[..., Any], saved: bool) -> Callable[..., Any]:
        def kept(library: str, path: str, arguments: Sequence[str], flags: int, last: Any) -> Any:
            calls.append(Call(path, tuple(arguments), flags, saved))
            return work(library, path, arguments, flags, last)

        return kept

    _visitor.parse, _visitor.precompile = keeping(parse, saved=False), keeping(precompile, saved=True)
    try:
        yield
    finally:
        _visitor.parse, _visitor.precompile = parse, precompile


def replay(tree: Path, calls: Sequence[Call]) -> None:
    """The same parses, with the same flags, and no walk. Precompiled headers are written once more, elsewhere."""
    with tempfile.TemporaryDirectory(prefix="megacpp-bench-") as folder, working_directory(tree):
        for call in calls:
            unit = cindex.Index.create(excludeDecls=True).parse(call.path, list(call.arguments), options=call.flags)
            if call.saved:
                unit.save(os.path.join(folder, "saved.pch"))


def full_walk(tree: Path, units: Sequence[Unit], toolchain: Toolchain, *, preorder: bool) -> None:
    """Each unit parsed without any flag; then kind, extent, USR and target of its main file's cursors.

    They are found below the top-level cursors of that file, or, with `preorder`, by a walk through everything.
    """
    with working_directory(tree):
        for unit in units:
            parsed = _full_parse(unit, toolchain)
            everything = (cursor for cursor in parsed.cursor.walk_preorder() if _in_file(cursor, unit.path))
            deque(map(_facts, everything if preorder else _below_main_file(parsed, unit.path)), maxlen=0)


def called_places(tree: Path, unit: Unit, toolchain: Toolchain) -> set[tuple[int, int]]:
    """Byte ranges of the calls in the unit's main file that have a target, as a full parse and a full walk see them."""
    with working_directory(tree):
        parsed = _full_parse(unit, toolchain)
        calls = (cursor for cursor in _below_main_file(parsed, unit.path) if cursor.kind == CALL and cursor.referenced)
        places = ((_place(call.extent.start), _place(call.extent.end)) for call in calls)
        return {(start, end) for (file, start), (other, end) in places if file == other == unit.path and start < end}


def _full_parse(unit: Unit, toolchain: Toolchain) -> cindex.TranslationUnit:
    arguments = [*unit.arguments, "-w", "-ferror-limit=0", "-resource-dir", toolchain.resource_dir]
    return cindex.Index.create().parse(unit.path, arguments)


def _below_main_file(unit: cindex.TranslationUnit, path: str) -> Iterator[cindex.Cursor]:
    for top in unit.cursor.get_children():
        if _in_file(top, path):
            yield from top.walk_preorder()


def _in_file(cursor: cindex.Cursor, path: str) -> bool:
    file = cursor.location.file
    return file is not None and file.name == path


def _facts(cursor: cindex.Cursor) -> tuple[Any, ...]:
    """What an index needs of a cursor."""
    return cursor.kind, cursor.extent, cursor.get_usr(), cursor.referenced


def _place(location: cindex.SourceLocation) -> tuple[str, int]:
    """(file, offset) of the spelling; the binding's own offset is the start of the macro around it."""
    file, line, column, offset = cindex.c_object_p(), c_uint(), c_uint(), c_uint()
    cindex.conf.lib.clang_getFileLocation(location, byref(file), byref(line), byref(column), byref(offset))
    return cindex.File(file).name if file else "", offset.value
