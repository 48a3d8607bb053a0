"""Answers of a benchmark that are planted: pieces of real texts, changed as copies are changed, inside other code."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence

from megacpp_assets.curation.benchmark_sets import Item
from megacpp_assets.curation.benchmarks import RENAMED_LEAST_RUNS, RENAMED_TOKENS, flow_runs

ITEM_LINES = 24
_NAME = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|(?P<name>\b[A-Za-z_]\w*)""", re.S)
"""A name, or a comment or literal, in which nothing is renamed."""
_KEYWORDS = frozenset(
    "alignas alignof asm auto bool break case catch char char16_t char32_t class const constexpr const_cast continue "
    "decltype default defined define delete do double dynamic_cast else elif endif enum explicit export extern false "
    "float for friend goto if ifdef ifndef include inline int long mutable namespace new noexcept nullptr operator "
    "private protected public register reinterpret_cast return short signed sizeof static static_assert static_cast "
    "struct switch template this throw true try typedef typeid typename undef union unsigned using virtual void "
    "volatile wchar_t while".split()
)
_AROUND = "\n".join(f"int around{n}(int a) {{ return a * {n} + other{n}(a); }}" for n in range(50))


def items_of(texts: Sequence[str], count: int) -> list[Item]:
    """Return up to `count` pieces of `ITEM_LINES` lines, one a text, of texts spread over all.

    A piece is long enough to be looked for without its names.
    """
    pieces = []
    for text in texts:
        lines = text.splitlines()
        piece = "\n".join(lines[len(lines) // 2 :][:ITEM_LINES])
        if len(lines) > 4 * ITEM_LINES and len(flow_runs(piece, RENAMED_TOKENS)) >= RENAMED_LEAST_RUNS:
            pieces.append(piece)
    chosen = pieces[:: max(1, len(pieces) // count)][:count]
    return [Item(f"own:{number}", (piece,)) for number, piece in enumerate(chosen)]


def renamed(text: str) -> str:
    """Return a text in which each identifier has another name, the same everywhere."""

    def other(match: re.Match[str]) -> str:
        return (
            match[0]
            if not match["name"] or match[0] in _KEYWORDS
            else f"n{hashlib.sha256(match[0].encode()).hexdigest()[:6]}"
        )

    return _NAME.sub(other, text)


def _split(text: str) -> str:
    lines = text.splitlines()
    half = len(lines) // 2
    return "\n".join([*lines[:half], "", "int between(int a) { return a; }", "", *lines[half:]])


def _diff(text: str) -> str:
    return "\n".join(difflib.unified_diff([], text.splitlines(), "a/x.cc", "b/x.cc", lineterm=""))


CHANGES: Mapping[str, Callable[[str], str]] = {
    "verbatim": lambda text: text,
    "re-indented": lambda text: re.sub(r"\n[ \t]*", "\n\t\t", text),
    "renamed": renamed,
    "split over chunks": _split,
    "in a diff": _diff,
}


def planted(text: str) -> str:
    """Return `text` inside other code."""
    return f"{_AROUND}\n{text}\n{_AROUND}"
