"""libclang as others drive it: the parses that we made and nothing else, or a full parse and a walk in Python.

Everything runs in the tree, with the arguments that our own plan gave, so that both sides read the same files.
"""

from __future__ import annotations

import os
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import byref, c_uint
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from _harness import Meter
from clang import cindex

from megacpp_assets.semantic import _visitor
from megacpp_assets.semantic.commands.plan import Unit
from megacpp_assets.semantic.commands.toolchain import Toolchain, working_directory

CALL = cindex.CursorKind.CALL_EXPR


def load_library(toolchain: Toolchain) -> None:
    """Let the Python binding use the library that we use."""
    if not cindex.Config.loaded:
        cindex.Config.set_library_file(toolchain.library)


@contextmanager
def beside(meter: Meter) -> Iterator[None]:
    """Beside every parse that this process asks of our visitor, the same by the binding alone: `meter` has its time.

    It goes first by turns. Nothing is walked, and a precompiled header is written once more, elsewhere.
    """
    visitor = {name: getattr(_visitor, name) for name in ("parse", "precompile")}
    numbers = count()

    def both(name: str, *call: Any) -> Any:
        def alone() -> None:
            with meter.peer():
                _parse_alone(*call[1:4], saved=name == "precompile")

        if peer_first := next(numbers) % 2:
            alone()
        found = visitor[name](*call)
        if not peer_first:
            alone()
        return found

    for name in visitor:
        setattr(_visitor, name, partial(both, name))
    try:
        yield
    finally:
        for name, work in visitor.items():
            setattr(_visitor, name, work)


def _parse_alone(path: str, arguments: Sequence[str], flags: int, *, saved: bool) -> None:
    unit = cindex.Index.create(excludeDecls=True).parse(path, list(arguments), options=flags)
    if saved:
        with tempfile.TemporaryDirectory(prefix="megacpp-bench-") as folder:
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
