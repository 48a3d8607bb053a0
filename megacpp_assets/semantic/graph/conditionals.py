"""Conditionals of the preprocessor around the groups of a file: what stands in an arm is read with its `#if`."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from megacpp_assets.semantic.graph.groups import Group, has_guard
from megacpp_assets.semantic.outline.comments import CommentIndex
from megacpp_assets.semantic.outline.lexer import Lexed

WHOLE_BYTES = 4000
"""Up to so many bytes besides a function or a class a conditional stays whole."""
_OPENING = frozenset({"if", "ifdef", "ifndef"})


@dataclass(frozen=True, slots=True)
class Stretch:
    """Groups that stand together, and the bytes [start, end) of all with the conditional that is theirs."""

    groups: tuple[Group, ...]
    start: int
    end: int

    @property
    def major(self) -> bool:
        """Whether it is a root of its own."""
        return self.groups[0].major


def conditionals_of(code: bytes, lexed: Lexed) -> list[tuple[int, int]]:
    """From each `#if` to the end of its `#endif`, in the order in which they open; an include guard is none."""
    opened: list[int] = []
    found = []
    for (start, end), name in zip(lexed.directives.tolist(), lexed.names, strict=True):
        if name in _OPENING:
            opened.append(start)
        elif name == "endif" and opened:
            found.append((opened.pop(), end))
    return sorted(found)[int(has_guard(code, lexed) and not opened) :]


def stretches(
    groups: Sequence[Group], conditionals: Sequence[tuple[int, int]], borders: Sequence[int], comments: CommentIndex
) -> Iterator[Stretch]:
    """`groups`, small ones that share a short conditional together, a function or class that has one for itself with
    it. Outer conditionals come before inner ones; one that holds a namespace's border is none."""
    starts, ends = [group.start for group in groups], [group.end for group in groups]
    done = 0
    for start, end in conditionals:
        first, last = bisect_right(ends, start), bisect_left(starts, end)
        if first < done or first >= last or (starts[first] <= start and end <= ends[first]):
            continue
        members = tuple(groups[first:last])
        low, high = min(start, starts[first]), max(end, ends[last - 1])
        if _belong(members, low, high) and not _within(borders, low, high):
            yield from _bare(groups[done:first])
            if low < start or high > end:
                members = _mended(members, low, high)
            yield Stretch(members, comments.leading(low, ends[first - 1] if first else 0), comments.trailing(high))
            done = last
    yield from _bare(groups[done:])


def _bare(groups: Sequence[Group]) -> Iterator[Stretch]:
    return (Stretch((group,), group.start, group.end) for group in groups)


def _mended(members: tuple[Group, ...], low: int, high: int) -> tuple[Group, ...]:
    """A group that lies across the border of its conditional, as one with it: half of it says nothing."""
    return (members[0]._replace(start=low, end=high),) if len(members) == 1 else members


def _belong(members: Sequence[Group], low: int, high: int) -> bool:
    """Whether a conditional is for these groups alone, and short but for the function or class that it holds."""
    large = sum(group.end - group.start for group in members if group.major)
    return (large == 0 or len(members) == 1) and high - low - large <= WHOLE_BYTES


def _within(borders: Sequence[int], low: int, high: int) -> bool:
    return bisect_left(borders, low + 1) != bisect_left(borders, high)
