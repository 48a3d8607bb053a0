"""The exact splitter, data-parallel: every position works out where a word that began there would end, from run ends
and a few neighbours; the words are then the chain of those jumps. Mirrors the recipe `operators_carry_spaces`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.tokenizer.gpu.guards import find_guards
from megacpp_assets.tokenizer.gpu.layout import END, Layout, widths
from megacpp_assets.tokenizer.gpu.scan import first_outside, shifted, visited
from megacpp_assets.tokenizer.model import make_splitter
from megacpp_assets.tokenizer.whitespace import COMMANDS, DIRECTIVES, Whitespace, char_classes

RECIPE = "operators_carry_spaces"
_PUNCTUATION = b"!\"$%&'()*+,-./;<=?@[]^`{|}~"
_ESCAPES = b"abefnrtv0'\"?\\"
_START, _CONTINUE, _NUMBER = 1, 2, 4
_CODE_POINTS = 0x110000
_NAME_LOOK = 40
"""A name of the fixed sets (at most 32), the character behind it (4), and a character that is not complete (3)."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """What a layout is cut into, ascending: `starts` and `lengths` (int64); `guards` is a guard's number, or WORD."""

    starts: Tensor
    lengths: Tensor
    guards: Tensor


WORD = -1
STRAY = -2


class Splitter:
    """The native splitter of `whitespace` and `guards`, on `device`. Raises `SpecError` for another recipe.

    Bytes `look` or more behind the end of a piece and of the next one do not change where the piece ends.
    """

    def __init__(self, whitespace: Whitespace, guards: Mapping[str, int], device: torch.device) -> None:
        if whitespace.name != RECIPE:
            raise SpecError(
                f"whitespace recipe {whitespace.name}", expected=RECIPE, found=whitespace.name, do="train it on the CPU"
            )
        self._guards = list(guards)
        self.native = make_splitter(whitespace, guards)
        self.look = max(map(len, guards), default=0) + _NAME_LOOK
        classes = torch.zeros(_CODE_POINTS, dtype=torch.uint8)
        classes[ord("_")] = _START | _CONTINUE
        for first, last, bits in char_classes():
            classes[first : last + 1] |= bits
        self._classes = classes.to(device)

    def split(self, layout: Layout) -> Pieces:
        """All pieces of all texts: words, guards, and the stray bytes in between."""
        cells = layout.valid
        starts, numbers, lengths = find_guards(cells, self._guards)
        behind = torch.zeros(len(cells) + 1, dtype=torch.int32, device=cells.device)
        behind[starts] = 1
        behind[starts + lengths] -= 1
        cells = cells.masked_fill(behind.cumsum(0)[:-1] > 0, END)
        ends = _Ends(cells, self._classes).word_ends()
        words, word_lengths = _chain(cells, ends)
        strays = torch.nonzero(layout.stray).flatten()
        place = torch.cat([words, starts, strays])
        order = torch.argsort(place)
        length = torch.cat([word_lengths, lengths, torch.ones_like(strays)])
        kind = torch.cat([torch.full_like(words, WORD), numbers, torch.full_like(strays, STRAY)])
        return Pieces(place[order], length[order], kind[order])


def _chain(cells: Tensor, ends: Tensor) -> tuple[Tensor, Tensor]:
    """Words are met from every position behind an END by jumping from word to word; END jumps nowhere new."""
    size = len(cells)
    inside = cells != END
    first = inside & (shifted(cells, -1, END) == END)
    jump = torch.where(inside, ends, size)
    jump = torch.cat([jump, jump.new_full((1,), size)])
    begins = visited(jump, torch.nonzero(first).flatten())[:-1] & inside
    starts = torch.nonzero(begins).flatten()
    return starts, ends[starts] - starts


class _Ends:
    """The rules of a recipe, each as a function of positions; names follow the native splitter."""

    def __init__(self, cells: Tensor, classes: Tensor) -> None:
        self._cells = cells
        self._size = len(cells)
        self._at = torch.arange(self._size, device=cells.device)
        bits = _classes_of(cells, classes)
        self._bits = bits
        self._continues = (bits & _CONTINUE) != 0
        self._operator = _is_in(cells, _PUNCTUATION) | ((cells == ord(":")) & (self._next(1) != ord(":")))
        blank = (cells == ord(" ")) | (cells == ord("\t"))
        self._blank_end = first_outside(blank)
        self._ending = (cells == ord("\n")) | ((cells == ord("\r")) & (self._next(1) == ord("\n")))
        indent = blank & (self._before(_last_outside(blank)) == ord("\n"))
        self._lines_end = first_outside(self._ending | indent)
        self._word_end = first_outside(self._continues)
        self._run_end = first_outside(self._operator | self._ending | indent)

    def word_ends(self) -> Tensor:
        """Where a word that begins at each position ends; int64, at most the number of cells."""
        cells, at = self._cells, self._at
        ends = at + widths(cells).clamp(min=1)
        colons = (cells == ord(":")) & (self._next(1) == ord(":"))
        blanks = (cells == ord(" ")) | (cells == ord("\t"))
        for where, end in (
            (self._operator, self._operators(at)),
            (colons, at + 2),
            (blanks, self._blank_end),
            (cells == ord(" "), self._spaced()),
            (self._ending, self._lines()),
            ((self._bits & _START) != 0, self._identifier()),
            ((self._bits & _NUMBER) != 0, self._number()),
        ):
            ends = torch.where(where, end, ends)
        ends = self._directives(ends)
        return self._escapes(ends)

    def _next(self, by: int) -> Tensor:
        return shifted(self._cells, by, END)

    def _before(self, places: Tensor) -> Tensor:
        """The cell at each of `places`, END for -1."""
        return torch.where(places >= 0, self._cells[places.clamp(min=0)], END)

    def _get(self, values: Tensor, places: Tensor, fill: int) -> Tensor:
        """`values` at `places`, `fill` behind the last."""
        return torch.where(places < self._size, values[places.clamp(max=self._size - 1)], fill)

    def _operators(self, at: Tensor) -> Tensor:
        """A run of operators goes on across indented lines; one space behind an operator is the run's."""
        end = self._get(self._run_end, at, self._size)
        space = self._get(self._cells, end, END) == ord(" ")
        after_operator = self._operator[(end - 1).clamp(min=0)]
        return end + (space & after_operator).long()

    def _identifier(self) -> Tensor:
        end = self._word_end
        end = torch.where(self._spells(b"std::") & (end == self._at + 3), end + 2, end)
        return torch.where(self._spells(b"template<") & (end == self._at + 8), end + 1, end)

    def _spells(self, text: bytes) -> Tensor:
        found = self._cells == text[0]
        for offset, byte in enumerate(text[1:], start=1):
            found &= self._next(offset) == byte
        return found

    def _number(self) -> Tensor:
        """A quote or a point goes on before a character of a word, a sign between an exponent's letter and a digit."""
        cells = self._cells
        joins = (cells == ord("'")) | (cells == ord("."))
        joined = joins & shifted(self._continues, 1, fill=0)
        exponent = _is_in(cells, b"eEpP") & ~shifted(joins, -1, fill=0)
        digit = (self._next(1) >= ord("0")) & (self._next(1) <= ord("9"))
        signed = _is_in(cells, b"+-") & shifted(exponent, -1, fill=0) & digit
        return first_outside(self._continues | joined | signed)

    def _spaced(self) -> Tensor:
        """A space is its operator's, or a line continuation's; else it begins a run of blanks."""
        behind = self._at + 1
        end = self._blank_end
        continued = (self._next(1) == ord("\\")) & shifted(self._ending, 2, fill=0)
        end = torch.where(continued, self._get(self._lines_end, behind + 1, self._size), end)
        return torch.where(shifted(self._operator, 1, fill=0), self._operators(behind), end)

    def _lines(self) -> Tensor:
        end = self._lines_end
        return torch.where(self._get(self._operator, end, 0).bool(), self._operators(end), end)

    def _directives(self, ends: Tensor) -> Tensor:
        at = torch.nonzero(self._cells == ord("#")).flatten()
        plain = torch.where(self._get(self._cells, at + 1, END) == ord("#"), at + 2, at + 1)
        name = self._get(self._blank_end, at + 1, self._size)
        return ends.index_copy(0, at, self._named(name, DIRECTIVES, plain))

    def _escapes(self, ends: Tensor) -> Tensor:
        at = torch.nonzero(self._cells == ord("\\")).flatten()
        behind = at + 1
        follows = self._get(self._cells, behind, END)
        ending = self._get(self._ending, behind, 0).bool()
        plain = torch.where(ending, self._get(self._lines_end, behind, self._size), behind)
        plain = torch.where(_is_in(follows, _ESCAPES), at + 2, plain)
        return ends.index_copy(0, at, self._named(behind, COMMANDS, plain))

    def _named(self, name: Tensor, names: tuple[str, ...], otherwise: Tensor) -> Tensor:
        """Behind the word at `name` where it is one of `names`, else `otherwise`."""
        stop = torch.maximum(self._get(self._word_end, name, self._size), name)
        known = torch.zeros_like(name, dtype=torch.bool)
        for text in names:
            found = stop - name == len(text)
            for offset, byte in enumerate(text.encode()):
                found &= self._get(self._cells, name + offset, END) == byte
            known |= found
        return torch.where(known, stop, otherwise)


def _classes_of(cells: Tensor, classes: Tensor) -> Tensor:
    """Class bits of the character that each cell belongs to; 0 for END."""
    width = widths(cells).long()
    value = cells.long()
    parts = [value] + [shifted(value, k, 0) & 0x3F for k in (1, 2, 3)]
    codes = [
        parts[0],
        (parts[0] & 0x1F) << 6 | parts[1],
        (parts[0] & 0x0F) << 12 | parts[1] << 6 | parts[2],
        (parts[0] & 0x07) << 18 | parts[1] << 12 | parts[2] << 6 | parts[3],
    ]
    bits = torch.zeros_like(cells, dtype=torch.uint8)
    for count, code in enumerate(codes, start=1):
        mine = torch.where(width == count, classes[code.clamp(max=_CODE_POINTS - 1)], 0)
        for k in range(count):
            bits |= shifted(mine, -k, 0) if k else mine
    return bits


def _last_outside(inside: Tensor) -> Tensor:
    """For each position the last one at or before it that is not `inside`; -1 where there is none."""
    places = torch.arange(len(inside), device=inside.device).masked_fill(inside, -1)
    return places.cummax(0).values


def _is_in(cells: Tensor, characters: bytes) -> Tensor:
    table = torch.zeros(END + 1, dtype=torch.bool, device=cells.device)
    table[torch.tensor(list(characters), device=cells.device)] = True
    return table[cells.long()]
