"""Shallow fetch of one commit into a bare repository, then one canonical pack: equal commits give equal bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from megacpp_assets.contract.corpus_lock import RepoPin
from megacpp_assets.contract.errors import SourcePinMismatch, SourceUnreachable, SpecError
from megacpp_assets.repos.git import GitFailed, git
from megacpp_assets.repos.sources import MIRROR_VARIABLE, source_url
from megacpp_assets.repos.submodules import MODULES_FILE, Submodule, find_submodules

PIN_REF = "refs/megacpp/pin"
MAX_ENTRIES = 2_000_000
"""Tree entries after which a repository is taken for a tree bomb."""
_CONFIG = b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n"


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One entry of the commit's tree, submodules expanded: git mode, object id, size in bytes, path."""

    mode: str
    object_id: str
    bytes: int
    path: str


def fetch_commit(pin: RepoPin, root: Path, git_dir: Path) -> tuple[list[TreeEntry], list[Submodule]]:
    """Fetch `pin` (and its submodules if it has them) into a new bare repository.

    Returns its tree in path order, and the submodules whose trees are part of that. Raises `SourceUnreachable`,
    `SourcePinMismatch` when the reference no longer names the pinned commit, `SpecError` for a forbidden submodule.
    """
    git("init", "--bare", "--quiet", "--object-format=sha1", str(git_dir))
    _fetch(pin.url, pin.git_ref, pin.commit, root=root, git_dir=git_dir, keep=PIN_REF)
    entries = list(_tree(pin.commit, "", git_dir))
    submodules, added = _fetch_submodules(pin, entries, root, git_dir) if pin.submodules else ([], [])
    _canonicalise(git_dir)
    return sorted(entries + added, key=lambda entry: entry.path.encode("utf-8", "surrogateescape")), submodules


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


def _fetch_submodules(
    pin: RepoPin, entries: list[TreeEntry], root: Path, git_dir: Path
) -> tuple[list[Submodule], list[TreeEntry]]:
    links = {entry.path: entry.object_id for entry in entries if entry.mode == "160000"}
    modules = next((entry.object_id for entry in entries if entry.path == MODULES_FILE), None)
    if modules is None or not links:
        return [], []
    found, added = find_submodules(pin, links, modules, git_dir), list[TreeEntry]()
    for index, module in enumerate(found):
        keep = f"refs/megacpp/submodule/{index:04d}"
        _fetch(module.url, module.commit, module.commit, root=root, git_dir=git_dir, keep=keep)
        added += _tree(module.commit, f"{module.path}/", git_dir)
    return found, added


def _canonicalise(git_dir: Path) -> None:
    """One pack of what the pins reach, and no file that depends on this machine or on how the fetch went."""
    git("repack", "-a", "-d", "-F", "-q", git_dir=git_dir)
    (git_dir / "config").write_bytes(_CONFIG)
    keep = {git_dir / name for name in ("HEAD", "config", "shallow")}
    keep |= set((git_dir / "objects" / "pack").iterdir()) | set((git_dir / "refs").rglob("*"))
    for path in sorted(git_dir.rglob("*"), reverse=True):
        if path.is_file() and path not in keep:
            path.unlink()
