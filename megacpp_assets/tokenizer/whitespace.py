"""Whitespace recipes: from flags to a regular expression (Oniguruma, for tokenizer.json) and a native splitter.

Both split every text into the same words. Character classes are those of the pinned wheel, stored as ranges.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources
from typing import Any

from megacpp_assets.contract.errors import SpecError

DIRECTIVES = (
    "assert", "define", "elif", "elifdef", "elifndef", "else", "embed", "endif", "error", "ident", "if", "ifdef",
    "ifndef", "import", "include", "include_next", "line", "pragma", "undef", "warning",
)  # fmt: skip
"""Preprocessor directives that are one word with their `#` and the blanks between."""

COMMANDS = (
    "arg", "author", "brief", "class", "code", "cond", "copydoc", "defgroup", "deprecated", "details", "ref",
    "endcode", "endcond", "endif", "endverbatim", "enum", "file", "fn", "in", "ingroup", "internal", "li", "name",
    "namespace", "note", "overload", "page", "par", "param", "post", "pre", "private", "remark", "remarks", "result",
    "return", "returns", "retval", "sa", "section", "see", "since", "struct", "subsection", "throw", "throws",
    "todo", "tparam", "typedef", "union", "var", "verbatim", "version", "warning",
)  # fmt: skip
"""Documentation commands that are one word with their backslash. Otherwise `\\brief` would begin with an escape."""

OPERATORS = (
    "<<=", "...", "///", "/**", "<<", "<=", "==", "!=", "&&", "||", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=",
    "|=", "^=", ".*", "//", "/*", "*/",
)  # fmt: skip
"""Operators of several characters, for recipes that do not take punctuation in runs. Those with `>` are guards
instead.
"""

_CONTINUE = r"[\p{L}\p{M}\p{N}_]"
_WORD = rf"[\p{{L}}_]{_CONTINUE}*"
_NUMBER = rf"\p{{N}}(?:[eEpP][+\-](?=[0-9])|['.]?{_CONTINUE})*"
_RUN = r"""(?:[!"$%&'()*+,\-./;<=?@\[\]^`{|}~]|:(?!:))+"""
_LINES = r"(?:\r?\n[ \t]*)+"
_GENERAL = (
    r"'(?:[sSdDmMtT]|[lL][lL]|[vVrR][eE])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_ESCAPE = r"""\\[abefnrtv0'"?\\]"""


@dataclass(frozen=True, slots=True)
class Whitespace:
    """One recipe. `native/tokenizer/splitter.hpp` explains the flags."""

    name: str
    operator_runs: bool
    space_before_operator: bool
    space_after_operator: bool
    newline_indent: bool
    space_before_word: bool
    space_within_run: bool
    general: bool

    @property
    def flags(self) -> tuple[bool, ...]:
        """Return the flags in the order of the native `Rules`."""
        return tuple(getattr(self, field.name) for field in fields(self) if field.name != "name")

    @property
    def pattern(self) -> str:
        """Return the regular expression: ordered alternatives that together match any text."""
        if self.general:
            return _GENERAL
        words = rf"std::|template<|{_WORD}|{_NUMBER}"
        parts = [
            f" ?(?:{words})" if self.space_before_word else words,
            rf"\#[ \t]*(?:{'|'.join(DIRECTIVES)})(?!{_CONTINUE})",
            r"\#\#?",
            rf"\\(?:{'|'.join(COMMANDS)})(?!{_CONTINUE})",
            _ESCAPE,
            "::",
            *(self._runs() if self.operator_runs else self._operators()),
            *self._blanks(),
            r"[\s\S]",
        ]
        return "|".join(parts)

    def _runs(self) -> list[str]:
        lead = [" "] * self.space_before_operator + [_LINES] * self.newline_indent
        trail = [_LINES] * self.newline_indent + [" "] * self.space_after_operator
        between = [_LINES] * self.newline_indent + [" "] * self.space_within_run
        more = rf"(?:(?:{'|'.join(between)}){_RUN})*" if between else ""
        return [_optional(lead) + _RUN + more + _optional(trail)]

    @staticmethod
    def _operators() -> list[str]:
        banners = ["={4,64}", "-{4,64}", r"\*{4,64}", "/{4,64}"]
        return banners + [re.escape(op) for op in sorted(OPERATORS, key=len, reverse=True)]

    def _blanks(self) -> list[str]:
        if not self.newline_indent:
            return [" {1,64}", r"(?:\r\n){1,4}", r"\n{1,4}", r"\t{1,8}"]
        shared = [r" +(?= [\p{L}\p{N}_])"] if self.space_before_word else []
        return [rf" ?\\{_LINES}", _LINES, *shared, r"[ \t]+"]


def _optional(alternatives: list[str]) -> str:
    return f"(?:{'|'.join(alternatives)})?" if alternatives else ""


@cache
def recipes() -> dict[str, Whitespace]:
    """Return all recipes of `whitespace.toml`, by name."""
    text = resources.files("megacpp_assets.tokenizer").joinpath("whitespace.toml").read_text(encoding="utf-8")
    return {
        name: Whitespace(name, **{key: value for key, value in table.items() if key != "why"})
        for name, table in tomllib.loads(text).items()
    }


def whitespace_recipe(name: str) -> Whitespace:
    """Return the recipe called `name`. `SpecError` if it does not exist."""
    try:
        return recipes()[name]
    except KeyError:
        raise SpecError(
            "tokenizer.whitespace",
            expected=" or ".join(recipes()),
            found=repr(name),
            do="correct tokenizer.whitespace of the recipe",
        ) from None


@cache
def char_classes() -> tuple[tuple[int, int, int], ...]:
    """Return (first, last, class bits) of each range: 1 may begin an identifier, 2 may continue one, 4 may begin a
    number.
    """
    text = resources.files("megacpp_assets.tokenizer").joinpath("char_classes.json").read_text(encoding="utf-8")
    table: dict[str, Any] = json.loads(text)
    bits = {"letter": 1 | 2, "mark": 2, "number": 2 | 4}
    return tuple((first, last, bit) for name, bit in bits.items() for first, last in table[name])
