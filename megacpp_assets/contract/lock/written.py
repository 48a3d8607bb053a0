"""Validates the values of `corpus.lock`, because a person may have edited the file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

_FORMS: Final = {
    "commit": (r"[0-9a-f]{40}", "a commit of 40 hexadecimal digits"),
    "sha256": (r"[0-9a-f]{64}", "a sha256 of 64 hexadecimal digits"),
    "recipe": (r"[0-9A-Za-z_]*", "the sha256 of a recipe"),
    "git_ref": (r"HEAD|refs/[^\s]+|[0-9a-f]{40}", "a full name at the source, such as refs/tags/v1.0"),
    "dataset": (r"[A-Za-z0-9_][A-Za-z0-9_-]{0,99}", "a name of letters, digits, '_' and '-'"),
}
_TIP: Final = "tip-"
_TIP_DIGITS: Final = 12


def require_forms(where: str, table: Mapping[str, Any], *names: str) -> None:
    """Raise `ValueError` if a value of `names` in `table` does not have its form."""
    for name in names:
        form, words = _FORMS[name]
        value = table[name]
        if not isinstance(value, str) or not re.fullmatch(form, value):
            raise ValueError(f"{where}: {name} {value!r}, which is not {words}")


def require_texts(where: str, table: Mapping[str, Any], *names: str) -> None:
    """Raise `ValueError` if a value of `names` in `table` is not a single line of text."""
    for name in names:
        if not isinstance(table[name], str) or not table[name].isprintable():
            raise ValueError(f"{where}: {name} {table[name]!r}, which is not a line of text")


def require_same_commit(where: str, ref: str, commit: str) -> None:
    """Raise `ValueError` if the name of a tip has digits of another commit."""
    if ref.startswith(_TIP) and commit[:_TIP_DIGITS] != ref.removeprefix(_TIP):
        raise ValueError(f"{where}: commit {commit}, which its name is not of")
