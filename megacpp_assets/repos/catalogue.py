"""The catalogue: which repositories there are, where they live, their licence, size class and specialist (TOML)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, Field, asdict, dataclass, fields
from importlib import resources
from pathlib import Path
from typing import Any

import tomlkit

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.names import REPOSITORY_CATEGORIES
from megacpp_assets.contract.partition import RepoRef, require_label
from megacpp_assets.repos.licensing.licences import UNKNOWN
from megacpp_assets.repos.licensing.spdx import spdx_expression
from megacpp_assets.repos.sources import require_known_scheme
from megacpp_assets.repos.submodules import require_owner
from megacpp_assets.storage.atomic import write_atomic

USER_CATALOGUE = "catalogue.toml"
SHIPPED = ("sample", "upstream")
_MEND = "correct the file, or remove it and add its repositories anew with megacpp repos add"
RELEASES = r"([A-Za-z]+[-_]?)?[0-9]+([._-][0-9]+)*"
"""The tags `11.0.2`, `v6.10`, `boost-1.86.0`, `llvmorg-19.1.0`, `v2024.08.05.00`; none of a candidate or a beta."""
SIZE_CLASSES = ("S", "M", "L", "H")


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One repository. `ref` is the tag to pin by default, or "tip"; `specialist` the specialist it defines, or "",
    `category` what it is, one of `REPOSITORY_CATEGORIES`, or "".

    Its submodules come from its own HOST/OWNER, or from one that `submodule_owners` names. `tags` is the regular
    expression of those tags that are releases: a backfill and the sensor take no others. `SpecError` for a URL that is
    neither https without credentials nor local, a licence that is no SPDX expression, an unknown size class or
    category, and what is no expression.
    """

    name: str
    url: str
    ref: str
    license: str = UNKNOWN
    specialist: str = ""
    category: str = ""
    size_class: str = "S"
    submodules: bool = False
    submodule_owners: tuple[str, ...] = ()
    tags: str = RELEASES

    def __post_init__(self) -> None:
        where = f"repo.{self.name}"
        RepoRef.parse(f"{self.name}@{self.ref}")
        require_known_scheme(self.url, f"{where}.url")
        spdx_expression(self.license, f"{where}.license")
        if self.specialist:
            require_label(f"{where}.specialist", self.specialist)
        if self.size_class not in SIZE_CLASSES:
            raise SpecError(f"{where}.size_class", expected="S, M, L or H", found=repr(self.size_class))
        if self.category and self.category not in REPOSITORY_CATEGORIES:
            expected = f"one of {', '.join(REPOSITORY_CATEGORIES)}"
            raise SpecError(f"{where}.category", expected=expected, found=repr(self.category))
        for owner in self.submodule_owners:
            require_owner(owner, f"{where}.submodule_owners")
        _require_expression(self.tags, f"{where}.tags")


def load_catalogue(name: str, root: Path) -> dict[str, CatalogueEntry]:
    """The shipped catalogue `name` (one of `SHIPPED`), or the file at the path `name`, and what `megacpp repos add` put
    into this data root. `SpecError` for another name, or a file that is no catalogue.
    """
    if name not in SHIPPED:
        if not Path(name).is_file():
            expected = f"one of {', '.join(SHIPPED)}, or the path of a TOML file"
            raise SpecError(f"catalogue {name!r}", expected=expected, found="no such file")
        return _added(Path(name)) | _added(root / USER_CATALOGUE)
    shipped = resources.files("megacpp_assets.repos").joinpath("shipped", f"catalogue_{name}.toml")
    return _parse(shipped.read_text(encoding="utf-8"), f"catalogue {name}") | _added(root / USER_CATALOGUE)


def known_entry(name: str, root: Path) -> CatalogueEntry | None:
    """The repository `name` of this data root or of a shipped catalogue, in this order."""
    entries: dict[str, CatalogueEntry] = {}
    for shipped in SHIPPED:
        entries |= load_catalogue(shipped, root)
    return entries.get(name)


def add_entry(entry: CatalogueEntry, root: Path) -> None:
    """Record a repository of the user's own in the data root."""
    path = root / USER_CATALOGUE
    entries = {**_added(path), entry.name: entry}
    tables = {name: {k: v for k, v in asdict(entries[name]).items() if k != "name"} for name in sorted(entries)}
    write_atomic(path, tomlkit.dumps({"repo": tables}).encode())


def _require_expression(text: str, where: str) -> None:
    try:
        re.compile(text)
    except (re.error, RecursionError) as error:
        raise SpecError(where, expected="a regular expression", found=f"{text!r}: {error}") from error


def _added(path: Path) -> dict[str, CatalogueEntry]:
    if not path.exists():
        return {}
    try:
        return _parse(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(str(path), expected="a readable file in UTF-8", found=str(error), do=_MEND) from error


def _parse(text: str, where: str) -> dict[str, CatalogueEntry]:
    try:
        raw = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SpecError(where, expected="TOML", found=str(error), do=_MEND) from error
    for key in raw:
        _require(key == "repo", f"{where}: {key}", "tables [repo.NAME] and nothing else", f"the key {key}")
    tables = raw.get("repo", {})
    _require(isinstance(tables, dict), f"{where}: repo", "tables [repo.NAME]", _kind(tables))
    return {name: _entry(name, table, where) for name, table in tables.items()}


def _entry(name: str, table: Any, where: str) -> CatalogueEntry:
    path = f"{where}: repo.{name}"
    _require(isinstance(table, dict), path, "a table", _kind(table))
    known = {field.name: field for field in fields(CatalogueEntry) if field.name != "name"}
    for key in table:
        _require(key in known, f"{path}.{key}", f"one of {', '.join(known)}", "an unknown key")
    for key, field in known.items():
        _require_field(field, table, f"{path}.{key}")
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    try:
        return CatalogueEntry(name=name, **values)
    except SpecError as error:
        raise SpecError(f"{where}: {error}") from error


def _require_field(field: Field[Any], table: Mapping[str, Any], path: str) -> None:
    if field.name not in table:
        _require(field.default is not MISSING, path, "a text", "nothing")
        return
    value = table[field.name]
    wanted = {"bool": "true or false", "tuple[str, ...]": "a list of texts"}.get(str(field.type), "a text")
    _require(_kind(value) == wanted, path, wanted, _kind(value))


def _kind(value: Any) -> str:
    """What a TOML value is, in words."""
    if isinstance(value, list):
        return "a list of texts" if all(isinstance(item, str) for item in value) else "a list of other things"
    kinds = {bool: "true or false", str: "a text", dict: "a table", int: "a number", float: "a number"}
    return kinds.get(type(value), "a date or time")


def _require(holds: bool, path: str, expected: str, found: str) -> None:
    if not holds:
        raise SpecError(path, expected=expected, found=found, do=_MEND)
