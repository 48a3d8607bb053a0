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

from megacpp_assets.semantic.graph.conditionals import Stretch, conditionals_of, stretches
from megacpp_assets.semantic.graph.groups import Group, groups_of, has_word
from megacpp_assets.semantic.outline.comments import CommentIndex
from megacpp_assets.semantic.outline.file_outline import FileOutline
from megacpp_assets.semantic.outline.lexer import Lexed, level_behind
from megacpp_assets.semantic.outline.nodes import Role

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
    """Chunks [first, last) of the file, contiguous in its text; `name` and `kind` are the leading chunk's. Its bytes
    [start, end) are theirs and those of a conditional of the preprocessor that is for them alone."""

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
    """What makes a root each: a function or a class alone, or small declarations that stand together."""
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
    """`run` in parts none of which holds half a conditional of the preprocessor, as long as they can be."""
    while run:
        level, end = 0, 1
        for number, stretch in enumerate(run):
            level = level_behind(lexed, run[number - 1].end if number else stretch.start, stretch.end, level)
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


def _breaks_run(run: list[Stretch], group: Stretch, borders: list[int]) -> bool:
    crosses = bisect_left(borders, group.start + 1) > bisect_left(borders, run[-1].end)
    return crosses or group.end - run[0].start > RUN_BYTES or group.start - run[-1].end > RUN_GAP_BYTES


def _run_chunks(run: list[Group], first: int) -> list[Chunk]:
    """The chunks of a run: a declaration or a macro each."""
    return [Chunk(group.start, group.end, group.kind, group.name, (n, n + 1)) for n, group in enumerate(run, first)]
