"""The fixed band: TOML groups in, one string per id 0-7199 out. One string has one id, and every byte has a token."""

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
from megacpp_assets.contract.specials import FIXED_IDS, NEWLINE_ID, SPACE_ID, SPECIAL_NAMES
from megacpp_assets.tokenizer.byte_level import spell
from megacpp_assets.tokenizer.whitespace import Whitespace

BANDS = (
    "keywords", "operators", "preprocessor", "numbers", "punctuation", "standard_library", "standard_library_2",
    "platforms", "gpu", "specialists",
)  # fmt: skip
"""Data files of this folder, in id order."""

FIRST_BYTE_ID = FIXED_IDS - 256
"""A byte that no group names has the id `FIRST_BYTE_ID + byte`."""

GUARD_CHARACTER = ">"
"""Every special token holds it, and text is cut at it before anything else: so no text can spell a special token."""

_WORD = re.compile(r"[A-Za-z0-9_]{2,}")


@dataclass(frozen=True, slots=True)
class Group:
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

    groups: tuple[Group, ...]
    ids: Mapping[bytes, int]

    def keys(self) -> list[str]:
        """The vocabulary key of each fixed id: byte-level spelling, except guards, which are raw text."""
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
        """Text cut out before the splitter runs -> its id, under recipe `whitespace`."""
        return {
            text: group.first + place
            for group in self.groups
            if group.guard == "always" or (group.guard == "runs" and whitespace.operator_runs)
            for place, text in enumerate(group.tokens)
        }

    def words(self) -> list[bytes]:
        """Fixed strings that could lie inside an identifier: no learned merge may produce them."""
        return sorted(text for text in self.ids if _WORD.fullmatch(text.decode("latin-1")))


def special(name: str) -> str:
    """Spelling of a special token."""
    return f"<{name}>"


def special_ids() -> dict[str, int]:
    """Name -> pinned id of the special tokens and of the two named byte tokens."""
    return {name: index for index, name in enumerate(SPECIAL_NAMES)} | {"SPACE": SPACE_ID, "NL": NEWLINE_ID}


def filler(index: int) -> str:
    """Spelling of a reserved id: it holds a character outside the byte-level alphabet, so no text can match it."""
    return f"\ue000RESERVED_{index}"


@cache
def fixed_vocabulary() -> FixedVocabulary:
    """The fixed band as shipped; `SpecError` where the data files contradict themselves."""
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
    """Identity of the fixed band: the hash of its keys."""
    return sha256_bytes("\0".join(fixed_vocabulary().keys()).encode())


def _groups(band: str) -> list[Group]:
    text = resources.files(__package__).joinpath(f"{band}.toml").read_text("utf-8")
    tables: list[dict[str, Any]] = tomllib.loads(text)["group"]
    return [Group(**{**table, "tokens": tuple(table["tokens"])}) for table in tables]


def _add(group: Group, ids: dict[bytes, int]) -> None:
    for place, text in enumerate(group.tokens):
        key = text.encode()
        if key in ids or not key:
            raise SpecError(f"vocabulary group {group.name}", expected="one id per string", found=repr(text))
        if (GUARD_CHARACTER in text) != bool(group.guard):
            raise SpecError(f"vocabulary group {group.name}", expected="'>' in guards alone", found=repr(text))
        ids[key] = group.first + place
