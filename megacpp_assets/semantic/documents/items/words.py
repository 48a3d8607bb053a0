"""The words of code, without those of its comments."""

from __future__ import annotations

import re

WORD = re.compile(r"\b[A-Za-z_]\w*")
"""A name. It does not match the letters inside a number, such as `xff` in 0xff."""
_COMMENT = re.compile(
    r"""("(?>(?:\\.|[^"\\\n]++)*)"|'(?>(?:\\.|[^'\\\n]++)*)')|//[^\n]*+|/\*(?>(?:[^*]++|\*(?!/))*)(?:\*/)?""",
    re.S,
)
"""A comment, or a literal, which is kept. A comment without an end takes the rest, so that the text is read once."""


_OPERATOR = re.compile(r"(?:.*::)?operator\s*(\"\"\s*\w+|[^\w\s]+)")
_REWRITTEN = {"==": ("!=",), "<=>": ("<", ">")}
"""The operators that C++20 writes by another one."""


def is_operator(name: str) -> bool:
    """Return whether the qualified `name` is that of an operator which code applies without naming it."""
    return "operator" in name and _OPERATOR.fullmatch(name) is not None


def applies(code: str, name: str) -> bool:
    """Return whether `code` has the symbol of the operator `name`, or the suffix of a literal operator."""
    found = _OPERATOR.fullmatch(name)
    symbol = found[1].removeprefix('""').strip() if found else ""
    return any(each in code for each in (symbol, *_REWRITTEN.get(symbol, ())) if each)


def words_of(code: str) -> set[str]:
    """Return the words of `code` outside of its comments."""
    return set(WORD.findall(without_comments(code)))


def without_comments(code: str) -> str:
    """Return `code` with a blank in place of each comment."""
    return _COMMENT.sub(r"\1 ", code) if "/" in code else code
