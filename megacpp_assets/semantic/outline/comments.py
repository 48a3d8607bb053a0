"""Finds the comments of a declaration: those directly above it, and one after it on its last line."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from megacpp_assets.semantic.outline.lexer import Lexed


class CommentIndex:
    """The comments of one file in order."""

    def __init__(self, code: bytes, lexed: Lexed) -> None:
        self._code = code
        self._starts: list[int] = lexed.comments[:, 0].tolist()
        self._ends: list[int] = lexed.comments[:, 1].tolist()

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        return len(self._code)

    def leading(self, start: int, floor: int) -> int:
        """Return where the comments of a declaration at `start` begin, not before `floor`.

        They fill whole lines, and no blank line is between them and the declaration.
        """
        index = bisect_right(self._ends, start) - 1
        while index >= 0 and self._starts[index] >= floor:
            between = self._code[self._ends[index] : start]
            if between.strip() or between.count(b"\n") > 1 or not self._opens_line(self._starts[index]):
                break
            start = self._starts[index]
            index -= 1
        return start

    def trailing(self, end: int) -> int:
        """Return where a comment on the last line of a declaration that ends at `end` ends; `end` without a comment."""
        index = bisect_left(self._starts, end)
        if index < len(self._starts) and not self._code[end : self._starts[index]].strip(b" \t"):
            return self._ends[index]
        return end

    def _opens_line(self, start: int) -> bool:
        line = self._code.rfind(b"\n", 0, start) + 1
        return not self._code[line:start].strip()
