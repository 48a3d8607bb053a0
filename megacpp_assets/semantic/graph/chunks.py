"""Cuts the outline of a file into chunks, which are ascending spans that do not overlap, and groups them into roots.

Documents are made for roots. A root is a function definition, a class with all of its members (its larger inline
methods are chunks of their own), or a run of small declarations and macros next to each other. Every definition of the
file is in exactly one root.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from megacpp_assets.semantic.graph.groups import Group, groups_of, has_word
from megacpp_assets.semantic.graph.preprocessor.conditionals import Stretch, conditionals_of, stretches
from megacpp_assets.semantic.outline.comments import CommentIndex
from megacpp_assets.semantic.outline.file_outline import FileOutline
from megacpp_assets.semantic.outline.lexer import Lexed, level_after
from megacpp_assets.semantic.outline.nodes import Role

RUN_BYTES = 4000
"""The maximum size of a run of small declarations."""
RUN_GAP_BYTES = 1000


class Chunk(NamedTuple):
    """A chunk: byte range [start, end), category name, qualified name.

    `unit` is the range of chunks that a document shows if it depends on this one: the chunk itself, or its whole class.
    """

    start: int
    end: int
    kind: str
    name: str
    unit: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Root:
    """Chunks [first, last) of the file, which are contiguous in its text. `name` and `kind` are those of the first one.

    Bytes [start, end) are those of the chunks, and of a preprocessor conditional that contains only them.
    """

    first: int
    last: int
    name: str
    kind: str
    start: int
    end: int


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
    borders = _borders(outline)
    groups = list(_with_comments(groups_of(code, lexed, outline.nodes), comments))
    for run in _runs(stretches(groups, conditionals_of(code, lexed), borders, comments), lexed, borders):
        first, members = len(chunks), [group for stretch in run for group in stretch.groups]
        if run[0].major:
            chunks.extend(_class_chunks(code, members[0], comments, first))
        else:
            chunks.extend(_run_chunks(members, first))
        start = run[0].start if run[0].start < members[0].start else chunks[first].start
        end = run[-1].end if run[-1].end > members[-1].end else chunks[-1].end
        roots.append(Root(first, len(chunks), members[0].name, members[0].kind, start, end))
    return FileChunks(tuple(chunks), tuple(roots))


def _runs(found: Iterator[Stretch], lexed: Lexed, borders: list[int]) -> Iterator[list[Stretch]]:
    """Yield the stretches of each root: one function or class, or small declarations next to each other."""
    run: list[Stretch] = []
    for stretch in found:
        if run and (stretch.major or _breaks_run(run, stretch, borders)):
            yield from _whole(run, lexed)
            run = []
        if stretch.major:
            yield [stretch]
        else:
            run.append(stretch)
    yield from _whole(run, lexed)


def _whole(run: list[Stretch], lexed: Lexed) -> Iterator[list[Stretch]]:
    """Yield `run` in the longest parts that do not split a preprocessor conditional."""
    while run:
        level, end = 0, 1
        for number, stretch in enumerate(run):
            level = level_after(lexed, run[number - 1].end if number else stretch.start, stretch.end, level)
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
    """Return the chunk of a function, or the chunks of a class: its larger inline methods and the text between them."""
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
    """Return the offsets at which namespaces begin and end."""
    spaces = outline.nodes.take(outline.nodes.role == Role.NAMESPACE)
    return sorted([*spaces.start.tolist(), *spaces.end.tolist()])


def _breaks_run(run: list[Stretch], group: Stretch, borders: list[int]) -> bool:
    crosses = bisect_left(borders, group.start + 1) > bisect_left(borders, run[-1].end)
    return crosses or group.end - run[0].start > RUN_BYTES or group.start - run[-1].end > RUN_GAP_BYTES


def _run_chunks(run: list[Group], first: int) -> list[Chunk]:
    """Return the chunks of a run, one for each declaration or macro."""
    return [Chunk(group.start, group.end, group.kind, group.name, (n, n + 1)) for n, group in enumerate(run, first)]
