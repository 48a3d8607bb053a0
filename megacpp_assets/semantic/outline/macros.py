"""Assigns macro invocations, attributes and template heads to declarations.

One before a declaration on the same line becomes its beginning. A macro that stands alone is a declaration of its own.
A macro that opens or closes a namespace is part of the namespace's text.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic.outline import kinds as k
from megacpp_assets.semantic.outline.lexer import Lexed, inside
from megacpp_assets.semantic.outline.nodes import Node, Outline, Role
from megacpp_assets.semantic.outline.openings import in_opening
from megacpp_assets.semantic.outline.ranges import among, paint
from megacpp_assets.semantic.parsing.parsed import Cursors

_ATTRIBUTE = re.compile(rb"\[\[[^\[\]]*\]\]|__attribute__\s*\(\([^;{}]{0,400}?\)\)|__declspec\s*\([^;{}()]*\)")
_GAP = re.compile(rb"(?:[ \t\r\n\f\v]|//[^\n]*|/\*[\s\S]*?\*/)*")
_ATTRIBUTE_MARKS = (b"[[", b"__attribute__", b"__declspec")
_TEMPLATE = re.compile(rb"template\s*<")
_NO_TEMPLATE = re.compile(rb"[\w.:>]")
"""After one of these bytes, `template` does not begin a template head."""
_BRACKET = re.compile(rb"->|[<>()\[\]{};]")
_CLOSING = {b"<": b">", b"(": b")", b"[": b"]", b"{": b"}"}
_FARTHEST, _DEEPEST = 4000, 32
"""The maximum length of a template head, and the maximum nesting of its brackets."""
_NAME = re.compile(rb"[A-Za-z_]\w*")
NO_USES = np.empty((0, 2), dtype=np.int64)
"""The invocations of a file that has none."""
_HOLDS = np.isin(list(Role), (Role.NAMESPACE, Role.CLASS))
_CLASS_KIND = k.membership(k.CLASSES)


def invocations(lexed: Lexed, cursors: Cursors) -> NDArray[np.int64]:
    """Return the ranges of macro invocations outside of directives and other invocations: (n, 2), ascending."""
    uses = np.flatnonzero((cursors.kind == k.MACRO_USE) & (cursors.end > cursors.start))
    ranges = np.stack([cursors.start[uses], cursors.end[uses]], axis=1).astype(np.int64)
    ranges = ranges[~inside(lexed.directives, ranges[:, 0])]
    ranges = ranges[np.lexsort((-ranges[:, 1], ranges[:, 0]))]
    reached = np.maximum.accumulate(np.append(0, ranges[:, 1]))[:-1]
    return ranges[ranges[:, 0] >= reached]


def prefixes(code: bytes, lexed: Lexed) -> NDArray[np.int64]:
    """Return the ranges of attributes and template heads outside of comments and directives: (n, 2)."""
    marked = any(mark in code for mark in _ATTRIBUTE_MARKS)
    spans = [match.span() for match in _ATTRIBUTE.finditer(code)] if marked else []
    heads = (match.span() for match in _TEMPLATE.finditer(code))
    heads = ((start, end) for start, end in heads if not start or not _NO_TEMPLATE.match(code, start - 1))
    spans += [(start, stop) for start, end in heads if (stop := _head_end(code, end - 1))]
    found = np.array(spans, dtype=np.int64).reshape(-1, 2)
    return found[~(inside(lexed.comments, found[:, 0]) | inside(lexed.directives, found[:, 0]))]


def _head_end(code: bytes, opening: int) -> int:
    """Return the offset after the `>` that closes the `<` at `opening`; 0 if brackets do not match."""
    opened: list[bytes] = []
    for match in _BRACKET.finditer(code, opening, opening + _FARTHEST):
        mark = match[0]
        if mark in _CLOSING and (mark != b"<" or not opened or opened[-1] == b"<"):
            opened.append(mark)
        elif mark == _CLOSING[opened[-1]]:
            opened.pop()
        elif mark not in b"<->":
            break
        if not opened:
            return match.end()
        if len(opened) > _DEEPEST:
            break
    return 0


def macro_made(cursors: Cursors, chosen: NDArray[np.int64], uses: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which cursors are `chosen` and declared by a macro itself: inside an invocation, not in its arguments."""
    made = np.zeros(len(cursors.kind), dtype=bool)
    if len(uses):
        start, end = cursors.start[chosen], cursors.end[chosen]
        first, last = uses[np.maximum(np.searchsorted(uses[:, 0], start, side="right") - 1, 0)].T
        made[chosen] = (first <= start) & (end <= last) & ((start == first) | (end == last))
    return made


@dataclass(frozen=True, slots=True)
class MacroNames:
    """`known` are the macros that a file invokes, `spaces` those among them that open or close a namespace."""

    known: frozenset[bytes] = frozenset()
    spaces: frozenset[bytes] = frozenset()


def macro_names(code: bytes, uses: NDArray[np.int64], outline: Outline) -> MacroNames:
    """Return the macros that `code` invokes at `uses`."""
    names = [_NAME.match(code, start) for start in uses[:, 0].tolist()]
    borders = _borders(uses, outline).tolist()
    return MacroNames(
        frozenset(name[0] for name in names if name),
        frozenset(name[0] for name, border in zip(names, borders, strict=True) if name and border),
    )


def _borders(uses: NDArray[np.int64], outline: Outline) -> NDArray[np.bool_]:
    """Return which of `uses` open or close a namespace."""
    spaces = outline.role == Role.NAMESPACE
    ends = np.sort(outline.end[spaces])
    first, last = np.searchsorted(ends, uses[:, 0], side="right"), np.searchsorted(ends, uses[:, 1], side="right")
    return among(uses[:, 0], outline.start[spaces]) | (first < last)


def with_whole_borders(uses: NDArray[np.int64], outline: Outline) -> Outline:
    """Return `outline` with namespaces that include the whole macro invocation that opens or closes them.

    `HIDDEN(namespace detail {)` opens a namespace in its arguments: the namespace then begins at the invocation. Other
    declarations of such an invocation are removed, because all of its text belongs to the namespace.
    """
    spaces = outline.role == Role.NAMESPACE
    if not len(uses) or not spaces.any():
        return outline
    start, end = outline.start.copy(), outline.end.copy()
    start[spaces] = np.where(_inside(uses, start[spaces]), _use_of(uses, start[spaces])[:, 0], start[spaces])
    end[spaces] = np.where(_inside(uses, end[spaces] - 1), _use_of(uses, end[spaces] - 1)[:, 1], end[spaces])
    outline = replace(outline, start=start, end=end)
    bordering = uses[_borders(uses, outline)]
    if not len(bordering):
        return outline
    first, last = _use_of(bordering, start).T
    return outline.take(spaces | (start < first) | (end > last))


def _use_of(uses: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each of `offsets` the last of `uses` that begins at or before it; the first one if there is none."""
    return uses[np.maximum(np.searchsorted(uses[:, 0], offsets, side="right") - 1, 0)]


def _inside(uses: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    found = _use_of(uses, offsets)
    return np.asarray((found[:, 0] <= offsets) & (offsets < found[:, 1]))


def next_solid(code: bytes, offset: int) -> int:
    """Return the offset of the next text that is neither space nor comment."""
    match = _GAP.match(code, offset)
    return match.end() if match else offset


def with_macros(code: bytes, uses: NDArray[np.int64], before: NDArray[np.int64], outline: Outline) -> Outline:
    """Extend the nodes of `outline` to the macros and attributes before them; add macros that stand alone as nodes.

    An invocation (`uses`) belongs to a node that follows on the same line. An attribute or a template head (`before`)
    belongs to the next node on any line.
    """
    outline, linkages = _without_bare_linkage(outline)
    before = np.concatenate([before, linkages])
    if not (len(uses) or len(before)):
        return outline
    candidates = _candidates(code, uses, before, outline)
    following = [next_solid(code, candidate.end) for candidate in candidates]
    at_start = _starting_at(following, outline)
    starts = outline.start.copy()
    alone: list[Node] = []
    for (start, end, belongs, holder), after in zip(candidates, following, strict=True):
        if after in at_start and (belongs or b"\n" not in code[end:after]):
            at_start[start] += at_start[after]
            starts[at_start[after]] = start
        elif not belongs:
            stop = after + 1 if code[after : after + 1] == b";" else end
            role = Role.MEMBER if holder is not None and holder.role is Role.CLASS else Role.OTHER
            alone.append(Node(start, stop, role, holder.depth + 1 if holder else 1, "", kind=k.MACRO_USE))
    return replace(outline, start=starts).joined(Outline.of(alone))


class _Candidate(NamedTuple):
    """A range that may begin a declaration or be one. `belongs`: it belongs to the next declaration on any line."""

    start: int
    end: int
    belongs: bool
    holder: Node | None


def _candidates(code: bytes, uses: NDArray[np.int64], before: NDArray[np.int64], outline: Outline) -> list[_Candidate]:
    """Return `before` and those of `uses` that do not open or close a namespace, the last one first.

    Only places where a declaration may be are used: outside of all nodes except namespaces and the braces of classes.
    """
    uses = uses[~_borders(uses, outline)]
    ranges = np.concatenate([uses, before])
    belongs = np.arange(len(ranges)) >= len(uses)
    holders = innermost(len(code), outline)[ranges[:, 0]]
    held = np.flatnonzero(_HOLDS[np.append(outline.role, np.uint8(Role.NAMESPACE))[holders]])
    last_first = held[np.lexsort((belongs[held], ranges[held, 1], ranges[held, 0]))[::-1]]
    columns = (ranges[last_first, 0], ranges[last_first, 1], belongs[last_first], holders[last_first])
    found = []
    for start, end, after, number in zip(*(column.tolist() for column in columns), strict=True):
        holder = outline[number] if number >= 0 else None
        if holder is None or between(code, holder, start):
            found.append(_Candidate(start, end, after, holder))
    return found


def _starting_at(places: Sequence[int], outline: Outline) -> defaultdict[int, list[int]]:
    """Return the numbers of the nodes that begin at each of `places`, without namespaces and bodies."""
    numbers = np.flatnonzero((outline.role != Role.NAMESPACE) & (outline.role != Role.BODY))
    numbers = numbers[among(outline.start[numbers], np.array(places, dtype=np.int64))]
    found: defaultdict[int, list[int]] = defaultdict(list)
    for number, start in zip(numbers.tolist(), outline.start[numbers].tolist(), strict=True):
        found[start].append(number)
    return found


def innermost(size: int, outline: Outline) -> NDArray[np.int32]:
    """Return the innermost node of each of `size` bytes, or -1."""
    return paint(size, outline.start, outline.end, outline.depth)


def between(code: bytes, holder: Node, offset: int) -> bool:
    """Return whether `offset`, which `holder` owns, is between the braces of a namespace or a class."""
    if holder.role is Role.NAMESPACE:
        return not in_opening(code, holder, offset)
    return holder.role is Role.CLASS and code.find(b"{", holder.start, offset) >= 0


def _without_bare_linkage(outline: Outline) -> tuple[Outline, NDArray[np.int64]]:
    """Return the outline without each `extern "C"` that has no braces, and the ranges of these words."""
    linkages = np.flatnonzero(outline.kind == k.LINKAGE)
    last: dict[int, int] = {}
    if len(linkages):
        declared = ~_HOLDS[outline.role] | _CLASS_KIND[outline.kind]
        for start, end in zip(outline.start[declared].tolist(), outline.end[declared].tolist(), strict=True):
            last[end] = min(start, last.get(end, start))
    begins = np.array([last.get(end, -1) for end in outline.end[linkages].tolist()], dtype=np.int64)
    bare = begins > outline.start[linkages]
    kept = np.ones(len(outline), dtype=bool)
    kept[linkages[bare]] = False
    ranges = np.stack([outline.start[linkages[bare]], begins[bare]], axis=1)
    return outline.take(kept) if bare.any() else outline, ranges
