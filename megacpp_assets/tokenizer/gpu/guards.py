"""Guard strings: cut out of the text before it is split into words, leftmost first and the longest at a place."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from megacpp_assets.tokenizer.gpu.scan import visited
from megacpp_assets.tokenizer.vocabulary.fixed import GUARD_CHARACTER


def find_guards(cells: Tensor, guards: Sequence[str]) -> tuple[Tensor, Tensor, Tensor]:
    """(start, number, length) of every guard that is cut out of `cells`, ascending. int64 each.

    Every guard holds a '>', so only the surroundings of those are looked at.
    """
    marks = torch.nonzero(cells == ord(GUARD_CHARACTER)).flatten()
    places, numbers = [marks[:0]], [marks[:0]]
    for number, guard in enumerate(guards):
        starts = marks - guard.index(GUARD_CHARACTER)
        starts = starts[(starts >= 0) & (starts + len(guard) <= len(cells))]
        for offset, byte in enumerate(guard.encode()):
            starts = starts[cells[starts + offset] == byte]
        places.append(starts)
        numbers.append(torch.full_like(starts, number))
    lengths = torch.tensor([len(guard) for guard in guards], dtype=torch.int64, device=cells.device)
    return _leftmost_longest(torch.cat(places), torch.cat(numbers), lengths)


def _leftmost_longest(places: Tensor, numbers: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Of all matches those that a scan from the left takes; matches of one place differ in length."""
    width = int(lengths.max()) + 1 if len(lengths) else 1
    order = torch.argsort(places * width + (width - 1 - lengths[numbers]))
    places, numbers = places[order], numbers[order]
    first = torch.ones_like(places, dtype=torch.bool)
    first[1:] = places[1:] != places[:-1]
    places, numbers = places[first], numbers[first]
    if len(places) == 0:
        return places, numbers, numbers
    behind = torch.searchsorted(places, places + lengths[numbers])
    jump = torch.cat([behind, behind.new_full((1,), len(places))])
    taken = visited(jump, jump.new_zeros(1))[:-1]
    return places[taken], numbers[taken], lengths[numbers[taken]]
