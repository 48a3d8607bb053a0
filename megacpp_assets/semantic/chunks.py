"""Semantic chunks of a file: its outline cut into flat, ascending, non-overlapping spans, grouped into roots.

A root is what gets a document of its own: a function definition; a class with everything in it (its larger inline
methods are chunks of their own); or a run of small declarations and macros that stand together. Every definition of
the file lies in exactly one root.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic.comments import CommentIndex
from megacpp_assets.semantic.file_outline import FileOutline
from megacpp_assets.semantic.kinds import MACRO_USE
from megacpp_assets.semantic.lexer import Lexed
from megacpp_assets.semantic.outline import BODY, CLASS, FUNCTION, NAMESPACE, TYPEDEF, Node, Role

METHOD_BYTES = 160
"""An inline method of at least this size is a chunk of its own; 128 chunks must suffice for 4096 tokens."""
MERGE_BYTES = 400
"""Small declarations of one kind are merged until they reach this."""
RUN_BYTES = 4000
"""A run of small declarations ends here."""
RUN_GAP_BYTES = 1000

_KIND_OF_ROLE = {
    Role.FUNCTION: "func_body",
    Role.CLASS: "class_decl",
    Role.TYPEDEF: "typedef",
    Role.PROTOTYPE: "func_sig",
    Role.USING: "preamble",
    Role.MEMBER: "class_member",
    Role.VARIABLE: "other",
    Role.OTHER: "other",
}
_WORD = re.compile(rb"[0-9A-Z_a-z\x7f-\xff]")
_RANK = {role: rank for rank, role in enumerate(_KIND_OF_ROLE)}


class Chunk(NamedTuple):
    """Byte range [start, end), category name, qualified name.

    `unit` is the range of chunk indices that stands in for this chunk as a dependency: itself, or its whole class.
    """

    start: int
    end: int
    kind: str
    name: str
    unit: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Root:
    """Chunks [first, last) of the file, contiguous in its text; `name` and `kind` are the leading chunk's."""

    first: int
    last: int
    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class FileChunks:
    """Chunks in file order and the roots that partition them."""

    chunks: tuple[Chunk, ...]
    roots: tuple[Root, ...]


class _Group(NamedTuple):
    """Declarations that overlap in the text: one class with its members, one function, one macro, ..."""

    start: int
    end: int
    nodes: tuple[Node, ...]
    kind: str
    name: str
    major: bool


def chunk_file(code: bytes, lexed: Lexed, outline: FileOutline) -> FileChunks:
    """Cut a file into chunks and roots."""
    comments = CommentIndex(code, lexed)
    chunks: list[Chunk] = []
    roots: list[Root] = []
    run: list[_Group] = []
    for group in _with_comments(_groups(code, lexed, outline), comments):
        if run and (group.major or _breaks_run(run, group)):
            _close_run(run, chunks, roots, outline)
        if not group.major:
            run.append(group)
            continue
        first = len(chunks)
        chunks.extend(_class_chunks(code, group, comments, first))
        roots.append(Root(first, len(chunks), group.name, group.kind))
    if run:
        _close_run(run, chunks, roots, outline)
    return FileChunks(tuple(chunks), tuple(roots))


def _groups(code: bytes, lexed: Lexed, outline: FileOutline) -> list[_Group]:
    """Top-level declarations, overlapping ones together, and the macros between them, in file order."""
    held: list[list[Node]] = []
    end = -1
    for node in outline.nodes:
        if node.role is NAMESPACE or node.role is BODY:
            continue
        if node.start >= end:
            held.append([])
        held[-1].append(node)
        end = max(end, node.end)
    groups = [_group(nodes) for nodes in held]
    groups += _macros(
        code, lexed, np.array([(group.start, group.end) for group in groups], dtype=np.int64).reshape(-1, 2)
    )
    solid = [group for group in groups if _has_word(code[group.start : group.end])]
    return _prefixed(code, sorted(solid, key=lambda group: group.start))


def _macros(code: bytes, lexed: Lexed, taken: NDArray[np.int64]) -> Iterator[_Group]:
    """Macro definitions outside the `taken` ranges; a file's include guard is none."""
    starts = lexed.directives[:, 0]
    place = np.searchsorted(taken[:, 0], starts, side="right") - 1
    free = np.append(taken[:, 1], -1)[place] <= starts  # place -1 is that of the last one, which ends before all
    guard = _words(code, lexed, 0)[:1] if lexed.names and lexed.names[0] == "ifndef" else []
    for number in np.flatnonzero(free).tolist():
        if lexed.names[number] != "define":
            continue
        start, end = lexed.directives[number].tolist()
        words = _words(code, lexed, number)
        if words and not (number == 1 and words == guard):
            yield _Group(start, end, (), "preamble", words[0].split(b"(")[0].decode(errors="replace"), False)


def _words(code: bytes, lexed: Lexed, number: int) -> list[bytes]:
    """The first word behind the name of a directive, and the rest."""
    start, end = lexed.directives[number].tolist()
    return code[start:end].partition(lexed.names[number].encode() or b"#")[2].split(None, 1)


def _prefixed(code: bytes, groups: list[_Group]) -> list[_Group]:
    """`groups` in which a bare macro right before a declaration (MY_EXPORT) is that declaration's beginning."""
    result: list[_Group] = []
    for group in groups:
        last = result[-1] if result else None
        if last is not None and last.nodes and last.nodes[0].kind == MACRO_USE and group.nodes:
            between = code[last.end : group.start]
            if code[last.end - 1 : last.end] not in b";)" and not between.strip() and between.count(b"\n") < 2:
                result[-1] = group._replace(start=last.start)
                continue
        result.append(group)
    return result


def _group(nodes: Sequence[Node]) -> _Group:
    lead = nodes[0]
    if len(nodes) > 1:
        lead = min(nodes, key=lambda node: (_RANK[node.role], not node.definition, node.start, -node.end))
    if lead.role is CLASS and not lead.definition and any(node.role is TYPEDEF for node in nodes):
        lead = next(node for node in nodes if node.role is TYPEDEF)
    holders = [node for node in nodes if node.role is CLASS and node.definition and node.start <= lead.start]
    if lead.role is FUNCTION and holders and holders[0].end >= lead.end:
        lead = holders[0]
    name = lead.name
    if not name or name.endswith(")"):
        name = next((node.name for node in nodes if node.name and not node.name.endswith(")")), name)
    end = max(node.end for node in nodes)
    major = lead.role is FUNCTION or (lead.role is CLASS and lead.definition)
    return _Group(nodes[0].start, end, tuple(nodes), _KIND_OF_ROLE[lead.role], name, major)


def _with_comments(groups: list[_Group], comments: CommentIndex) -> Iterator[_Group]:
    floor = 0
    for index, group in enumerate(groups):
        ceiling = groups[index + 1].start if index + 1 < len(groups) else comments.size
        end = min(comments.trailing(group.end), ceiling)
        start = comments.leading(group.start, floor)
        yield group if (start, end) == (group.start, group.end) else group._replace(start=start, end=end)
        floor = end


def _class_chunks(code: bytes, group: _Group, comments: CommentIndex, first: int) -> list[Chunk]:
    """A function is one chunk; a class is its larger inline methods and the stretches between them."""
    methods: list[tuple[int, int, str]] = []
    reached = group.start
    for node in group.nodes if group.kind == "class_decl" else ():
        if node.role is FUNCTION and node.end - node.start >= METHOD_BYTES and node.start >= reached:
            start, reached = comments.leading(node.start, reached), node.end
            methods.append((start, reached, node.name))
    pieces: list[tuple[int, int, str, str]] = []
    at = group.start
    for start, end, name in [*methods, (group.end, group.end, "")]:
        between = code[at:start]
        if _has_word(between):
            pieces.append((at, start, "class_member" if pieces else group.kind, group.name))
        elif start == group.end and between.strip():
            pieces.append((at, start, group.kind, group.name))
        if end > start:
            pieces.append((start, end, "func_body", name))
        at = end
    whole = (first, first + len(pieces))
    inline = {start for start, _, _ in methods}
    return [
        Chunk(*_stripped(code, start, end), kind, name, (first + n, first + n + 1) if start in inline else whole)
        for n, (start, end, kind, name) in enumerate(pieces)
    ]


def _has_word(text: bytes) -> bool:
    return _WORD.search(text) is not None


def _stripped(code: bytes, start: int, end: int) -> tuple[int, int]:
    text = code[start:end]
    return start + len(text) - len(text.lstrip()), start + len(text.rstrip())


def _breaks_run(run: list[_Group], group: _Group) -> bool:
    return group.end - run[0].start > RUN_BYTES or group.start - run[-1].end > RUN_GAP_BYTES


def _close_run(run: list[_Group], chunks: list[Chunk], roots: list[Root], outline: FileOutline) -> None:
    """Turn the run into one root; neighbours of one kind with nothing but comments between them share a chunk."""
    first = len(chunks)
    for group in run:
        last = chunks[-1] if len(chunks) > first else None
        near = last is not None and last.kind == group.kind and last.end - last.start < MERGE_BYTES
        if last is not None and near and not outline.parted(last.end, group.start):
            chunks[-1] = last._replace(end=group.end)
        else:
            index = len(chunks)
            chunks.append(Chunk(group.start, group.end, group.kind, group.name, (index, index + 1)))
    roots.append(Root(first, len(chunks), run[0].name, run[0].kind))
    run.clear()
