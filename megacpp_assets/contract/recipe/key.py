"""Declares a key of a recipe: its default, its meaning and its allowed values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from typing import Any, TypeVar, get_type_hints

from megacpp_assets.contract.errors import SpecError, closest_name
from megacpp_assets.contract.recipe.ranges import Range, number_text

T = TypeVar("T")
_NOTE = "note"
Allowed = str | Sequence[str] | Range
"""What a key may hold: a phrase that only the section can check, a list of words, or a range of numbers."""


@dataclass(frozen=True, slots=True)
class Note:
    """The description of a key in `megacpp recipe show` and docs/recipes.md."""

    meaning: str
    allowed: str
    unit: str = ""
    words: tuple[str, ...] = ()
    range: Range | None = None


def key(default: T, meaning: str, *, allowed: Allowed = "", unit: str = "") -> T:
    """Declare a field with `default`. `require_allowed` checks words and ranges; a number must have a range."""
    if isinstance(default, int | float) and not isinstance(default, bool) and not isinstance(allowed, Range):
        raise TypeError(f"key({default!r}, {meaning!r}) needs a range of allowed numbers")
    return field(default=default, metadata=_noted(meaning, allowed, unit))


def table(default: Callable[[], T], meaning: str, *, allowed: str) -> T:
    """Declare a field for a table whose keys a person chooses."""
    return field(default_factory=default, metadata=_noted(meaning, allowed, ""))


def required(meaning: str, *, allowed: str | Range) -> Any:
    """Declare a field without a default. One with a range holds a whole number."""
    return field(metadata=_noted(meaning, allowed, ""))


def require_allowed(section: Any, where: str) -> None:
    """Raise `SpecError` for the first key of the dataclass `section` whose value its declaration does not allow.

    `where` is the path of the section in a recipe. So docs/recipes.md and this check cannot differ.
    """
    for entry in fields(section):
        note: Note | None = entry.metadata.get(_NOTE)
        if note is None:
            continue
        value, path = getattr(section, entry.name), f"{where}.{entry.name}"
        if note.range and (expected := note.range.problem(value, whole=not isinstance(entry.default, float))):
            raise SpecError(path, expected=expected, found=value if type(value) in (int, float) else repr(value))
        if note.words and value not in note.words:
            closest = closest_name(str(value), note.words)
            raise SpecError(path, expected=" or ".join(note.words), found=repr(value), closest=closest)


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
    return f"default: {number_text(value)}" if isinstance(value, int) else f"default: {value}"


def _noted(meaning: str, allowed: Allowed, unit: str) -> dict[str, Note]:
    if isinstance(allowed, Range):
        return {_NOTE: Note(meaning, allowed.text, unit, range=allowed)}
    if isinstance(allowed, str):
        return {_NOTE: Note(meaning, allowed, unit)}
    return {_NOTE: Note(meaning, ", ".join(f'"{each}"' for each in allowed), unit, words=tuple(allowed))}
