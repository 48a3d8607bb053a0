"""The catalogue: known repositories with their source, licence, size class and specialist (TOML)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, asdict, dataclass, fields
from importlib import resources
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import tomlkit

from megacpp_assets.contract.errors import SpecError, closest_name
from megacpp_assets.contract.names import REPOSITORY_CATEGORIES
from megacpp_assets.contract.partition import RepoRef, require_label
from megacpp_assets.repos.licensing.licences import UNKNOWN
from megacpp_assets.repos.licensing.spdx import spdx_expression
from megacpp_assets.repos.sources import require_known_scheme
from megacpp_assets.repos.submodules import require_owner
from megacpp_assets.storage.atomic import write_atomic

USER_CATALOGUE = "catalogue.toml"
_FILES: Final = {"sample": ("sample",), "upstream": ("upstream",), "extended": ("upstream", "extended")}
SHIPPED: Final = tuple(_FILES)
"""The catalogues of the package: the embedded sample, the eight repositories of the corpus, and all 142."""
_MEND = "correct the file, or remove it and add its repositories anew with megacpp repos add"
RELEASES = r"([A-Za-z]+[-_]?)?[0-9]+([._-][0-9]+)*"
"""Matches the tags `11.0.2`, `v6.10`, `boost-1.86.0`, `llvmorg-19.1.0`, `v2024.08.05.00`, and no candidate or beta."""
SIZE_CLASSES = ("S", "M", "L", "H")
VERSION_CONTROL = ("git", "fossil", "cvs", "mercurial", "depot")
"""Version control systems. `depot`: many repositories that a tool of the project combines."""
ACCESS = ("open", "account", "rejected")
HISTORIES = ("none", "first-parent", "full")
ORIGINS = ("user", "reference", "scripts", "ours")
_CHOICES = (
    ("size_class", SIZE_CLASSES),
    ("vcs", VERSION_CONTROL),
    ("access", ACCESS),
    ("history", HISTORIES),
    ("origin", ORIGINS),
)


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One repository.

    Attributes:
        url: What git fetches: https without credentials, an absolute path, or the sample.
        ref: The tag to pin by default, or "tip".
        license: The SPDX expression that the repository is expected to be under, or NOASSERTION.
        specialist: The specialist that the repository defines, or "".
        category: One of `REPOSITORY_CATEGORIES`, or "".
        submodule_owners: HOST/OWNER of submodules, beside the repository's own.
        tags: Regular expression of the tags that are releases; a backfill and the sensor take no others.
        canonical_url: Where the project keeps its sources, or "" where that is `url`.
        mirror_url: A read-only copy. Nothing is fetched from it.
        vcs: The project's own version control system, one of `VERSION_CONTROL`.
        access: "open"; "account" and "rejected" are not fetched, and `note` says why.
        history: Which commits a corpus of changes should take, one of `HISTORIES`.
        origin: Where the name comes from, one of `ORIGINS`.
        note: What a reader should know of the source.
        source_bytes: Bytes of its C and C++ files near `ref`, for `megacpp estimate`; 0 if nobody counted them.

    Raises:
        SpecError: A value is not of its kind, or an entry that is not open has no note.
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
    canonical_url: str = ""
    mirror_url: str = ""
    vcs: str = "git"
    access: str = "open"
    history: str = "none"
    origin: str = "user"
    note: str = ""
    source_bytes: int = 0

    def __post_init__(self) -> None:
        where = f"repo.{self.name}"
        RepoRef.parse(f"{self.name}@{self.ref}")
        require_known_scheme(self.url, f"{where}.url")
        for key in ("canonical_url", "mirror_url"):
            if value := getattr(self, key):
                require_known_scheme(value, f"{where}.{key}")
        spdx_expression(self.license, f"{where}.license")
        if self.specialist:
            require_label(f"{where}.specialist", self.specialist)
        if self.category:
            _require_choice(self, "category", REPOSITORY_CATEGORIES)
        for key, choices in _CHOICES:
            _require_choice(self, key, choices)
        if self.access != "open" and not self.note.strip():
            raise SpecError(f"{where}.note", expected="the reason why it is not open", found="none", do="add a note")
        if self.source_bytes < 0:
            raise SpecError(
                f"{where}.source_bytes", expected="0 or more", found=str(self.source_bytes), do="correct the entry"
            )
        for owner in self.submodule_owners:
            require_owner(owner, f"{where}.submodule_owners")
        _require_expression(self.tags, f"{where}.tags")

    @property
    def home(self) -> str:
        """Where the project keeps its sources."""
        return self.canonical_url or self.url

    @property
    def host(self) -> str:
        """The host of `home`; "" for a local path and the sample."""
        return urlsplit(self.home).netloc if self.home.startswith("https://") else ""

    def require_open(self) -> None:
        """Raise `SpecError` with the reason unless anybody may fetch the repository."""
        if self.access != "open":
            raise SpecError(
                f"repository {self.name}",
                expected="a source that is open to everybody",
                found=f"access {self.access!r}: {self.note}",
                do=f"leave {self.name} out",
            )


Entries = Mapping[str, CatalogueEntry | SpecError]
"""Repositories by name. A malformed entry is its error, which is raised when somebody asks for that repository."""


def load_catalogue(name: str, root: Path) -> Entries:
    """Return the entries of a shipped catalogue (one of `SHIPPED`) or of the file `name`, with those of `megacpp
    repos add`.

    An added entry replaces a shipped one of the same name, but not one of a file. `SpecError` for an unknown name, or a
    file that is not a catalogue.
    """
    if name not in SHIPPED:
        if not Path(name).is_file():
            expected = f"one of {', '.join(SHIPPED)}, or the path of a TOML file"
            close, do = closest_name(name, SHIPPED), "correct the name or the path"
            raise SpecError(f"catalogue {name!r}", closest=close, expected=expected, found="no such file", do=do)
        return {**_added(root / USER_CATALOGUE), **_parse(_text(Path(name)), name)}
    entries: dict[str, CatalogueEntry | SpecError] = {}
    for part in _FILES[name]:
        shipped = resources.files("megacpp_assets.repos").joinpath("shipped", f"catalogue_{part}.toml")
        entries |= _parse(shipped.read_text(encoding="utf-8"), f"catalogue {part}")
    return {**entries, **_added(root / USER_CATALOGUE)}


def known_entry(name: str, root: Path) -> CatalogueEntry | None:
    """Return the repository `name` of this data root, else of a shipped catalogue."""
    entry = {**load_catalogue("sample", root), **load_catalogue("extended", root)}.get(name)
    if isinstance(entry, SpecError):
        raise entry
    return entry


def add_entry(entry: CatalogueEntry, root: Path) -> None:
    """Add a repository to the data root's own catalogue."""
    path = root / USER_CATALOGUE
    document = tomlkit.parse(_text(path)) if path.exists() else tomlkit.document()
    tables = dict(document.get("repo", {}))
    tables[entry.name] = {key: value for key, value in asdict(entry).items() if key != "name"}
    write_atomic(path, tomlkit.dumps({"repo": {name: tables[name] for name in sorted(tables)}}).encode())


def _require_choice(entry: CatalogueEntry, key: str, choices: Sequence[str]) -> None:
    if getattr(entry, key) not in choices:
        expected = f"one of {', '.join(choices)}"
        raise SpecError(
            f"repo.{entry.name}.{key}", expected=expected, found=repr(getattr(entry, key)), do="correct the entry"
        )


def _require_expression(text: str, where: str) -> None:
    try:
        re.compile(text)
    except (re.error, RecursionError) as error:
        raise SpecError(
            where, expected="a regular expression", found=f"{text!r}: {error}", do="correct the entry"
        ) from error


def _added(path: Path) -> dict[str, CatalogueEntry | SpecError]:
    return _parse(_text(path), str(path)) if path.exists() else {}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(str(path), expected="a readable file in UTF-8", found=str(error), do=_MEND) from error


def _parse(text: str, where: str) -> dict[str, CatalogueEntry | SpecError]:
    try:
        raw = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SpecError(where, expected="TOML", found=str(error), do=_MEND) from error
    for key in raw:
        _require(key == "repo", f"{where}: {key}", "tables [repo.NAME] and nothing else", f"the key {key}")
    tables = raw.get("repo", {})
    _require(isinstance(tables, dict), f"{where}: repo", "tables [repo.NAME]", _kind(tables))
    return {name: _entry(name, table, where) for name, table in tables.items()}


def _entry(name: str, table: Any, where: str) -> CatalogueEntry | SpecError:
    try:
        return _checked(name, table, where)
    except SpecError as error:
        return error


def _checked(name: str, table: Any, where: str) -> CatalogueEntry:
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
        raise error.within(where) from error


def _require_field(field: Field[Any], table: Mapping[str, Any], path: str) -> None:
    if field.name not in table:
        _require(field.default is not MISSING, path, "a text", "nothing")
        return
    value = table[field.name]
    kinds = {"bool": "true or false", "int": "a number", "tuple[str, ...]": "a list of texts"}
    wanted = kinds.get(str(field.type), "a text")
    _require(_kind(value) == wanted, path, wanted, _kind(value))


def _kind(value: Any) -> str:
    """Return the kind of a TOML value, in words."""
    if isinstance(value, list):
        if value and all(isinstance(item, dict) for item in value):
            return "a list of tables"
        return "a list of texts" if all(isinstance(item, str) for item in value) else "a list of other kinds"
    kinds = {bool: "true or false", str: "a text", dict: "a table", int: "a number", float: "a number"}
    return kinds.get(type(value), "a date or time")


def _require(holds: bool, path: str, expected: str, found: str) -> None:
    if not holds:
        raise SpecError(path, expected=expected, found=found, do=_MEND)
