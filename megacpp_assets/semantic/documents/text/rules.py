"""The rules for a document. The stage applies them before it writes a document, and the checks apply them again.

In: a document and the bytes of the commit's files. Out: "" if the rule holds, else the place that breaks it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from megacpp_assets.contract.names import CONTEXT_ROLE, ROOT_ROLE, SYNTHETIC_ROLE
from megacpp_assets.semantic.documents.standard_names import HEADERS
from megacpp_assets.semantic.documents.text.constituents import Boundary, Constituent
from megacpp_assets.semantic.tree.attribute_macros import is_generated

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_JOINT: Final = re.compile(r";|[};]+(?:  // namespace .*)?|(?:public|protected|private):")
"""A line between slices: the end of a declaration, a class or a namespace, or the access label above a member."""
_INCLUDE: Final = re.compile(r"#include <([\w/.]+)>")
"""A standard header that a document needs and that its files include through other headers."""
_INVOCATION: Final = r"[A-Za-z_]\w*(?:\s*\((?:[^(){};]|\([^(){};]*\))*\))?"
_OPENING_MACRO: Final = re.compile(rf"{_INVOCATION}\s*\{{?\s*(?://.*|/\*.*)?")
_CLOSING_MACRO: Final = re.compile(rf"(?:\}}\s*)?{_INVOCATION}\s*;?")
"""Lines that may open and close a namespace by a macro, with or without a brace in the file."""

_TYPEDEF_AHEAD: Final = re.compile(r"(typedef\s+(?:struct|union)\s+\w+) ([\w\s,*]+);")
"""A typedef of a class that is defined later: the beginning of its definition, and the names after its brace."""

FileBytes = Callable[[str], bytes]
"""The bytes of a file of the commit by its path, none if the commit has no such file."""


class Shown(NamedTuple):
    """A document as the rules see it: `edges` are (user, used) over `boundaries`, `roles` has one per character."""

    text: str
    constituents: Sequence[Constituent]
    boundaries: Sequence[Boundary]
    edges: Sequence[tuple[int, int]]
    roles: NDArray[np.integer]


Rule = Callable[[Shown, FileBytes], str]


def chunks_are_ordered(shown: Shown, _: FileBytes) -> str:
    """Chunks are inside the text, ascend, have a character and do not overlap. There is at least one."""
    reached = 0
    for chunk in shown.boundaries:
        if not reached <= chunk.char_offset < chunk.char_end <= len(shown.text):
            return f"chunk at character {chunk.char_offset}"
        reached = chunk.char_end
    return "" if shown.boundaries else "no chunk"


def edges_inside_chunks(shown: Shown, _: FileBytes) -> str:
    """The ends of each edge are numbers of chunks."""
    count = len(shown.boundaries)
    wrong = (edge for edge in shown.edges if not (0 <= edge[0] < count and 0 <= edge[1] < count))
    return next((f"edge {user} to {used}" for user, used in wrong), "")


def levels_follow_edges(shown: Shown, data: FileBytes) -> str:
    """The level of a user is at least the level of what it uses. A leaf uses only itself."""
    if place := edges_inside_chunks(shown, data):
        return place
    for user, used in shown.edges:
        leading = shown.boundaries[user]
        if leading.dep_level < shown.boundaries[used].dep_level or (user != used and leading.is_leaf):
            return f"edge {user} to {used}"
    return ""


def text_is_the_commits(shown: Shown, data: FileBytes) -> str:
    """Each constituent, in its encoding, equals the bytes of its file. Between constituents are only joints and
    closings.
    """
    text, at = shown.text, 0
    slices = [text[part.char_start : part.char_end] for part in shown.constituents]
    files = {part.filepath: data(part.filepath) for part in shown.constituents}
    joints = _Joints(slices, files.values())
    for number, (part, found) in enumerate(zip(shown.constituents, slices, strict=True)):
        stored = files[part.filepath][part.byte_start : part.byte_end]
        is_equal = found.encode(part.encoding, "replace") == stored
        if not is_equal or not stored or part.char_start < at or not joints.join(text[at : part.char_start], number):
            return _place(part)
        at = part.char_end
    return "" if joints.join(text[at:], len(slices)) else f"character {at}"


class _Joints:
    """Says which characters that are in no file may join the `slices` of a document, which are of `files`.

    Most gaps are blank, so the lines of the slices are looked up only for the others.
    """

    def __init__(self, slices: Sequence[str], files: Collection[bytes]) -> None:
        self._slices = slices
        self._files = files
        self._openings: set[str] = set()
        self._opened = 0
        self._begun: tuple[list[str], list[str]] | None = None

    def join(self, gap: str, before: int) -> bool:
        """Return whether `gap` may come behind the first slices, `before` in number: line ends; ends of declarations,
        classes and namespaces; access labels; includes of standard headers; definitions of a generated header; lines of
        a slice that came before;
        signatures of what a slice defines. A macro may close what a macro opened, if one of the files closes it so.
        """
        lines = {line.strip() for line in gap.splitlines()} - {""}
        odd = [line for line in lines if not _is_joint(line)]
        if not odd:
            return True
        openings = self._openings_before(before)
        odd = [line for line in odd if line not in openings and not self._begins_a_line(line)]
        if not odd:
            return True
        closings = all(
            _CLOSING_MACRO.fullmatch(line) and any(line.encode() in file for file in self._files) for line in odd
        )
        return closings and any(map(_OPENING_MACRO.fullmatch, openings))

    def _openings_before(self, number: int) -> AbstractSet[str]:
        """Return the lines of the first `number` slices, which is no less than at the call before."""
        for found in self._slices[self._opened : number]:
            self._openings.update(line.strip() for line in found.splitlines())
        self._opened = number
        return self._openings

    def _begins_a_line(self, declared: str) -> bool:
        """Return whether a line of a slice begins with `declared`. Of a typedef, each part must begin a line."""
        if self._begun is None:
            begun = {line.lstrip() for text in self._slices for line in text.splitlines()}
            self._begun = sorted(begun), sorted({line.lstrip("} \t") for line in begun})
        lines, behind_braces = self._begun
        if _has_prefix(lines, declared.removesuffix(";")):
            return True
        typedef = _TYPEDEF_AHEAD.fullmatch(declared)
        return typedef is not None and all(_has_prefix(behind_braces, part) for part in typedef.groups())


def _has_prefix(lines: Sequence[str], prefix: str) -> bool:
    """Return whether one of `lines`, which are sorted, begins with `prefix`."""
    place = bisect_left(lines, prefix)
    return place < len(lines) and lines[place].startswith(prefix)


@lru_cache(1 << 10)
def _is_joint(line: str) -> bool:
    include = _INCLUDE.fullmatch(line)
    if include:
        return include[1] in HEADERS
    return _JOINT.fullmatch(line) is not None or is_generated(line)


def bytes_stand_once(shown: Shown, _: FileBytes) -> str:
    """No byte of a file is in a document twice."""
    parts = sorted(shown.constituents, key=lambda part: (part.filepath, part.byte_start, part.byte_end))
    twice = (
        second
        for first, second in pairwise(parts)
        if first.filepath == second.filepath and first.byte_end > second.byte_start
    )
    return next(map(_place, twice), "")


def roles_recorded(shown: Shown, _: FileBytes) -> str:
    """All characters of a constituent are of roots, or all are context. Characters of no file are synthetic. There is
    at least one root.
    """
    runs, at, has_root = _Runs(shown.roles), 0, False
    for part in shown.constituents:
        role = runs.role(part.char_start, part.char_end)
        if role not in (ROOT_ROLE, CONTEXT_ROLE):
            return _place(part)
        if at < part.char_start and runs.role(at, part.char_start) != SYNTHETIC_ROLE:
            return f"character {at}"
        at, has_root = part.char_end, has_root or role == ROOT_ROLE
    size = len(shown.text)
    if len(shown.roles) != size or (at < size and runs.role(at, size) != SYNTHETIC_ROLE):
        return f"character {at}"
    return "" if has_root else "no root"


class _Runs:
    """The runs of equal roles in a document, which are far fewer than its characters."""

    def __init__(self, roles: NDArray[np.integer]) -> None:
        self._ends = [*((roles[1:] != roles[:-1]).nonzero()[0] + 1).tolist(), len(roles)]
        self._roles = roles[[end - 1 for end in self._ends]].tolist() if len(roles) else []

    def role(self, start: int, end: int) -> int | None:
        """Return the role of the characters [start, end); None if there are several or none."""
        run = bisect_right(self._ends, start)
        return self._roles[run] if 0 <= start < end and run < len(self._ends) and end <= self._ends[run] else None


def _place(part: Constituent) -> str:
    return f"{part.filepath}:{part.byte_start}"


RULES: Final[dict[str, Rule]] = {
    "chunks_are_ordered_in_text": chunks_are_ordered,
    "edges_inside_chunks": edges_inside_chunks,
    "levels_follow_edges": levels_follow_edges,
    "text_is_the_commits": text_is_the_commits,
    "bytes_stand_once": bytes_stand_once,
    "roles_recorded": roles_recorded,
}
"""The rules, by the name of the check that applies them again."""
