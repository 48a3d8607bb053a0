"""Assigns preprocessor conditionals to the groups of a file, so that the text of an arm stays with its `#if`."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from megacpp_assets.semantic.graph.groups import Group, has_guard
from megacpp_assets.semantic.outline.comments import CommentIndex
from megacpp_assets.semantic.outline.lexer import Lexed

WHOLE_BYTES = 4000
"""A conditional is kept in one stretch if it has at most this many bytes outside of a function or class."""
_OPENING = frozenset({"if", "ifdef", "ifndef"})


@dataclass(frozen=True, slots=True)
class Stretch:
    """Groups that belong together, and the bytes [start, end) of them and of their conditional."""

    groups: tuple[Group, ...]
    start: int
    end: int

    @property
    def major(self) -> bool:
        """Return whether the stretch is a root of its own."""
        return self.groups[0].major


def conditionals_of(code: bytes, lexed: Lexed) -> list[tuple[int, int]]:
    """Return (start of `#if`, end of `#endif`) of each conditional, sorted, without the include guard."""
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
    """Yield `groups` as stretches. Groups of a short conditional form one stretch with it.

    A function or class forms one with a conditional that contains only it. Outer conditionals have priority over inner
    ones. A conditional that contains the start or end of a namespace is ignored.
    """
    starts, ends = [group.start for group in groups], [group.end for group in groups]
    done = 0
    for start, end in conditionals:
        first, last = bisect_right(ends, start), bisect_left(starts, end)
        if first < done or first >= last or (starts[first] <= start and end <= ends[first]):
            continue
        members = _with_other_arms(groups[first:last], start)
        low, high = min(start, starts[first]), max(end, ends[last - 1])
        if _belong(members, low, high) and not _within(borders, low, high):
            yield from _bare(groups[done:first])
            if low < start or high > end:
                members = _extended(members, low, high)
            yield Stretch(members, comments.leading(low, ends[first - 1] if first else 0), comments.trailing(high))
            done = last
    yield from _bare(groups[done:])


def _bare(groups: Sequence[Group]) -> Iterator[Stretch]:
    return (Stretch((group,), group.start, group.end) for group in groups)


def _with_other_arms(groups: Sequence[Group], start: int) -> tuple[Group, ...]:
    """Return `groups` without those that have no name, if the first one begins before the conditional at `start` and
    ends in it: they are how it ends in the other arms, as `: Base {};` of a class with two bases.
    """
    first, *others = groups
    crosses = first.start < start and not any(group.name for group in others)
    return (first._replace(end=others[-1].end),) if crosses and others else tuple(groups)


def _extended(members: tuple[Group, ...], low: int, high: int) -> tuple[Group, ...]:
    """Extend a single group that crosses the border of its conditional to all of it, because half of it is useless."""
    return (members[0]._replace(start=low, end=high),) if len(members) == 1 else members


def _belong(members: Sequence[Group], low: int, high: int) -> bool:
    """Return whether a conditional with these groups is short, not counting the one function or class in it."""
    large = sum(group.end - group.start for group in members if group.major)
    return (large == 0 or len(members) == 1) and high - low - large <= WHOLE_BYTES


def _within(borders: Sequence[int], low: int, high: int) -> bool:
    return bisect_left(borders, low + 1) != bisect_left(borders, high)
