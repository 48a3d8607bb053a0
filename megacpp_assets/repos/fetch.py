"""Fetches one commit without history into a bare repository, then packs it: equal commits give equal bytes."""

from __future__ import annotations

import re
from pathlib import Path

from megacpp_assets.contract.errors import SourcePinMismatch, SourceUnreachable
from megacpp_assets.contract.lock.corpus_lock import RepoPin
from megacpp_assets.contract.recipe.documents import SourcesRecipe
from megacpp_assets.repos.git import GitFailed, git
from megacpp_assets.repos.limits import Tally
from megacpp_assets.repos.listing.survey import Surveyor, TreeSurvey
from megacpp_assets.repos.sources import MIRROR_VARIABLE, advice, local_path, source_url
from megacpp_assets.repos.submodules import find_submodules
from megacpp_assets.repos.upstream.again import asked_again

PIN_REF = "refs/megacpp/pin"
_GONE = re.compile("not our ref|couldn't find remote ref|unadvertised object", re.IGNORECASE)
"""Git's messages when the source answers and does not have the reference."""
_CONFIG = b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n"


def fetch_commit(pin: RepoPin, root: Path, git_dir: Path, limits: SourcesRecipe) -> TreeSurvey:
    """Fetch `pin`, and its submodules if wanted, into a new bare repository, and examine each entry once.

    Raises `SourceUnreachable`, `SourcePinMismatch` if the reference names another commit now, `SpecError` for a
    forbidden submodule, and `OverLimit`.
    """
    git("init", "--bare", "--quiet", "--object-format=sha1", str(git_dir))
    fetch_reference(pin.url, pin.git_ref, pin.commit, root=root, git_dir=git_dir, keep=PIN_REF)
    surveyor = Surveyor(git_dir, Tally(pin.partition.key, limits), links_wanted=pin.submodules)
    surveyor.look_at(pin.commit)
    submodules = find_submodules(pin, surveyor.links, surveyor.modules, git_dir) if surveyor.modules else []
    for index, module in enumerate(submodules):
        keep = f"refs/megacpp/submodule/{index:04d}"
        fetch_reference(module.url, module.commit, module.commit, root=root, git_dir=git_dir, keep=keep)
        surveyor.look_at_submodule(module)
    canonicalise(git_dir)
    return surveyor.survey


def fetch_reference(
    url: str,
    git_ref: str,
    commit: str,
    *,
    root: Path,
    git_dir: Path,
    keep: str,
    extent: tuple[str, ...] = ("--depth=1",),
) -> None:
    """Fetch `git_ref` into `git_dir` under the name `keep`. `extent` are git's options for how much history to
    fetch.

    Raises `SourceUnreachable`, and `SourcePinMismatch` if the source lacks the reference or it is not `commit` (any
    commit if that is "").
    """
    source = source_url(url, root)
    arguments = ("fetch", "--quiet", *extent, "--no-tags", "--no-write-fetch-head", "--", source)
    try:
        served_here = local_path(source) is not None
        asked_again(lambda: git(*arguments, f"+{git_ref}:{keep}", git_dir=git_dir, served_here=served_here))
    except GitFailed as error:
        if _GONE.search(str(error)):
            raise SourcePinMismatch(
                f"{url} {git_ref}",
                expected=f"commit {commit}",
                found=f"none of that name at {source} any more",
                do="upstream has rewritten its history or removed the tag: fetch it from a mirror that has the commit "
                f"({MIRROR_VARIABLE}), or take another reference with megacpp lock promote",
            ) from error
        raise SourceUnreachable(
            f"repository {url}",
            expected=f"{git_ref} from {source}",
            found=error.cause,
            do=advice(url, str(error)),
        ) from error
    found = git("rev-parse", "--verify", f"{keep}^{{commit}}", git_dir=git_dir).decode().strip()
    if commit and found != commit:
        raise SourcePinMismatch(
            f"{url} {git_ref}",
            expected=f"commit {commit}",
            found=f"commit {found}",
            do="the tag was moved upstream; pin the new commit under its own id, or restore the old one from a mirror",
        )
    git("update-ref", keep, found, git_dir=git_dir)


def canonicalise(git_dir: Path, *options: str) -> None:
    """Pack what the pins reach into one pack, and remove every file that depends on this machine or on the fetch.

    `options` are options of `git repack`.
    """
    git("repack", "-a", "-d", "-F", "-q", *options, git_dir=git_dir)
    (git_dir / "config").write_bytes(_CONFIG)
    keep = {git_dir / name for name in ("HEAD", "config", "shallow")}
    keep |= set((git_dir / "objects" / "pack").iterdir()) | set((git_dir / "refs").rglob("*"))
    for path in sorted(git_dir.rglob("*"), reverse=True):
        if path.is_file() and path not in keep:
            path.unlink()
