"""A slow, simple producer of `ParsedFile` on clang.cindex: the twin the meaning half is driven with."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Sequence
from pathlib import Path

import clang.cindex as ci
import clang_tidy
import numpy as np

from megacpp_assets.semantic.parsing.parsed import (
    FLAG_DEFINITION,
    FLAG_OVERLOADED,
    Cursors,
    ParsedFile,
    Symbol,
    Symbols,
)

RESOURCE_DIR = Path(clang_tidy.__file__).parent / "data/lib/clang/18"
_DETAILED, _KEEP_GOING, _INCOMPLETE = 1, 0x200, 2


def usr_hash(usr: str) -> int:
    """64-bit identity of a USR; 0 for none."""
    return int.from_bytes(hashlib.md5(usr.encode()).digest()[:8], "little") if usr else 0


def _file_offset(location: ci.SourceLocation) -> tuple[str, int]:
    file, offset = ci.c_object_p(), ctypes.c_uint()
    ci.conf.lib.clang_getFileLocation(location, ctypes.byref(file), None, None, ctypes.byref(offset))
    name = ci.File(file).name if file else ""
    return name, offset.value


def _qualified(cursor: ci.Cursor) -> str:
    parts = [cursor.spelling or "(anonymous)"]
    cursor = cursor.semantic_parent
    while cursor is not None and cursor.kind not in (ci.CursorKind.TRANSLATION_UNIT, ci.CursorKind.INVALID_FILE):
        if cursor.kind not in (ci.CursorKind.LINKAGE_SPEC, ci.CursorKind.UNEXPOSED_DECL):
            parts.append(cursor.spelling or "(anonymous)")
        cursor = cursor.semantic_parent
    return "::".join(reversed(parts))


class _Walk:
    def __init__(self, path: str) -> None:
        self.path = path
        self.rows: list[tuple[int, ...]] = []
        self.symbols: dict[int, Symbol] = {}

    def symbol(self, cursor: ci.Cursor | None) -> int:
        usr = usr_hash(cursor.get_usr()) if cursor is not None else 0
        if cursor is not None and usr and usr not in self.symbols:
            self.symbols[usr] = Symbol(usr, _qualified(cursor), cursor.kind.value, cursor.spelling)
        return usr

    def reference(self, cursor: ci.Cursor) -> tuple[int, int]:
        if cursor.kind == ci.CursorKind.OVERLOADED_DECL_REF:
            count = ci.conf.lib.clang_getNumOverloadedDecls(cursor)
            if count:
                first = ci.conf.lib.clang_getOverloadedDecl(cursor, 0)
                first._tu = cursor._tu
                return self.symbol(first), FLAG_OVERLOADED
            return 0, 0
        if cursor.kind.is_declaration() or cursor.kind == ci.CursorKind.MACRO_DEFINITION:
            return 0, 0
        target = cursor.referenced
        return (self.symbol(target), 0) if target is not None and target != cursor else (0, 0)

    def visit(self, cursor: ci.Cursor, parent: int, depth: int, sibling: int) -> None:
        file, start = _file_offset(cursor.extent.start)
        _, end = _file_offset(cursor.extent.end)
        if file != self.path:
            return
        flags, end = 0, max(start, end)
        if cursor.is_definition() or cursor.kind == ci.CursorKind.MACRO_DEFINITION:
            flags |= FLAG_DEFINITION
        declares = cursor.kind.is_declaration() or cursor.kind == ci.CursorKind.MACRO_DEFINITION
        usr = self.symbol(cursor) if declares else 0
        ref, more = self.reference(cursor)
        index = len(self.rows)
        self.rows.append((cursor.kind.value, start, end, depth, min(sibling, 65535), parent, usr, ref, flags | more))
        for number, child in enumerate(cursor.get_children()):
            self.visit(child, index, depth + 1, number)


def parse_file(tree: Path, path: str, arguments: Sequence[str]) -> ParsedFile:
    """Parse one file of `tree` as a main file."""
    name = str(tree / path)
    unit = ci.Index.create().parse(
        name,
        args=["-resource-dir", str(RESOURCE_DIR), "-Wno-everything", *arguments],
        options=_DETAILED | _KEEP_GOING | _INCOMPLETE,
    )
    walk = _Walk(name)
    for number, child in enumerate(unit.cursor.get_children()):
        if child.location.file is not None and child.location.file.name == name:
            walk.visit(child, -1, 1, number)
    errors = sum(diagnostic.severity >= 3 for diagnostic in unit.diagnostics)
    row_of = {usr: row for row, usr in enumerate(sorted(walk.symbols))}
    rows = [(*place, row_of.get(usr, -1), row_of.get(ref, -1), flags) for *place, usr, ref, flags in walk.rows]
    columns = list(zip(*rows, strict=True)) or [()] * 9
    kinds = (np.uint16, np.uint32, np.uint32, np.uint16, np.uint16, np.int32, np.int32, np.int32, np.uint8)
    cursors = Cursors(*(np.array(column, dtype=kind) for column, kind in zip(columns, kinds, strict=True)))
    includes = {
        Path(item.include.name).resolve().relative_to(tree).as_posix()
        for item in unit.get_includes()
        if Path(item.include.name).resolve().is_relative_to(tree)
    }
    return ParsedFile(
        path=path,
        status="errors" if errors else "clean",
        mode="inferred",
        errors=errors,
        cursors=cursors,
        symbols=as_columns([walk.symbols[usr] for usr in sorted(walk.symbols)]),
        includes=tuple(sorted(includes)),
    )


def as_columns(rows: Sequence[Symbol]) -> Symbols:
    """`rows`, ascending by USR hash, as a parse holds them."""
    usr, name, kind, spelling = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Symbols(np.array(usr, np.uint64), np.array(kind, np.uint16), list(name), list(spelling))


def parse_folder(tree: Path, arguments: Sequence[str], language: str = "c++") -> list[ParsedFile]:
    """Every C/C++ file below `tree`, in path order, all taken as `language`."""
    paths = sorted(
        (path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.suffix in _SUFFIXES), key=str.encode
    )
    return [parse_file(tree, path, ["-x", language, *arguments]) for path in paths]


_SUFFIXES = {".c", ".h", ".cc", ".cpp", ".hpp", ".cxx", ".hh", ".inc", ".inl", ".def"}
