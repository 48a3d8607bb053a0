"""References to commits: a tag becomes the commit it names; "tip" is resolved once and never moves by itself."""

from __future__ import annotations

import re
from pathlib import Path

from megacpp_assets.contract.corpus_lock import RepoPin
from megacpp_assets.contract.errors import SourcePinMismatch, SourceUnreachable, SpecError
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.repos.catalogue import CatalogueEntry
from megacpp_assets.repos.git import GitFailed, git
from megacpp_assets.repos.sources import MIRROR_VARIABLE, source_url

TIP = "tip"
_COMMIT = re.compile(r"[0-9a-f]{40}")


def pin(entry: CatalogueEntry, ref: str, root: Path) -> RepoPin:
    """Resolve `ref` of `entry` at its source: a tag, a branch, "tip" or a full commit id.

    Raises `SourceUnreachable` when the source does not answer and `SpecError` when it has no such reference.
    """
    if _COMMIT.fullmatch(ref):
        return _pin(entry, ref, git_ref=ref, commit=ref)
    if ref == TIP:
        commit = remote_references(entry.url, root).get("HEAD")
        if commit is None:
            raise SpecError(f"{entry.name}@tip", expected="a HEAD at the source", found="none")
        return _pin(entry, f"{TIP}-{commit[:12]}", git_ref=commit, commit=commit)
    git_ref, commit = _named(entry, ref, remote_references(entry.url, root))
    return _pin(entry, ref, git_ref=git_ref, commit=commit)


def verify_pin(existing: RepoPin, root: Path) -> None:
    """Ask the source whether the pinned reference still names the pinned commit.

    Raises `SourcePinMismatch` with both commits if it moved, `SourceUnreachable` if the source does not answer.
    """
    if existing.git_ref == existing.commit:
        return
    found = _commit_of(existing.git_ref, remote_references(existing.url, root))
    if found != existing.commit:
        raise SourcePinMismatch(
            f"{existing.name}@{existing.ref} ({existing.git_ref})",
            expected=f"commit {existing.commit}",
            found=f"commit {found}" if found else "no such reference",
            do="the tag was moved upstream; keep the pinned data, or pin the new commit under its own id",
        )


def remote_references(url: str, root: Path) -> dict[str, str]:
    """Reference name -> object id, as the source tells now (peeled tags as `refs/tags/x^{}`)."""
    source = source_url(url, root)
    try:
        lines = git("ls-remote", "--", source).decode(errors="replace").splitlines()
    except GitFailed as error:
        raise SourceUnreachable(
            f"repository {url}",
            expected=f"an answer from {source}",
            found=str(error),
            do=f"check the network, or set {MIRROR_VARIABLE} to a mirror template such as /srv/git/{{owner}}/{{name}}",
        ) from error
    return {name: commit for commit, _, name in (line.partition("\t") for line in lines)}


def _named(entry: CatalogueEntry, ref: str, references: dict[str, str]) -> tuple[str, str]:
    for git_ref in (f"refs/tags/{ref}", f"refs/heads/{ref}"):
        commit = _commit_of(git_ref, references)
        if commit is not None:
            return git_ref, commit
    tags = sorted(name.removeprefix("refs/tags/") for name in references if name.startswith("refs/tags/"))
    newest = ", ".join(tags[-5:]) or "none"
    raise SpecError(f"{entry.name}@{ref}", expected="a tag, a branch, tip or a commit id", found=f"tags {newest}")


def _commit_of(git_ref: str, references: dict[str, str]) -> str | None:
    return references.get(f"{git_ref}^{{}}") or references.get(git_ref)


def _pin(entry: CatalogueEntry, ref: str, *, git_ref: str, commit: str) -> RepoPin:
    # A branch moves: its name is not an identity, the commit is.
    if git_ref.startswith("refs/heads/"):
        ref, git_ref = f"{TIP}-{commit[:12]}", commit
    RepoRef.parse(f"{entry.name}@{ref}")
    return RepoPin(
        name=entry.name,
        ref=ref,
        git_ref=git_ref,
        commit=commit,
        url=entry.url,
        license=entry.license,
        specialist=entry.specialist,
        submodules=entry.submodules,
        submodule_owners=entry.submodule_owners,
    )
