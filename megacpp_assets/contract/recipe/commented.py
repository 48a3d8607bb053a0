"""A recipe as TOML with a comment above each key: meaning, unit, default and allowed values."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import Field
from typing import Any, Final

from megacpp_assets.contract.recipe.key import Note, default_text, notes
from megacpp_assets.contract.recipe.rows import PhaseRecipe
from megacpp_assets.contract.recipe.text import recipe_toml
from megacpp_assets.contract.recipe.whole import Recipe

_HEADER: Final = re.compile(r"\[([^\]]+)\]$")
_KEY: Final = re.compile(r"([A-Za-z0-9_-]+) = ")
_PHASE: Final = re.compile(r"phases\.[^.]+\.")
_WIDTH: Final = 118


def commented_toml(recipe: Recipe) -> str:
    """Return `recipe_toml` with comments; it reads back as the same recipe. A key of several phases has its
    note once.
    """
    known, lines, table = dict(_known()), list[str](), ""
    for line in recipe_toml(recipe).splitlines():
        if header := _HEADER.match(line):
            table = f"{header[1]}."
            lines += _comment(known.pop(header[1], None), table=True)
        elif named := _KEY.match(line):
            lines += _comment(known.pop(_PHASE.sub("phases.NAME.", table + named[1]), None), table=False)
        lines.append(line)
    return "\n".join(lines) + "\n"


def facts(entry: Field[Any], note: Note) -> str:
    """Unit, default and allowed values in one line."""
    unit = f"unit: {note.unit}; " if note.unit else ""
    return f"{unit}{default_text(entry)}; allowed: {note.allowed}"


def _known() -> Mapping[str, tuple[Field[Any], Note]]:
    everything = [*notes(Recipe), *notes(PhaseRecipe, "phases.NAME.")]
    return {path: (entry, note) for path, entry, note in everything}


def _comment(known: tuple[Field[Any], Note] | None, *, table: bool) -> Iterator[str]:
    if known is not None:
        entry, note = known
        text = [note.meaning] if table else [note.meaning, f"  {facts(entry, note)}"]
        for each in text:
            yield from textwrap.wrap(each, _WIDTH, initial_indent="# ", subsequent_indent="#   ")
