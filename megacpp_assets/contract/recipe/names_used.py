"""Checks the names that a recipe uses: repositories of lists such as `holdout.repositories`, and licences.

A name that nothing has would have no effect: the repository that should be held out would train. A recipe is checked
when a person wrote or changed it. A recipe that a data root keeps is not checked: `--repos` leaves names of the whole
recipe in it, and a machine that only trains has no list of licences.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase
from functools import cache
from importlib.util import find_spec
from typing import Any, Final

from megacpp_assets.contract.errors import SpecError, closest_name
from megacpp_assets.contract.recipe.whole import Recipe

_WITH: Final = " WITH "
_OWN: Final = "LicenseRef-"
_UNKNOWN: Final = "NOASSERTION"
_PATTERN: Final = re.compile(r"[*?\[]")
_LIST: Final = "license_expression"
_ADD: Final = "correct the name, or add the repository to repos"
_LICENCES: Final = "take a name of https://spdx.org/licenses, or a shell pattern of such names"


def repositories_used(recipe: Recipe) -> Iterator[tuple[str, str]]:
    """Yield (key, repository) for each repository that lists of `recipe` name."""
    yield from (("holdout.repositories", name) for name in recipe.holdout.repositories)
    for key in ("denied_commits", "denied_symbols"):
        yield from ((f"history.{key}", _repository(entry)) for entry in getattr(recipe.history, key))
    yield from (("promotion.failed_units", _repository(unit)) for unit in recipe.promotion.failed_units)


def name_faults(recipe: Recipe, also_known: Collection[str] = ()) -> Iterator[SpecError]:
    """Yield an error for each name that is no repository of `recipe` or of `also_known`, or no licence."""
    known = [text.partition("@")[0] for text in recipe.repos]
    for key, name in repositories_used(recipe):
        if name not in known and name not in also_known:
            yield SpecError.unknown(key, name, known, _ADD)
    if find_spec(_LIST) is None:
        return  # Without the extra `build` no file is judged by its licence.
    for key in ("licenses_allowed", "licenses_denied"):
        for pattern in getattr(recipe.curation, key):
            if not all(map(_is_licence, pattern.split(_WITH))):
                yield _unknown_licence(f"curation.{key}", pattern)


def _repository(entry: str) -> str:
    """Return NAME of an entry such as NAME:PATH."""
    return entry.partition(":")[0]


def _is_licence(pattern: str) -> bool:
    """Return whether a name or a shell pattern can match a licence or an exception."""
    if pattern == _UNKNOWN or pattern.startswith(_OWN):
        return True
    names = _spdx().known_symbols
    return any(fnmatchcase(name, pattern) for name in names) if _PATTERN.search(pattern) else pattern in names


def _unknown_licence(key: str, pattern: str) -> SpecError:
    names = [name for name in _spdx().known_symbols if not name.startswith(_OWN)]
    closest = _new_name(pattern) or closest_name(pattern, names)
    expected = "SPDX names, or shell patterns that match at least one"
    return SpecError(f"{key} {pattern!r}", expected=expected, found="an unknown name", closest=closest, do=_LICENCES)


def _new_name(text: str) -> str:
    """Return the SPDX name for one that is spelled otherwise or was replaced, such as GPL-2.0; else ""."""
    spellings = ((alias, name) for name, symbol in _spdx().known_symbols.items() for alias in (name, *symbol.aliases))
    return next((name for alias, name in spellings if alias.lower() == text.lower()), "")


@cache
def _spdx() -> Any:
    # Imported here: only a recipe with licences needs the list.
    from license_expression import get_spdx_licensing  # noqa: PLC0415

    return get_spdx_licensing()
