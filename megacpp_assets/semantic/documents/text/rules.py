"""The rules for a document. The stage applies them before it writes a document, and the checks apply them again.

In: a document and the bytes of the commit's files. Out: "" if the rule holds, else the place that breaks it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from megacpp_assets.contract.names import CONTEXT_ROLE, ROOT_ROLE, SYNTHETIC_ROLE
from megacpp_assets.semantic.documents.standard_names import HEADERS
from megacpp_assets.semantic.documents.text.constituents import Boundary, Constituent

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
    openings: set[str] = set()
    slices = [text[part.char_start : part.char_end] for part in shown.constituents]
    files = {part.filepath: data(part.filepath) for part in shown.constituents}
    for part, found in zip(shown.constituents, slices, strict=True):
        stored = files[part.filepath][part.byte_start : part.byte_end]
        gap = text[at : part.char_start]
        is_equal = found.encode(part.encoding, "replace") == stored
        if not is_equal or not stored or part.char_start < at or not _joins(gap, openings, slices, files.values()):
            return _place(part)
        openings.update(line.strip() for line in found.splitlines())
        at = part.char_end
    return "" if _joins(text[at:], openings, slices, files.values()) else f"character {at}"


def _joins(gap: str, openings: AbstractSet[str], slices: Sequence[str], files: Collection[bytes]) -> bool:
    """Return whether characters that are in no file may join slices: line ends; ends of declarations, classes and
    namespaces; access labels; includes of standard headers; `openings` that came before; signatures of what one of the
    `slices` defines. A macro may close what a macro opened, if one of the `files` closes it in this way.
    """
    lines = {line.strip() for line in gap.splitlines()} - openings - {""}
    odd = [line for line in lines if not _is_joint(line) and not _begins_a_line(line, slices)]
    if not odd:
        return True
    closings = all(_CLOSING_MACRO.fullmatch(line) and any(line.encode() in file for file in files) for line in odd)
    return closings and any(map(_OPENING_MACRO.fullmatch, openings))


def _is_joint(line: str) -> bool:
    include = _INCLUDE.fullmatch(line)
    return include[1] in HEADERS if include else _JOINT.fullmatch(line) is not None


def _begins_a_line(declared: str, slices: Sequence[str]) -> bool:
    """Return whether a line of `slices` begins with `declared`. Of a typedef, each part must begin a line."""
    known = declared.removesuffix(";")
    lines = [line.lstrip() for text in slices for line in text.splitlines()]
    if any(line.startswith(known) for line in lines):
        return True
    typedef = _TYPEDEF_AHEAD.fullmatch(declared)
    return typedef is not None and all(
        any(line.lstrip("} \t").startswith(part) for line in lines) for part in typedef.groups()
    )


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
    roles, at, has_root = shown.roles, 0, False
    for part in shown.constituents:
        own = roles[part.char_start : part.char_end]
        first = int(own[0]) if len(own) else SYNTHETIC_ROLE
        if first not in (ROOT_ROLE, CONTEXT_ROLE) or (own != first).any():
            return _place(part)
        if (roles[at : part.char_start] != SYNTHETIC_ROLE).any():
            return f"character {at}"
        at, has_root = part.char_end, has_root or first == ROOT_ROLE
    if len(roles) != len(shown.text) or (roles[at:] != SYNTHETIC_ROLE).any():
        return f"character {at}"
    return "" if has_root else "no root"


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
