"""Links chunks: references of a file's cursors become edges between chunks of the repository, with a confidence.

- exact: libclang resolved the reference.
- overload: libclang gave one of several candidates, or the entity was found by its qualified name.
- name: only the spelling is known, and exactly one chunk of the repository defines it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic.graph.chunks import Chunk
from megacpp_assets.semantic.labels.calls import callees
from megacpp_assets.semantic.labels.identifiers import name_hashes
from megacpp_assets.semantic.labels.symbol_names import SymbolTable
from megacpp_assets.semantic.outline import kinds as k
from megacpp_assets.semantic.parsing.parsed import FLAG_DEFINITION, FLAG_OVERLOADED, Cursors

CONFIDENCES = ("exact", "overload", "name")
EXACT, OVERLOAD, NAME = range(3)
CALL_EDGE, TYPE_EDGE, REFERENCE_EDGE = EDGES = range(3)
"""The kinds of edges: a call, the use of a type, and a reference to a function or variable without a call.

Reference edges are not stored in a document's graph. They only decide which context the document needs.
"""

_CALLABLE, _TYPE = k.membership(k.CALLABLES), k.membership(k.TYPES | k.TYPE_MEMBERS)
_LINKED = _CALLABLE | _TYPE | k.membership(frozenset({k.VARIABLE, k.UNEXPOSED}))
"""What edges lead to. libclang has no kind for a variable template, so its declaration is `UNEXPOSED`."""
_CALLS = k.membership(frozenset({k.CALL, k.MACRO_USE}))
_NAMING = k.membership(k.NAME_REFERENCES | k.TYPE_REFERENCES)
_LAST_NAME = re.compile(rb"([A-Za-z_][A-Za-z0-9_]*)\s*(?:<[^()]*>)?\s*\Z")
_DIGITS = b"0123456789"
_WORD = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz" + _DIGITS
_NAME_WINDOW = 200
"""The number of bytes before the argument list in which a callee's name is searched."""

Ints = NDArray[np.int64]
Table = dict[str, NDArray[Any]]
_TYPES: dict[str, type[np.generic]] = {
    "usr": np.uint64,
    "chunk": np.int32,
    "id": np.uint32,
    "spelling": np.uint64,
    "definition": np.bool_,
    "macro": np.bool_,
    "edge": np.uint8,
    "confidence": np.uint8,
    "file": np.int32,
}
"""The smallest types of the columns of all files together."""


@dataclass(frozen=True, slots=True)
class Declared:
    """The declarations in the chunks of a file, as parallel arrays.

    `usr` is a hash, `chunk` the number of the chunk in the file, `id` the symbol id, and `spelling` the hash of the
    name of a callable entity, else 0. `definition` is true for definitions, `macro` for macros.
    """

    usr: NDArray[np.uint64]
    chunk: Ints
    id: NDArray[np.uint32]
    spelling: NDArray[np.uint64]
    definition: NDArray[np.bool_]
    macro: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Used:
    """The references in the chunks of a file, as parallel arrays. `usr` is 0 if only the `spelling` is known.

    `edge` is one of EDGES, `confidence` an index of CONFIDENCES. `macro` is true for uses of macros.
    """

    usr: NDArray[np.uint64]
    chunk: Ints
    id: NDArray[np.uint32]
    spelling: NDArray[np.uint64]
    edge: Ints
    confidence: Ints
    macro: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class FileLinks:
    """A file's part of the graph.

    `calls` counts call expressions, `resolved` those with exactly one target, `candidates` those with several.
    """

    declared: Declared
    used: Used
    calls: int = 0
    resolved: int = 0
    candidates: int = 0


@dataclass(frozen=True, slots=True)
class Edges:
    """Distinct edges from a chunk to another one that it uses, sorted by kind of edge, source, target."""

    source: Ints
    target: Ints
    edge: Ints
    confidence: Ints


def no_links() -> FileLinks:
    """Return the links of a file that was not parsed: none."""
    none, usr, ids = np.zeros(0, np.int64), np.zeros(0, np.uint64), np.zeros(0, np.uint32)
    no = none.astype(bool)
    return FileLinks(Declared(usr, none, ids, usr, no, no), Used(usr, none, ids, usr, none, none, no))


def file_links(code: bytes, chunks: Sequence[Chunk], cursors: Cursors, table: SymbolTable) -> FileLinks:
    """Return the declarations and references in the chunks of one file."""
    places = _Places(chunks, cursors)
    call = cursors.kind == k.CALL
    unsure = (cursors.flags & FLAG_OVERLOADED) != 0
    resolved = call & (cursors.uses >= 0) & ~unsure
    used = _join(_used(cursors, table, places), _guessed(code, cursors, places, call & ~resolved))
    candidates = call & (cursors.uses >= 0) & unsure
    return FileLinks(
        _declared(cursors, table, places), used, int(call.sum()), int(resolved.sum()), int(candidates.sum())
    )


class _Places:
    """Finds the chunk of a file in which a cursor begins."""

    def __init__(self, chunks: Sequence[Chunk], cursors: Cursors) -> None:
        self._starts = np.array([chunk.start for chunk in chunks], dtype=np.int64)
        self._ends = np.array([chunk.end for chunk in chunks], dtype=np.int64)
        self._offsets = cursors.start

    def within(self, chosen: Ints) -> tuple[Ints, Ints]:
        """Return those of the `chosen` cursors that begin in a chunk, and the indices of their chunks."""
        offsets = self._offsets[chosen].astype(np.int64)
        chunk = np.searchsorted(self._starts, offsets, side="right") - 1
        held = (chunk >= 0) & (offsets < np.append(self._ends, -1)[chunk])
        return chosen[held], chunk[held]


def _declared(cursors: Cursors, table: SymbolTable, places: _Places) -> Declared:
    kind = np.minimum(cursors.kind, k.KINDS - 1)
    chosen, chunk = places.within(np.flatnonzero(_LINKED[kind] & (cursors.declares >= 0)))
    declared = cursors.declares[chosen]
    return Declared(
        usr=_identities(table)[declared],
        chunk=chunk,
        id=table.id[declared],
        spelling=np.where(_CALLABLE[kind[chosen]], table.spelling[declared], np.uint64(0)),
        definition=(cursors.flags[chosen] & FLAG_DEFINITION) != 0,
        macro=table.kind[declared] == k.MACRO_DEFINITION,
    )


def _used(cursors: Cursors, table: SymbolTable, places: _Places) -> Used:
    kinds_of_rows = np.minimum(table.kind, k.KINDS - 1)
    linked = _LINKED[kinds_of_rows]
    linked[cursors.declares[_locals(cursors)]] = False
    naming = np.flatnonzero(_NAMING[np.minimum(cursors.kind, k.KINDS - 1)] & (cursors.uses >= 0))
    chosen, chunk = places.within(naming[linked[cursors.uses[naming]]])
    overloaded = (cursors.flags[chosen] & FLAG_OVERLOADED) != 0
    used = cursors.uses[chosen]
    calls = _CALLS[cursors.kind[chosen]] | callees(cursors, table.operator)[chosen]
    kind = kinds_of_rows[used]
    return Used(
        usr=_identities(table)[used],
        chunk=chunk,
        id=table.id[used],
        spelling=np.zeros(len(chosen), dtype=np.uint64),
        edge=np.select([_CALLABLE[kind] & calls, _TYPE[kind]], [CALL_EDGE, TYPE_EDGE], REFERENCE_EDGE),
        confidence=np.where(overloaded, OVERLOAD, EXACT),
        macro=kind == k.MACRO_DEFINITION,
    )


def _identities(table: SymbolTable) -> NDArray[np.uint64]:
    """Return the USR of each entity. Of a variable template it is the hash of its name, because libclang gives each
    instantiation a USR of its own, and does not say from which template it was made."""
    return np.where(table.kind == k.UNEXPOSED, table.id.astype(np.uint64), table.usr)


def _locals(cursors: Cursors) -> Ints:
    """Return cursors that declare a local variable.

    They cannot be used outside of their function, so they get no edge.
    """
    declares = (cursors.kind == k.VARIABLE) & (cursors.declares >= 0) & (cursors.parent >= 0)
    return np.flatnonzero(declares & (cursors.kind[np.maximum(cursors.parent, 0)] == k.DECLARATION_STATEMENT))


def _guessed(code: bytes, cursors: Cursors, places: _Places, unresolved: NDArray[np.bool_]) -> Used:
    """Return unresolved calls with the spelling of their callee: the last name of the callee's expression.

    libclang gives no target for a call that depends on a template parameter, so the text of its first child is read.
    """
    calls, chunk = places.within(np.flatnonzero(unresolved))
    following = np.minimum(calls + 1, len(cursors.kind) - 1)
    child = (cursors.parent[following] == calls) & (cursors.start[following] == cursors.start[calls])
    starts, stops = cursors.start[calls].tolist(), np.where(child, cursors.end[following], 0).tolist()
    names = [_callee(code, start, stop) for start, stop in zip(starts, stops, strict=True)]
    return Used(
        usr=np.zeros(len(calls), dtype=np.uint64),
        chunk=chunk,
        id=np.zeros(len(calls), dtype=np.uint32),
        spelling=name_hashes(names)[0],
        edge=np.full(len(calls), CALL_EDGE),
        confidence=np.full(len(calls), NAME),
        macro=np.zeros(len(calls), dtype=bool),
    )


def _callee(code: bytes, start: int, stop: int) -> str:
    if stop <= start:
        return ""
    start = max(start, stop - _NAME_WINDOW)
    text = code[start:stop]
    if text[-1:] in _WORD:
        # The name is at the end, so no regular expression has to be tried at each byte before it.
        return text[len(text.rstrip(_WORD)) :].lstrip(_DIGITS).decode()
    found = _LAST_NAME.search(code, start, stop)
    return found[1].decode(errors="replace") if found else ""


def _join(first: Used, second: Used) -> Used:
    return Used(*(np.concatenate([getattr(first, f.name), getattr(second, f.name)]) for f in fields(Used)))


class Links(NamedTuple):
    """The links of all files of a repository as two tables, with chunks numbered across the repository.

    Their columns are those of `Declared` and `Used` in their smallest types, and `file`, the number of the file.
    """

    declared: Table
    used: Table


def joined_links(files: Iterable[FileLinks], sizes: Sequence[int]) -> Links:
    """Return the links of `files`, of which each has one of `sizes` as its number of chunks. They are read once."""
    tables = (_Columns(Declared), _Columns(Used))
    base = 0
    for number, (links, size) in enumerate(zip(files, sizes, strict=True)):
        both: tuple[Declared | Used, ...] = (links.declared, links.used)
        for table, rows in zip(tables, both, strict=True):
            table.extend(rows, number, base)
        base += size
    return Links(*(table.taken() for table in tables))


class _Columns:
    """The rows of all files as they are joined: one buffer a column, since many small arrays leave gaps in memory."""

    def __init__(self, rows: type[Declared] | type[Used]) -> None:
        self._buffers = {name: bytearray() for name in (*(field.name for field in fields(rows)), "file")}

    def extend(self, rows: Declared | Used, file: int, base: int) -> None:
        """Append the rows of file number `file`, whose first chunk has the number `base`."""
        for name, buffer in self._buffers.items():
            values = np.full(len(rows.usr), file) if name == "file" else getattr(rows, name)
            buffer.extend((values + base if name == "chunk" else values).astype(_TYPES[name]).tobytes())

    def taken(self) -> Table:
        """Return the columns. They are no longer held here."""
        buffers, self._buffers = self._buffers, {}
        return {name: np.frombuffer(buffer, dtype=_TYPES[name]) for name, buffer in buffers.items()}


def link(links: Links, headers: Sequence[bool]) -> Edges:
    """Return the edges between the chunks of a repository.

    `headers` marks the files that are headers. A reference is looked up by USR, then by symbol id (the qualified name),
    then by spelling. The last two count only if one chunk alone defines the name. A call of the system's `close` is no
    use of a macro `close` which a header defines for another system.
    """
    declared, used = links
    target = _by_usr(declared, used, np.array(headers, dtype=bool))
    confidence = used["confidence"].copy()
    for keys, level in ((_entities, OVERLOAD), (_spellings, NAME)):
        found = _unique_definition(declared, keys(declared), keys(used))
        new = (target < 0) & (found >= 0)
        target[new], confidence[new] = found[new], np.maximum(confidence[new], level)
    real = (target >= 0) & (target != used["chunk"])
    return _distinct(used["chunk"][real], target[real], used["edge"][real], confidence[real])


def chunks_called(names: Collection[str], declared: Table) -> dict[str, int]:
    """Return the first chunk of the repository that defines a function or macro with each of `names`, if any."""
    wanted = sorted(name for name in names if name)
    chosen = declared["definition"] & (declared["spelling"] != 0)
    spellings, first = np.unique(declared["spelling"][chosen], return_index=True)
    found = _lookup(spellings, declared["chunk"][chosen][first], name_hashes(wanted)[0])
    return {name: chunk for name, chunk in zip(wanted, found.tolist(), strict=True) if chunk >= 0}


def chunks_defining(names: Collection[str], declared: Table) -> dict[str, Sequence[int]]:
    """Return the chunks of the repository, ascending, that define a function or macro with each of `names`, if any."""
    wanted = sorted(name for name in names if name)
    hashes = name_hashes(wanted)[0]
    chosen = declared["definition"] & np.isin(declared["spelling"], hashes)
    rows = np.unique(np.stack([declared["spelling"][chosen], declared["chunk"][chosen].astype(np.uint64)]), axis=1)
    spans = np.searchsorted(rows[0], hashes), np.searchsorted(rows[0], hashes, side="right")
    found = zip(wanted, *(each.tolist() for each in spans), strict=True)
    return {name: rows[1, start:stop].tolist() for name, start, stop in found if start < stop}


def with_references(edges: Edges, source: Sequence[int], target: Sequence[int]) -> Edges:
    """Return `edges` with reference edges from `source` to `target` added, of confidence NAME."""
    new = np.stack([np.array(source, dtype=np.int64), np.array(target, dtype=np.int64)], axis=1)
    new = new[new[:, 0] != new[:, 1]]
    return _distinct(
        np.concatenate([edges.source, new[:, 0]]),
        np.concatenate([edges.target, new[:, 1]]),
        np.concatenate([edges.edge, np.full(len(new), REFERENCE_EDGE)]),
        np.concatenate([edges.confidence, np.full(len(new), NAME)]),
    )


def _by_usr(declared: Table, used: Table, headers: NDArray[np.bool_]) -> Ints:
    """Return the chunk that declares the USR of each use: the definition, else the first declaration; -1 if missing.

    Files that are never linked into one program may define the same name, as tests do. Then a file uses its own
    definition. Other files use the one in a header, because they cannot see a definition in another source.
    """
    order = np.lexsort((declared["chunk"], ~headers[declared["file"]], ~declared["definition"], declared["usr"]))
    usrs, first = np.unique(declared["usr"][order], return_index=True)
    target = _lookup(usrs, declared["chunk"][order][first], used["usr"])
    own = _defined_in_same_file(declared, used, usrs, len(headers))
    return np.where(own >= 0, own, target)


def _defined_in_same_file(declared: Table, used: Table, usrs: NDArray[np.uint64], files: int) -> Ints:
    """Return the first chunk of the same file that defines the USR of each use, or -1. `usrs` must ascend."""
    if not len(usrs):
        return np.full(len(used["usr"]), -1, dtype=np.int64)

    def key(table: Table) -> NDArray[np.int64]:
        number = np.minimum(np.searchsorted(usrs, table["usr"]), len(usrs) - 1)
        known = (usrs[number] == table["usr"]) & (table["usr"] != 0)
        return np.where(known, 1 + number * files + table["file"], 0)

    chosen = declared["definition"]
    keys, chunks = key(declared)[chosen], declared["chunk"][chosen]
    order = np.lexsort((chunks, keys))
    places, first = np.unique(keys[order], return_index=True)
    return _lookup(places, chunks[order][first], key(used))


def _entities(table: Table) -> NDArray[np.uint64]:
    """Return the symbol id of each row, which differs for a macro and a function of one name; 0 if it has no id."""
    ids = table["id"].astype(np.uint64)
    return np.where(table["macro"], ids + np.uint64(1 << 32), ids)


def _spellings(table: Table) -> NDArray[np.uint64]:
    return table["spelling"]


def _unique_definition(declared: Table, keys: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> Ints:
    """Return the only chunk that defines each of the `wanted` keys; -1 if no or several chunks do. `keys` are those of
    the rows of `declared`."""
    chosen = declared["definition"] & (keys != 0)
    keys, chunks = keys[chosen], declared["chunk"][chosen]
    order = np.lexsort((chunks, keys))
    unique, first, counts = np.unique(keys[order], return_index=True, return_counts=True)
    chunks = chunks[order]
    lone = chunks[first] == chunks[first + counts - 1] if len(first) else np.zeros(0, dtype=bool)
    return _lookup(unique[lone], chunks[first[lone]], wanted)


def _lookup(keys: NDArray[Any], values: Ints, wanted: NDArray[Any]) -> Ints:
    """Return the value of each wanted key; -1 if it is missing or 0. `keys` must ascend."""
    if not len(keys):
        return np.full(len(wanted), -1, dtype=np.int64)
    index = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where((keys[index] == wanted) & (wanted != 0), values[index], -1)


def _distinct(source: Ints, target: Ints, edge: Ints, confidence: Ints) -> Edges:
    # Each edge becomes one number, which sorts several times as fast as columns. Of equal edges the one with the best
    # confidence comes first and is kept.
    source, target, edge = (column.astype(np.int64) for column in (source, target, edge))
    chunks = 1 + max(source.max(initial=0), target.max(initial=0))
    rows = np.sort(((edge * chunks + source) * chunks + target) * len(CONFIDENCES) + confidence)
    rows, confidence = np.divmod(rows[np.diff(rows // len(CONFIDENCES), prepend=-1) > 0], len(CONFIDENCES))
    rows, target = np.divmod(rows, chunks)
    edge, source = np.divmod(rows, chunks)
    return Edges(source, target, edge, confidence)
