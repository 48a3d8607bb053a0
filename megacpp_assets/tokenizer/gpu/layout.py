"""Texts on the device: one array, an end mark behind each text, and what every position is in UTF-8.

The end mark (256) is no byte, so whatever looks past the end of a text sees that nothing follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from megacpp_assets.tokenizer.gpu.scan import shifted

END = 256


@dataclass(frozen=True, slots=True)
class Layout:
    """`cells` (int16) holds the texts, each followed by END; text i begins at `starts[i]` (int64).

    `lead` marks the first byte of each well-formed character, `stray` bytes that belong to none (bool).
    """

    cells: Tensor
    starts: Tensor
    lead: Tensor
    stray: Tensor

    @property
    def valid(self) -> Tensor:
        """The cells with END for every stray byte: words never cross one."""
        return self.cells.masked_fill(self.stray, END)


def lay_out(texts: Sequence[bytes], device: torch.device) -> Layout:
    """The texts on `device`, with well-formedness by Unicode 15, table 3-7."""
    lengths = np.fromiter((len(text) + 1 for text in texts), dtype=np.int64, count=len(texts))
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
    host = np.empty(int(starts[-1]), dtype=np.int16)
    for text, start in zip(texts, starts.tolist(), strict=False):
        host[start : start + len(text)] = np.frombuffer(text, dtype=np.uint8)
        host[start + len(text)] = END
    cells = torch.from_numpy(host).to(device)
    lead, covered = _characters(cells)
    stray = (cells != END) & ~lead & ~covered
    return Layout(cells, torch.from_numpy(starts[:-1]).to(device), lead, stray)


def _characters(cells: Tensor) -> tuple[Tensor, Tensor]:
    """Leads of well-formed sequences, and the bytes that such a lead covers."""
    width = widths(cells)
    after = [shifted(cells, k, END) for k in range(1, 4)]
    low = _lookup(cells, 0x80, {0xE0: 0xA0, 0xF0: 0x90})
    high = _lookup(cells, 0xBF, {0xED: 0x9F, 0xF4: 0x8F})
    lead = width > 0
    lead &= (width < 2) | ((after[0] >= low) & (after[0] <= high))
    for k in (2, 3):
        lead &= (width <= k) | ((after[k - 1] >= 0x80) & (after[k - 1] <= 0xBF))
    covered = torch.zeros_like(lead)
    for k in (1, 2, 3):
        covered |= shifted(lead & (width > k), -k, fill=0)
    return lead, covered


def widths(cells: Tensor) -> Tensor:
    """Bytes of the character that each cell would lead, 0 where it leads none. int16."""
    width = torch.zeros_like(cells)
    for first, last, count in ((0, 0x7F, 1), (0xC2, 0xDF, 2), (0xE0, 0xEF, 3), (0xF0, 0xF4, 4)):
        width[(cells >= first) & (cells <= last)] = count
    return width


def _lookup(cells: Tensor, otherwise: int, special: dict[int, int]) -> Tensor:
    result = torch.full_like(cells, otherwise)
    for value, answer in special.items():
        result[cells == value] = answer
    return result
