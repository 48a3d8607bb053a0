"""Semantic chunks of a file: its outline cut into flat, ascending, non-overlapping spans, grouped into roots.

A root is what gets a document of its own: a function definition; a class with everything in it (its larger inline
methods are chunks of their own); or a run of small declarations and macros that stand together. Every definition of
the file lies in exactly one root.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from megacpp_assets.semantic.graph.groups import Group, groups_of, has_word
from megacpp_assets.semantic.outline.comments import CommentIndex
from megacpp_assets.semantic.outline.file_outline import FileOutline
from megacpp_assets.semantic.outline.lexer import Lexed, level_behind
from megacpp_assets.semantic.outline.nodes import Role

MERGE_BYTES = 400
"""Small declarations of one kind are merged until they reach this."""
RUN_BYTES = 4000
"""A run of small declarations ends here."""
RUN_GAP_BYTES = 1000


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


def chunk_file(code: bytes, lexed: Lexed, outline: FileOutline) -> FileChunks:
    """Cut a file into chunks and roots."""
    comments = CommentIndex(code, lexed)
    chunks: list[Chunk] = []
    roots: list[Root] = []
    for run in _runs(_with_comments(groups_of(code, lexed, outline.nodes), comments), lexed, _borders(outline)):
        first = len(chunks)
        if run[0].major:
            chunks.extend(_class_chunks(code, run[0], comments, first))
        else:
            chunks.extend(_run_chunks(run, first, outline))
        roots.append(Root(first, len(chunks), run[0].name, run[0].kind))
    return FileChunks(tuple(chunks), tuple(roots))


def _runs(groups: Iterator[Group], lexed: Lexed, borders: list[int]) -> Iterator[list[Group]]:
    """What makes a root each: a function or a class alone, or small declarations that stand together."""
    run: list[Group] = []
    for group in groups:
        if run and (group.major or _breaks_run(run, group, borders)):
            yield from _whole(run, lexed)
            run = []
        if group.major:
            yield [group]
        else:
            run.append(group)
    yield from _whole(run, lexed)


def _whole(run: list[Group], lexed: Lexed) -> Iterator[list[Group]]:
    """`run` in parts none of which holds half a conditional of the preprocessor, as long as they can be."""
    while run:
        level, end = 0, 1
        for number, group in enumerate(run):
            level = level_behind(lexed, run[number - 1].end if number else group.start, group.end, level)
            if level < 0:
                break
            end = end if level else number + 1
        yield run[:end]
        run = run[end:]


def _with_comments(groups: list[Group], comments: CommentIndex) -> Iterator[Group]:
    floor = 0
    for index, group in enumerate(groups):
        ceiling = groups[index + 1].start if index + 1 < len(groups) else comments.size
        end = min(comments.trailing(group.end), ceiling)
        start = comments.leading(group.start, floor)
        yield group if (start, end) == (group.start, group.end) else group._replace(start=start, end=end)
        floor = end


def _class_chunks(code: bytes, group: Group, comments: CommentIndex, first: int) -> list[Chunk]:
    """A function is one chunk; a class is its larger inline methods and the stretches between them."""
    if not group.methods:
        return [Chunk(*_stripped(code, group.start, group.end), group.kind, group.name, (first, first + 1))]
    methods: list[tuple[int, int, str]] = []
    reached = group.start
    for start, end, name in group.methods:
        if start >= reached:
            methods.append((comments.leading(start, reached), end, name))
            reached = end
    pieces: list[tuple[int, int, str, str]] = []
    at = group.start
    for start, end, name in [*methods, (group.end, group.end, "")]:
        between = code[at:start]
        if has_word(between):
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


def _stripped(code: bytes, start: int, end: int) -> tuple[int, int]:
    text = code[start:end]
    return start + len(text) - len(text.lstrip()), start + len(text.rstrip())


def _borders(outline: FileOutline) -> list[int]:
    """Where namespaces begin and end."""
    spaces = outline.nodes.take(outline.nodes.role == Role.NAMESPACE)
    return sorted([*spaces.start.tolist(), *spaces.end.tolist()])


def _breaks_run(run: list[Group], group: Group, borders: list[int]) -> bool:
    crosses = bisect_left(borders, group.start + 1) > bisect_left(borders, run[-1].end)
    return crosses or group.end - run[0].start > RUN_BYTES or group.start - run[-1].end > RUN_GAP_BYTES


def _run_chunks(run: list[Group], first: int, outline: FileOutline) -> list[Chunk]:
    """The chunks of a run; neighbours of one kind with nothing but comments between them share one."""
    chunks: list[Chunk] = []
    for group in run:
        last = chunks[-1] if chunks else None
        near = last is not None and last.kind == group.kind and last.end - last.start < MERGE_BYTES
        if last is not None and near and not outline.parted(last.end, group.start):
            chunks[-1] = last._replace(end=group.end)
        else:
            index = first + len(chunks)
            chunks.append(Chunk(group.start, group.end, group.kind, group.name, (index, index + 1)))
    return chunks
