"""The catalogue: which repositories there are, where they live, their licence, size class and specialist (TOML)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path

import tomlkit

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.storage.atomic import write_atomic

USER_CATALOGUE = "catalogue.toml"
SIZE_CLASSES = ("S", "M", "L", "H")


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One repository. `ref` is the tag to pin by default, or "tip"; `specialist` the specialist it defines, or ""."""

    name: str
    url: str
    ref: str
    license: str = "NOASSERTION"
    specialist: str = ""
    size_class: str = "S"
    submodules: bool = False

    def __post_init__(self) -> None:
        RepoRef.parse(f"{self.name}@{self.ref}")
        if self.size_class not in SIZE_CLASSES:
            raise SpecError(f"catalogue entry {self.name}", expected="size_class S, M, L or H", found=self.size_class)


def load_catalogue(name: str, root: Path) -> dict[str, CatalogueEntry]:
    """The shipped catalogue `name` ("sample", "upstream") and what `megacpp repos add` put into this data root."""
    shipped = resources.files("megacpp_assets.repos").joinpath(f"catalogue_{name}.toml").read_text(encoding="utf-8")
    added = root / USER_CATALOGUE
    entries = _parse(shipped, f"catalogue {name}")
    if added.exists():
        entries |= _parse(added.read_text(encoding="utf-8"), str(added))
    return entries


def add_entry(entry: CatalogueEntry, root: Path) -> None:
    """Record a repository of the user's own in the data root."""
    path = root / USER_CATALOGUE
    entries = _parse(path.read_text(encoding="utf-8"), str(path)) if path.exists() else {}
    entries[entry.name] = entry
    tables = {name: {k: v for k, v in asdict(entries[name]).items() if k != "name"} for name in sorted(entries)}
    write_atomic(path, tomlkit.dumps({"repo": tables}).encode())


def _parse(text: str, where: str) -> dict[str, CatalogueEntry]:
    try:
        raw: Mapping[str, Mapping[str, object]] = tomllib.loads(text)["repo"]
        return {name: CatalogueEntry(name=name, **table) for name, table in raw.items()}  # type: ignore[arg-type]
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise SpecError(where, expected="tables [repo.NAME] with url, ref, license", found=str(error)) from error
