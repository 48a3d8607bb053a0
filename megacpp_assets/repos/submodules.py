"""Decides which submodules may be fetched: by https, from the parent's owner or an owner that the catalogue entry
names.

`.gitmodules` is a stranger's text. A path, `file://` or a foreign owner could read private data of this machine or its
network into a corpus.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.lock.corpus_lock import RepoPin
from megacpp_assets.contract.sources.urls import shown_url
from megacpp_assets.repos.git import git
from megacpp_assets.repos.sources import owner_of

MODULES_FILE = ".gitmodules"
_PATH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*(/[A-Za-z0-9][A-Za-z0-9._+-]*)*")
_ADD = "megacpp repos add --submodules --submodule-owner"


@dataclass(frozen=True, slots=True)
class Submodule:
    """A submodule: its path in the parent, its own https URL (not that of a mirror), and its commit."""

    path: str
    url: str
    commit: str


def find_submodules(pin: RepoPin, links: Mapping[str, str], modules: str, git_dir: Path) -> list[Submodule]:
    """Return the submodules of `pin` in path order. `links` are path -> commit of its tree; `modules` is the blob of
    URLs.

    Entries with an odd path are left out and stay empty links. `SpecError` for a URL that is not allowed.
    """
    urls = _urls(modules, git_dir)
    return [Submodule(path, _resolved(pin, path, urls[path]), links[path]) for path in sorted(urls) if path in links]


def require_owner(owner: str, what: str) -> None:
    """Raise `SpecError` that names `what` unless `owner` is HOST/OWNER."""
    if owner_of(f"https://{owner}/name") != owner:
        found, do = repr(shown_url(owner)), "give the host and the owner, no scheme and no repository"
        raise SpecError(what, expected="HOST/OWNER such as github.com/boostorg", found=found, do=do)


def _resolved(pin: RepoPin, path: str, url: str) -> str:
    what = f"submodule {path} of {pin.name}@{pin.ref}"
    own = owner_of(pin.url)
    relative = url.startswith(("./", "../"))
    if relative and own is None:
        raise SpecError(
            what,
            expected=f"an https URL, as {shown_url(pin.url)} is none that {url!r} could be relative to",
            found=repr(url),
            do="add the repository by its https URL (MEGACPP_GIT_MIRROR may name clones on this machine), "
            "or without --submodules",
        )
    absolute = urljoin(pin.url.rstrip("/") + "/", url) if relative else url
    owner = owner_of(absolute)
    # urljoin removes control characters silently.
    if owner is None or not url.isprintable():
        do = "add the repository without --submodules"
        raise SpecError(what, expected="https://HOST/OWNER/NAME", found=repr(shown_url(url)), do=do)
    allowed = [*([own] if own else []), *pin.submodule_owners]
    if owner not in allowed:
        listed = " or ".join(f"https://{each}/" for each in allowed) or "a URL of a named owner"
        raise SpecError(what, expected=f"a URL below {listed}", found=repr(absolute), do=f"{_ADD} {owner}")
    return absolute


def _urls(blob: str, git_dir: Path) -> dict[str, str]:
    """Return path -> URL from `.gitmodules`."""
    settings: dict[str, dict[str, str]] = {}
    for item in git("config", "--blob", blob, "-z", "--list", git_dir=git_dir).decode(errors="replace").split("\0"):
        key, _, value = item.partition("\n")
        section, _, field = key.rpartition(".")
        if section.startswith("submodule.") and field in {"path", "url"}:
            settings.setdefault(section, {})[field] = value
    return {
        module["path"]: module["url"]
        for module in settings.values()
        if "url" in module and _PATH.fullmatch(module.get("path", ""))
    }
