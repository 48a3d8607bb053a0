"""The native visitor's slow twin: the same walk over libclang's own Python binding, one object per cursor."""

from __future__ import annotations

import os
import re
from ctypes import byref, c_uint
from functools import cached_property
from pathlib import Path
from typing import Any

from clang import cindex

FNV_BASIS, FNV_PRIME, MASK = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1
PLAIN_MEMBERS = {"FIELD_DECL", "ENUM_CONSTANT_DECL", "TYPEDEF_DECL", "TYPE_ALIAS_DECL", "VAR_DECL", "ENUM_DECL"}
SCOPES = {
    "STRUCT_DECL", "UNION_DECL", "CLASS_DECL", "CLASS_TEMPLATE", "CLASS_TEMPLATE_PARTIAL_SPECIALIZATION", "ENUM_DECL",
}  # fmt: skip


class SlowVisitor:
    def __init__(self, path: str, arguments: list[str], flags: int) -> None:
        self.unit = cindex.Index.create().parse(path, args=arguments, options=flags)
        self.main = path
        self.lib = cindex.conf.lib
        self.lib.clang_getFileLocation.argtypes = self.lib.clang_getInstantiationLocation.argtypes
        self.rows: list[dict[str, Any]] = []
        self.macro_uses: dict[int, int] = {}

    def walk(self) -> list[dict[str, Any]]:
        self._children(self.unit.cursor, -1, top=True)
        return self.rows

    def _children(self, cursor: Any, above: int, *, top: bool = False) -> None:
        for child in cursor.get_children():
            if top and not self._touches(child):
                continue
            self._children(child, self._emit(child, above))

    def _emit(self, cursor: Any, above: int) -> int:
        (first, start), (last, end) = map(self._place, (cursor.extent.start, cursor.extent.end))
        if first != self.main or last != self.main:
            return above
        if end <= start and self.macro_uses.get(end, 0) > start:
            start, end = end, self.macro_uses[end]  # from an argument of a macro into its body
        if end <= start:
            return above
        if cursor.kind == cindex.CursorKind.MACRO_INSTANTIATION:
            self.macro_uses[start] = end
        siblings = sum(row["parent"] == above for row in self.rows)
        depth = 1 if above < 0 else self.rows[above]["depth"] + 1
        row = {"kind": cursor._kind_id, "start": start, "end": end, "parent": above, "sibling": siblings}
        row |= {"depth": depth, "usr": 0, "refs": {0}, "definition": False}
        self.rows.append(row)
        self._name(cursor, row)
        return len(self.rows) - 1

    def _touches(self, cursor: Any) -> bool:
        if self._place(cursor.location)[0] == self.main:
            return True
        scopes = (cindex.CursorKind.NAMESPACE, cindex.CursorKind.LINKAGE_SPEC)
        return cursor.kind in scopes and self._place(cursor.extent.start)[0] != self._place(cursor.extent.end)[0]

    def _place(self, location: Any) -> tuple[str | None, int]:
        file, line, column, offset = cindex.c_object_p(), c_uint(), c_uint(), c_uint()
        self.lib.clang_getFileLocation(location, byref(file), byref(line), byref(column), byref(offset))
        name = cindex.File(file).name if file else None
        return name, offset.value

    def _name(self, cursor: Any, row: dict[str, Any]) -> None:
        kind = cursor.kind
        if kind.is_declaration() or kind == cindex.CursorKind.MACRO_DEFINITION:
            row["usr"] = self._hash(self._identity(cursor))
            row["definition"] = kind == cindex.CursorKind.MACRO_DEFINITION or cursor.is_definition()
        elif kind.is_reference() or kind.is_expression() or kind == cindex.CursorKind.MACRO_INSTANTIATION:
            row["refs"] = self._targets(cursor)

    def _targets(self, cursor: Any) -> set[int]:
        target = cursor if cursor.kind == cindex.CursorKind.OVERLOADED_DECL_REF else cursor.referenced
        if target is None and cursor.kind == cindex.CursorKind.CALL_EXPR:
            # A dependent call borrows the overloads of its callee.
            found: set[int] = set()
            callee = next(cursor.get_children(), None)
            while callee is not None and callee.kind != cindex.CursorKind.CALL_EXPR and found <= {0}:
                found |= self._overloads_of(callee) | self._members_of(callee)
                callee = next(callee.get_children(), None)
            return found or {0}
        if target is None:
            return self._members_of(cursor) or {0}
        if target.kind == cindex.CursorKind.OVERLOADED_DECL_REF:
            return self._overloads_of(cursor) or {0}
        return {self._hash(self._identity(self._primary(target)))}

    def _overloads_of(self, cursor: Any) -> set[int]:
        target = cursor if cursor.kind == cindex.CursorKind.OVERLOADED_DECL_REF else cursor.referenced
        if target is None or target.kind != cindex.CursorKind.OVERLOADED_DECL_REF:
            return set()
        count = self.lib.clang_getNumOverloadedDecls(target)
        self.lib.clang_getOverloadedDecl.restype = cindex.Cursor
        candidates = [self.lib.clang_getOverloadedDecl(target, index) for index in range(count)]
        for candidate in candidates:
            candidate._tu = self.unit
        return {self._hash(self._identity(self._primary(candidate))) for candidate in candidates}

    def _members_of(self, cursor: Any) -> set[int]:
        """All that a member of unknown type may be: every member of that name in the unit; nothing for others."""
        if cursor.kind != cindex.CursorKind.MEMBER_REF_EXPR or cursor.referenced is not None:
            return set()
        *_, name = re.findall(
            r"[A-Za-z_]\w*", Path(self.main).read_text()[cursor.extent.start.offset : cursor.extent.end.offset]
        )
        members = self._members.get(name, [])
        if any(member.semantic_parent.kind.name == "CLASS_TEMPLATE" for member in members):
            return {self._hash(self._identity(self._primary(member))) for member in members}
        return set()

    @cached_property
    def _members(self) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {}
        for cursor in self.unit.cursor.walk_preorder():
            parent = cursor.semantic_parent
            if cursor.kind.is_declaration() and parent is not None and parent.kind.name in SCOPES:
                found.setdefault(cursor.spelling, []).append(cursor)
        return found

    def _primary(self, cursor: Any) -> Any:
        while True:
            pattern = cindex.conf.lib.clang_getSpecializedCursorTemplate(cursor)
            if pattern is None or not self._same_place(cursor, pattern):
                return cursor
            cursor = pattern

    def _same_place(self, instance: Any, pattern: Any) -> bool:
        places = [pattern.location, pattern.canonical.location]
        if pattern.get_definition() is not None:
            places.append(pattern.get_definition().location)
        return any(place.int_data == instance.location.int_data for place in places)

    def _identity(self, cursor: Any) -> str:
        cursor = cursor.canonical
        usr = self._template_usr(cursor)
        if len(usr) <= 2:
            return ""
        if usr[2] != "@":
            file = self._place(cursor.location)[0]
            inside = os.path.relpath(file, Path.cwd()) if file else ".."
            usr += "" if inside.startswith("..") else f"\n{inside}"
        return usr

    def _template_usr(self, cursor: Any) -> str:
        usr: str = cursor.get_usr() or ""
        parent = cursor.semantic_parent
        if cursor.kind.name in PLAIN_MEMBERS and parent is not None and parent.kind.name in SCOPES:
            instance = parent.get_usr()
            if usr.startswith(instance):
                return self._template_usr(self._primary(parent)) + usr[len(instance) :]
        return usr

    @staticmethod
    def _hash(text: str) -> int:
        if not text:
            return 0
        state = FNV_BASIS
        for byte in text.encode():
            state = (state ^ byte) * FNV_PRIME & MASK
        for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
            state = (state ^ state >> 33) * factor & MASK
        return (state ^ state >> 33) or 1
