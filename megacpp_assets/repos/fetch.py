"""Shallow fetch of one commit into a bare repository, then one canonical pack: equal commits give equal bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin

from megacpp_assets.contract.corpus_lock import RepoPin
from megacpp_assets.contract.errors import SourcePinMismatch, SourceUnreachable, SpecError
from megacpp_assets.repos.git import GitFailed, git
from megacpp_assets.repos.sources import MIRROR_VARIABLE, local_path, source_url

PIN_REF = "refs/megacpp/pin"
MAX_ENTRIES = 2_000_000
"""Tree entries after which a repository is taken for a tree bomb."""
_CONFIG = b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
_SUBMODULE_PATH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*(/[A-Za-z0-9][A-Za-z0-9._+-]*)*")


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One entry of the commit's tree, submodules expanded: git mode, object id, size in bytes, path."""

    mode: str
    object_id: str
    bytes: int
    path: str


def fetch_commit(pin: RepoPin, root: Path, git_dir: Path) -> list[TreeEntry]:
    """Fetch `pin` (and its submodules if it has them) into a new bare repository; return its tree in path order.

    Raises `SourceUnreachable`, or `SourcePinMismatch` when the reference no longer names the pinned commit.
    """
    git("init", "--bare", "--quiet", "--object-format=sha1", str(git_dir))
    _fetch(pin.url, pin.git_ref, pin.commit, root=root, git_dir=git_dir, keep=PIN_REF)
    entries = list(_tree(pin.commit, "", git_dir))
    if pin.submodules:
        entries += _fetch_submodules(pin, entries, root, git_dir)
    _canonicalise(git_dir)
    return sorted(entries, key=lambda entry: entry.path.encode("utf-8", "surrogateescape"))


def _fetch(url: str, git_ref: str, commit: str, *, root: Path, git_dir: Path, keep: str) -> None:
    source = source_url(url, root)
    arguments = ("fetch", "--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head", "--", source)
    try:
        git(*arguments, f"+{git_ref}:{keep}", git_dir=git_dir)
    except GitFailed as error:
        raise SourceUnreachable(
            f"repository {url}",
            expected=f"{git_ref} from {source}",
            found=str(error),
            do=f"check the network, or set {MIRROR_VARIABLE} to a mirror template such as /srv/git/{{owner}}/{{name}}",
        ) from error
    found = git("rev-parse", "--verify", f"{keep}^{{commit}}", git_dir=git_dir).decode().strip()
    if found != commit:
        raise SourcePinMismatch(
            f"{url} {git_ref}",
            expected=f"commit {commit}",
            found=f"commit {found}",
            do="the tag was moved upstream; pin the new commit under its own id, or restore the old one from a mirror",
        )
    git("update-ref", keep, commit, git_dir=git_dir)


def _tree(commit: str, prefix: str, git_dir: Path) -> Iterator[TreeEntry]:
    listing = git("ls-tree", "-r", "-z", "-l", "--full-tree", commit, git_dir=git_dir)
    lines = listing.split(b"\0")[:-1]
    if len(lines) > MAX_ENTRIES:
        raise SpecError(f"tree of {commit}", expected=f"at most {MAX_ENTRIES} entries", found=len(lines))
    for line in lines:
        head, _, name = line.partition(b"\t")
        mode, _, object_id, size = head.decode().split()
        path = prefix + name.decode("utf-8", "surrogateescape")
        yield TreeEntry(mode, object_id, int(size) if size != "-" else 0, path)


def _fetch_submodules(pin: RepoPin, entries: list[TreeEntry], root: Path, git_dir: Path) -> list[TreeEntry]:
    links = {entry.path: entry.object_id for entry in entries if entry.mode == "160000"}
    modules = next((entry.object_id for entry in entries if entry.path == ".gitmodules"), None)
    if modules is None or not links:
        return []
    added: list[TreeEntry] = []
    for index, (path, url) in enumerate(sorted(_submodule_urls(modules, git_dir).items())):
        if path in links:
            resolved = _resolve_submodule(pin.url, url)
            keep = f"refs/megacpp/submodule/{index:04d}"
            _fetch(resolved, links[path], links[path], root=root, git_dir=git_dir, keep=keep)
            added += _tree(links[path], f"{path}/", git_dir)
    return added


def _submodule_urls(blob: str, git_dir: Path) -> dict[str, str]:
    """Path -> URL from `.gitmodules`; entries with an odd path are left out (they stay gitlinks without content)."""
    settings: dict[str, dict[str, str]] = {}
    for item in git("config", "--blob", blob, "-z", "--list", git_dir=git_dir).decode(errors="replace").split("\0"):
        key, _, value = item.partition("\n")
        section, _, field = key.rpartition(".")
        if section.startswith("submodule.") and field in {"path", "url"}:
            settings.setdefault(section, {})[field] = value
    return {
        module["path"]: module["url"]
        for module in settings.values()
        if "url" in module and _SUBMODULE_PATH.fullmatch(module.get("path", ""))
    }


def _resolve_submodule(parent: str, url: str) -> str:
    if not url.startswith(("./", "../")):
        return url
    if local := local_path(parent):
        return str((local / url).resolve())
    return urljoin(parent.rstrip("/") + "/", url)


def _canonicalise(git_dir: Path) -> None:
    """One pack of what the pins reach, and no file that depends on this machine or on how the fetch went."""
    git("repack", "-a", "-d", "-F", "-q", git_dir=git_dir)
    (git_dir / "config").write_bytes(_CONFIG)
    keep = {git_dir / name for name in ("HEAD", "config", "shallow")}
    keep |= set((git_dir / "objects" / "pack").iterdir()) | set((git_dir / "refs").rglob("*"))
    for path in sorted(git_dir.rglob("*"), reverse=True):
        if path.is_file() and path not in keep:
            path.unlink()
