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
_PLACEHOLDERS: Final = {"url": "https://example.org/owner/name", "ref": "tip"}
"""Values in place of wrong or missing ones, so that the other keys of an entry are checked too."""
RELEASES = r"([A-Za-z]+[-_]?)?[0-9]+([._-][0-9]+)*"
"""Matches the tags `11.0.2`, `v6.10`, `boost-1.86.0`, `llvmorg-19.1.0`, `v2024.08.05.00`, and no candidate or beta."""
SIZE_CLASSES = ("S", "M", "L", "H")
VERSION_CONTROL = ("git", "fossil", "cvs", "mercurial", "depot")
"""Version control systems. `depot`: many repositories that a tool of the project combines."""
ACCESS = ("open", "account", "rejected")
HISTORIES = ("none", "first-parent", "full")
ORIGINS = ("user", "reference", "scripts", "ours")
_CORRECT: Final = "correct it"
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
        if self.source_bytes < 0:
            raise SpecError(f"{where}.source_bytes", expected="0 or more", found=str(self.source_bytes), do=_CORRECT)
        for owner in self.submodule_owners:
            require_owner(owner, f"{where}.submodule_owners")
        _require_expression(self.tags, f"{where}.tags")
        if self.access != "open" and not self.note.strip():
            raise SpecError(f"{where}.note", expected="the reason why it is not open", found="none", do="add a note")

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


class Catalogue(dict[str, CatalogueEntry | SpecError]):
    """The entries of a catalogue. `file` is the TOML file that a recipe names, or "" for a shipped catalogue."""

    def __init__(self, entries: Entries, file: str = "") -> None:
        super().__init__(entries)
        self.file = file

    @property
    def advice(self) -> str:
        """What to do if a repository is unknown."""
        add = "add yours with megacpp repos add"
        return f"correct the name, add it to {self.file}, or {add}" if self.file else f"correct the name, or {add}"


def load_catalogue(name: str, root: Path) -> Catalogue:
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
        do = f"correct {name}"
        return Catalogue({**_added(root / USER_CATALOGUE), **_parse(_text(Path(name), do), name, do)}, name)
    entries: dict[str, CatalogueEntry | SpecError] = {}
    for part in _FILES[name]:
        shipped = resources.files("megacpp_assets.repos").joinpath("shipped", f"catalogue_{part}.toml")
        entries |= _parse(shipped.read_text(encoding="utf-8"), f"catalogue {part}", "report it: the package ships it")
    return Catalogue({**entries, **_added(root / USER_CATALOGUE)})


def known_entry(name: str, root: Path) -> CatalogueEntry | None:
    """Return the repository `name` of this data root, else of a shipped catalogue."""
    entry = {**load_catalogue("sample", root), **load_catalogue("extended", root)}.get(name)
    if isinstance(entry, SpecError):
        raise entry
    return entry


def add_entry(entry: CatalogueEntry, root: Path) -> None:
    """Add a repository to the data root's own catalogue."""
    path = root / USER_CATALOGUE
    document = tomlkit.parse(_text(path, _anew(path))) if path.exists() else tomlkit.document()
    tables = dict(document.get("repo", {}))
    tables[entry.name] = {key: value for key, value in asdict(entry).items() if key != "name"}
    write_atomic(path, tomlkit.dumps({"repo": {name: tables[name] for name in sorted(tables)}}).encode())


def _require_choice(entry: CatalogueEntry, key: str, choices: Sequence[str]) -> None:
    value = getattr(entry, key)
    if value not in choices:
        expected, closest = f"one of {', '.join(choices)}", closest_name(value, choices)
        raise SpecError(f"repo.{entry.name}.{key}", expected=expected, found=repr(value), closest=closest, do=_CORRECT)


def _require_expression(text: str, where: str) -> None:
    try:
        re.compile(text)
    except (re.error, RecursionError) as error:
        raise SpecError(where, expected="a regular expression", found=f"{text!r}: {error}", do=_CORRECT) from error


def _added(path: Path) -> dict[str, CatalogueEntry | SpecError]:
    return _parse(_text(path, _anew(path)), str(path), _anew(path)) if path.exists() else {}


def _anew(path: Path) -> str:
    return f"correct {path}, or remove it and add its repositories anew with megacpp repos add"


def _text(path: Path, do: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(str(path), expected="a readable file in UTF-8", found=str(error), do=do) from error


def _parse(text: str, where: str, do: str) -> dict[str, CatalogueEntry | SpecError]:
    """Return the entries of the file `where`. `do` is the advice of every error."""
    try:
        raw = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SpecError(where, expected="TOML", found=str(error), do=do) from error
    for key in raw:
        if key != "repo":
            expected, found = "tables [repo.NAME] and nothing else", f"the key {key}"
            raise SpecError(f"{where}: {key}", expected=expected, found=found, do=do)
    tables = raw.get("repo", {})
    if not isinstance(tables, dict):
        raise SpecError(f"{where}: repo", expected="tables [repo.NAME]", found=_kind(tables), do=do)
    return {name: _entry(name, table, where, do) for name, table in tables.items()}


def _entry(name: str, table: Any, where: str, do: str) -> CatalogueEntry | SpecError:
    """Return the entry of a table, or one error that names each of its wrong keys."""
    if not isinstance(table, dict):
        return SpecError(f"{where}: repo.{name}", expected="a table", found=_kind(table), do=do)
    faults: list[SpecError] = []
    entry = _made(name, _valid_values(name, table, faults), faults)
    if entry is not None and not faults:
        return entry
    if len(faults) == 1:
        return faults[0].within(where).advised(do)
    said = [f"{where}: {len(faults)} values of repo.{name} are wrong", *(str(each.advised("")) for each in faults)]
    return SpecError("\n  ".join(said), do=do)


def _valid_values(name: str, table: Mapping[str, Any], faults: list[SpecError]) -> dict[str, Any]:
    """Return the known keys of `table` that have values of their kind. An error of each other key goes to `faults`."""
    known = {field.name: field for field in fields(CatalogueEntry) if field.name != "name"}
    unknown = {key: closest_name(key, known) for key in table if key not in known}
    for key, closest in unknown.items():
        expected = None if closest else f"one of {', '.join(known)}"
        error = SpecError(f"repo.{name}.{key}", expected=expected, found="an unknown key", closest=closest, do=_CORRECT)
        faults.append(error)
    values = {}
    for key, field in known.items():
        wanted = _wanted(field)
        found = _kind(table[key]) if key in table else "nothing"
        if found == wanted:
            values[key] = tuple(table[key]) if isinstance(table[key], list) else table[key]
        elif key in table or (field.default is MISSING and key not in unknown.values()):
            faults.append(SpecError(f"repo.{name}.{key}", expected=wanted, found=found, do=_CORRECT))
    return values


def _made(name: str, values: dict[str, Any], faults: list[SpecError]) -> CatalogueEntry | None:
    """Return the entry. A rejected value is appended to `faults` and left out, so that further faults are found."""
    while True:
        try:
            return CatalogueEntry(name=name, **{**_PLACEHOLDERS, **values})
        except SpecError as error:
            # The name and the reference are rejected together. If the placeholder is rejected too, the name is wrong.
            key = error.what.removeprefix(f"repo.{name}.") if error.what.startswith("repo.") else "ref"
            if key in values or key not in _PLACEHOLDERS or not faults:
                faults.append(error)
            if key not in values:
                return None
            del values[key]


def _wanted(field: Field[Any]) -> str:
    """Return the kind of a key's values, in the words of `_kind`."""
    kinds = {"bool": "true or false", "int": "a number", "tuple[str, ...]": "a list of texts"}
    return kinds.get(str(field.type), "a text")


def _kind(value: Any) -> str:
    """Return the kind of a TOML value, in words."""
    if isinstance(value, list):
        if value and all(isinstance(item, dict) for item in value):
            return "a list of tables"
        return "a list of texts" if all(isinstance(item, str) for item in value) else "a list of other kinds"
    kinds = {bool: "true or false", str: "a text", dict: "a table", int: "a number", float: "a number"}
    return kinds.get(type(value), "a date or time")
