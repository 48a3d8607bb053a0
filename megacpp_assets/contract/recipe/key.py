"""Declares a key of a recipe: its default, its meaning and its allowed values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from typing import Any, TypeVar, get_type_hints

T = TypeVar("T")
_NOTE = "note"
_LARGE = 10_000
"""Numbers from here on are written with digits in groups of three."""


@dataclass(frozen=True, slots=True)
class Note:
    """The description of a key in `megacpp recipe show` and docs/recipes.md."""

    meaning: str
    allowed: str
    unit: str = ""


def key(default: T, meaning: str, *, allowed: str | Sequence[str] = "", unit: str = "") -> T:
    """Declare a field with `default`. `allowed` is a phrase, or the list of allowed words."""
    return field(default=default, metadata=_noted(meaning, allowed, unit))


def table(default: Callable[[], T], meaning: str, *, allowed: str) -> T:
    """Declare a field for a table whose keys a person chooses."""
    return field(default_factory=default, metadata=_noted(meaning, allowed, ""))


def required(meaning: str, *, allowed: str) -> Any:
    """Declare a field without a default."""
    return field(metadata=_noted(meaning, allowed, ""))


def notes(kind: type, prefix: str = "") -> Iterator[tuple[str, Field[Any], Note]]:
    """Yield (dotted key, field, note) of every key of the dataclass `kind`, in order. A section comes before its keys.

    A section's note is the first paragraph of its docstring.
    """
    hints = get_type_hints(kind)
    for entry in fields(kind):
        path, hint = prefix + entry.name, hints[entry.name]
        if is_dataclass(hint) and isinstance(hint, type):
            yield path, entry, Note(" ".join((hint.__doc__ or "").split("\n\n")[0].split()), "a table")
            yield from notes(hint, f"{path}.")
        else:
            yield path, entry, entry.metadata[_NOTE]


def default_text(entry: Field[Any]) -> str:
    """Return "default: " and the default as TOML, or "required"."""
    value = entry.default
    if entry.default_factory is not MISSING:
        return "default: the standard phases" if entry.name == "phases" else "default: empty"
    if value is MISSING:
        return "required"
    if isinstance(value, bool):
        return f"default: {str(value).lower()}"
    if isinstance(value, str):
        return f'default: "{value}"'
    if isinstance(value, tuple):
        return f"default: {list(value)}"
    return f"default: {value:_}" if isinstance(value, int) and value >= _LARGE else f"default: {value}"


def _noted(meaning: str, allowed: str | Sequence[str], unit: str) -> dict[str, Note]:
    return {
        _NOTE: Note(meaning, allowed if isinstance(allowed, str) else ", ".join(f'"{each}"' for each in allowed), unit)
    }
