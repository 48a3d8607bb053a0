"""Groups sequences into microbatches: lengths come in, groups of consecutive sequences come out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

from megacpp_assets.contract.errors import PackOverflow, SpecError


def groups_in_order(lengths: Sequence[int], *, capacity: int, multiple: int) -> list[range]:
    """Return groups of consecutive sequences, in order, with at most `capacity` tokens each.

    A group is filled until the next sequence does not fit. Then groups are split until their number is a multiple of
    `multiple`: each time the group with the most tokens is cut where its halves are most equal. Raises `PackOverflow`
    if a sequence is longer than the capacity, and `SpecError` if there are fewer sequences than groups.
    """
    if max(lengths, default=0) > capacity:
        longest = max(range(len(lengths)), key=lengths.__getitem__)
        do = "give ranks more tokens, or shorter sequences"
        expected, found = f"at most {capacity} tokens in a microbatch", f"{lengths[longest]} tokens"
        raise PackOverflow(f"sequence {longest}", expected=expected, found=found, do=do)
    groups = _filled(lengths, capacity)
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


def _filled(lengths: Sequence[int], capacity: int) -> list[range]:
    groups, start, tokens = [], 0, 0
    for place, length in enumerate(lengths):
        if tokens + length > capacity:
            groups.append(range(start, place))
            start, tokens = place, 0
        tokens += length
    return [*groups, range(start, len(lengths))] if lengths else []


def _halves(group: range, sums: Sequence[int]) -> list[range]:
    middle = sums[group.start] + sums[group.stop]
    cut = min(range(group.start + 1, group.stop), key=lambda place: abs(2 * sums[place] - middle))
    return [range(group.start, cut), range(cut, group.stop)]
