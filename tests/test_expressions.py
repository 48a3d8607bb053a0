"""No regular expression that reads a stranger's text takes exponential time: each answers on texts made of repeats.

And each finds the same on every Python.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from itertools import product

import pytest

import megacpp_assets

READERS = (
    "commits",
    "contract",
    "curation",
    "packed",
    "repos",
    "resolved",
    "semantic",
    "storage",
    "tokenizer",
    "versions",
    "windows",
)
"""Packages that read text of repositories, below `megacpp_assets`."""
REPEATED = (
    " ",
    "\n",
    " a",
    "a",
    "_",
    "a_",
    "-a",
    "1",
    ".",
    "/",
    "// a\n",
    "/* a */",
    "/* ; */ a",
    "#",
    "\\",
    "\\\n",
    '"',
    '"a"',
    "(",
    "()",
    "a(",
    "[",
    "<",
    "<a>",
    ":",
    "::a",
    "{",
    "@",
    "A ",
    "A-",
    "; ",
    "= ",
    "Co-",
    "refer to the ",
)
ENDS = ("", "!", ";", "\n")
_ONE_CHARACTER = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.S)
_POSSESSIVE_GROUP = re.compile(r"\)(?:[*+?]|\{[0-9,]*\})\+")
REPEATS = 60
"""2^60 steps never end, and a text of this length is nothing for any other expression."""


def _expressions() -> Iterator[tuple[str, re.Pattern[str] | re.Pattern[bytes]]]:
    for package in READERS:
        above = importlib.import_module(f"megacpp_assets.{package}")
        for module in pkgutil.walk_packages(above.__path__, f"{above.__name__}."):
            if ".webgpu" in module.name or module.ispkg:
                continue
            names = vars(importlib.import_module(module.name))
            yield from ((f"{module.name}.{name}", each) for name, each in names.items() if isinstance(each, re.Pattern))


EXPRESSIONS = dict(_expressions())


def test_the_expressions_of_all_readers_are_found() -> None:
    assert len(EXPRESSIONS) > 80 and megacpp_assets.__name__ in next(iter(EXPRESSIONS))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_an_expression_answers_on_a_text_of_repeats(name: str) -> None:
    expression = EXPRESSIONS[name]
    for unit, end in product(REPEATED, ENDS):
        text = unit * REPEATS + end
        for start in ("", "a", "/", "(", "<", "#"):
            found = (
                expression.search(start + text)
                if isinstance(expression.pattern, str)
                else expression.search((start + text).encode())
            )  # type: ignore[arg-type]
            assert found is None or found.end() <= len(start + text)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_no_group_has_a_possessive_quantifier(name: str) -> None:
    """Python before 3.11.5 (Debian 12 has 3.11.2) finds too much with `(?:ab?c)*+`; `(?>(?:ab?c)*)` says the same."""
    pattern = EXPRESSIONS[name].pattern
    text = pattern if isinstance(pattern, str) else pattern.decode("latin-1")
    assert _POSSESSIVE_GROUP.search(_ONE_CHARACTER.sub("x", text)) is None
