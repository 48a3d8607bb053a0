"""Groups sequences into microbatches: lengths come in, groups of consecutive sequences come out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from megacpp_assets.contract.errors import PackOverflow, SpecError


@dataclass(frozen=True, slots=True)
class Limit:
    """A further limit of groups: `counts` has what each sequence has of `what`, and a group has at most `most`."""

    what: str
    counts: Sequence[int]
    most: int


def groups_in_order(
    lengths: Sequence[int], *, capacity: int, multiple: int, limits: Sequence[Limit] = ()
) -> list[range]:
    """Return groups of consecutive sequences, in order, with at most `capacity` tokens each, and within `limits`.

    A group is filled until the next sequence does not fit. Then groups are split until their number is a multiple of
    `multiple`: each time the group with the most tokens is cut where its halves are most equal. Raises `PackOverflow`
    if a sequence alone exceeds the capacity or a limit, and `SpecError` if there are fewer sequences than groups.
    """
    all_limits = (Limit("tokens", lengths, capacity), *limits)
    for limit in all_limits:
        _require_within(limit)
    groups = _filled(all_limits)
    wanted = math.ceil(len(groups) / multiple) * multiple
    if wanted > len(lengths) or not lengths:
        do = "give a larger global batch"
        raise SpecError("global batch", expected=f"at least {wanted or multiple} sequences", found=len(lengths), do=do)
    sums = list(accumulate(lengths, initial=0))
    while len(groups) < wanted:
        place = max(
            range(len(groups)), key=lambda i: (len(groups[i]) > 1, sums[groups[i].stop] - sums[groups[i].start])
        )
        groups[place : place + 1] = _halves(groups[place], sums)
    return groups


def _require_within(limit: Limit) -> None:
    if max(limit.counts, default=0) > limit.most:
        largest = max(range(len(limit.counts)), key=limit.counts.__getitem__)
        do = "give ranks more tokens, or shorter sequences"
        expected, found = f"at most {limit.most} {limit.what} in a microbatch", f"{limit.counts[largest]} {limit.what}"
        raise PackOverflow(f"sequence {largest}", expected=expected, found=found, do=do)


def _filled(limits: Sequence[Limit]) -> list[range]:
    sizes = list(zip(*(limit.counts for limit in limits), strict=True))
    groups, start, filled = [], 0, [0] * len(limits)
    for place, size in enumerate(sizes):
        filled = [have + more for have, more in zip(filled, size, strict=True)]
        if any(have > limit.most for have, limit in zip(filled, limits, strict=True)):
            groups.append(range(start, place))
            start, filled = place, list(size)
    return [*groups, range(start, len(sizes))] if sizes else []


def _halves(group: range, sums: Sequence[int]) -> list[range]:
    middle = sums[group.start] + sums[group.stop]
    cut = min(range(group.start + 1, group.stop), key=lambda place: abs(2 * sums[place] - middle))
    return [range(group.start, cut), range(cut, group.stop)]
