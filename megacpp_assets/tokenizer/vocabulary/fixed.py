"""The fixed band: from groups in TOML to one string for each id 0-7199. One string has one id, and every byte has a
token.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from megacpp_assets.contract.canonical import sha256_bytes
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.tokens.specials import FIXED_IDS, NEWLINE_ID, SPACE_ID, SPECIAL_NAMES
from megacpp_assets.tokenizer.byte_level import spell
from megacpp_assets.tokenizer.whitespace import Whitespace

BANDS = (
    "keywords", "operators", "preprocessor", "numbers", "punctuation", "standard_library", "standard_library_2",
    "platforms", "gpu", "specialists",
)  # fmt: skip
"""Data files of this folder, in the order of ids."""

FIRST_BYTE_ID = FIXED_IDS - 256
"""A byte that no group names has the id `FIRST_BYTE_ID + byte`."""

GUARD_CHARACTER = ">"
"""Every special token contains this character, and text is cut at it first, so no text can spell a special token."""

_WORD = re.compile(r"[A-Za-z0-9_]{2,}")


@dataclass(frozen=True, slots=True)
class FixedStrings:
    """Strings with consecutive ids from `first`; ids up to `last` are theirs or reserved.

    `guard` is "always" or "runs" (only where punctuation is taken in runs) for strings that hold `>`, else "".
    """

    name: str
    first: int
    last: int
    why: str
    tokens: tuple[str, ...]
    guard: str = ""


@dataclass(frozen=True, slots=True)
class FixedVocabulary:
    """`groups` in id order; `ids` has the id of every string but the special tokens'."""

    groups: tuple[FixedStrings, ...]
    ids: Mapping[bytes, int]

    def keys(self) -> list[str]:
        """Return the vocabulary key of each fixed id: byte-level spelling, except guards, which are raw text."""
        keys = [filler(index) for index in range(FIXED_IDS)]
        for index, name in enumerate(SPECIAL_NAMES):
            keys[index] = special(name)
        for text, index in self.ids.items():
            keys[index] = spell(text)
        for group in self.groups:
            if group.guard:
                keys[group.first : group.first + len(group.tokens)] = group.tokens
        return keys

    def guards(self, whitespace: Whitespace) -> dict[str, int]:
        """Return the texts that are cut out before the splitter runs -> id, for recipe `whitespace`."""
        return {
            text: group.first + place
            for group in self.groups
            if group.guard == "always" or (group.guard == "runs" and whitespace.operator_runs)
            for place, text in enumerate(group.tokens)
        }

    def words(self) -> list[bytes]:
        """Return the fixed strings that could be part of an identifier. No learned merge may produce them."""
        return sorted(text for text in self.ids if _WORD.fullmatch(text.decode("latin-1")))


def special(name: str) -> str:
    """Return the spelling of a special token."""
    return f"<{name}>"


def special_ids() -> dict[str, int]:
    """Return name -> pinned id of the special tokens and of the two named byte tokens."""
    return {name: index for index, name in enumerate(SPECIAL_NAMES)} | {"SPACE": SPACE_ID, "NL": NEWLINE_ID}


def filler(index: int) -> str:
    """Return the spelling of a reserved id. It has a character outside of the byte-level alphabet, so no text
    matches it.
    """
    return f"\ue000RESERVED_{index}"


@cache
def fixed_vocabulary() -> FixedVocabulary:
    """Return the fixed band as shipped. `SpecError` if the data files contradict each other."""
    groups = [group for band in BANDS for group in _groups(band)]
    ids: dict[bytes, int] = {b" ": SPACE_ID, b"\n": NEWLINE_ID}
    end = len(SPECIAL_NAMES)
    for group in groups:
        if not end <= group.first <= group.last < FIRST_BYTE_ID or group.first + len(group.tokens) - 1 > group.last:
            raise SpecError(f"vocabulary group {group.name}", expected=f"ids from {end} up", found=group.first)
        end = group.last + 1
        _add(group, ids)
    for byte in range(256):
        ids.setdefault(bytes([byte]), FIRST_BYTE_ID + byte)
    return FixedVocabulary(tuple(groups), ids)


@cache
def fixed_sha256() -> str:
    """Return the hash of the keys of the fixed band."""
    return sha256_bytes("\0".join(fixed_vocabulary().keys()).encode())


def _groups(band: str) -> list[FixedStrings]:
    text = resources.files(__package__).joinpath(f"{band}.toml").read_text("utf-8")
    tables: list[dict[str, Any]] = tomllib.loads(text)["group"]
    return [FixedStrings(**{**table, "tokens": tuple(table["tokens"])}) for table in tables]


def _add(group: FixedStrings, ids: dict[bytes, int]) -> None:
    for place, text in enumerate(group.tokens):
        key = text.encode()
        if key in ids or not key:
            raise SpecError(f"vocabulary group {group.name}", expected="one id per string", found=repr(text))
        if (GUARD_CHARACTER in text) != bool(group.guard):
            raise SpecError(f"vocabulary group {group.name}", expected="'>' in guards alone", found=repr(text))
        ids[key] = group.first + place
