"""The table of platforms: their numbers, and the signs in a text by which each is recognised (`platforms.toml`)."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

from megacpp_assets.contract.errors import SpecError

PLATFORM_IDS: Final = 113
"""All ids are below this number; 0 is padding (docs/contracts.md)."""
MAX_PLATFORM_IDS: Final = 20
"""The most platforms of a document."""
STANDARDS: Final = "cpp_std"
"""The kind of language standards. They come from the compile arguments, not from the text of a document."""


@dataclass(frozen=True, slots=True)
class Platform:
    """A platform: its number, its `kind` (os, rtos, gpu, arch, compiler, cpp_std), and the `signs` that identify it."""

    id: int
    kind: str
    name: str
    signs: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.kind}={self.name}"


@dataclass(frozen=True, slots=True)
class Platforms:
    """All platforms by id, and the ids that each sign identifies: a macro, a header in brackets, or a suffix.

    `standards` maps the name of a language standard to its id.
    """

    by_id: Mapping[int, Platform]
    by_sign: Mapping[str, tuple[int, ...]]
    standards: Mapping[str, int]


@cache
def platforms() -> Platforms:
    """Return the table. Raises `SpecError` if the ids of a kind do not match its number of platforms."""
    text = resources.files("megacpp_assets.contract").joinpath("platforms.toml").read_text("utf-8")
    return table_of(tomllib.loads(text))


def table_of(raw: Mapping[str, Any]) -> Platforms:
    """Return the platforms of a parsed table. Raises like `platforms`."""
    found = list(_listed(raw))
    by_sign: dict[str, tuple[int, ...]] = {}
    for platform in found:
        for sign in platform.signs if platform.kind != STANDARDS else ():
            by_sign[sign] = (*by_sign.get(sign, ()), platform.id)
    standards = {sign: platform.id for platform in found if platform.kind == STANDARDS for sign in platform.signs}
    return Platforms({platform.id: platform for platform in found}, by_sign, standards)


def _listed(raw: Mapping[str, Any]) -> Iterator[Platform]:
    following = 1
    for kind in raw["kind"]:
        where, named = f"platforms of kind {kind['name']}", kind["platforms"]
        if (kind["first"], kind["last"]) != (following, following + len(named) - 1):
            expected = f"ids from {following} on, one for each of {len(named)}"
            raise SpecError(where, expected=expected, found=f"{kind['first']} to {kind['last']}", do="mend the table")
        for number, (name, signs) in enumerate(named.items(), kind["first"]):
            yield Platform(number, kind["name"], name, tuple(signs))
        following = kind["last"] + 1
