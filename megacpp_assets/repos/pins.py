"""Resolves references to commits. A tag becomes the commit that it names; "tip" is resolved once and stays."""

from __future__ import annotations

import heapq
import re
from pathlib import Path

from megacpp_assets.contract.errors import SourcePinMismatch, SourceUnreachable, SpecError
from megacpp_assets.contract.lock.corpus_lock import RepoPin
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.repos.catalogue import CatalogueEntry
from megacpp_assets.repos.sample import TAGS as SAMPLE_TAGS
from megacpp_assets.repos.sources import SAMPLE_SCHEME, local_path, source_url
from megacpp_assets.repos.upstream.references import PEELED, commit_of, named_references, remote_references
from megacpp_assets.repos.upstream.tags import version_order

TIP = "tip"
_TAGS = "refs/tags/"
_SHOWN = 5
_LONGEST = 200
_COMMIT = re.compile(r"[0-9a-f]{40}")


def pin(entry: CatalogueEntry, ref: str, root: Path) -> RepoPin:
    """Resolve `ref` of `entry` at its source: a tag, a branch, "tip" or a full commit id.

    Raises `SourceUnreachable` if the source does not answer, `SpecError` if it lacks the reference or the entry is not
    open.
    """
    entry.require_open()
    if not ref.isprintable() or len(ref) > _LONGEST:
        expected = f"a tag, a branch, tip or a commit id of at most {_LONGEST} printable characters"
        raise SpecError(
            f"reference of {entry.name}",
            expected=expected,
            found=ascii(ref[:_LONGEST]),
            do="name a reference of the repository",
        )
    if _COMMIT.fullmatch(ref):
        return pin_at(entry, ref, git_ref=ref, commit=ref)
    if ref == TIP:
        commit = named_references(entry.url, root, "HEAD").get("HEAD")
        if commit is None:
            raise SpecError(
                f"{entry.name}@tip", expected="a HEAD at the source", found="none", do="name a tag or a branch"
            )
        return pin_at(entry, f"{TIP}-{commit[:12]}", git_ref=commit, commit=commit)
    git_ref, commit = _named(entry, ref, root)
    return pin_at(entry, ref, git_ref=git_ref, commit=commit)


def verify_pin(existing: RepoPin, root: Path) -> None:
    """Check at the source that the pinned reference still names the pinned commit.

    Raises `SourcePinMismatch` with both commits if it moved, `SourceUnreachable` if the source does not answer.
    """
    if existing.git_ref == existing.commit:
        return
    found = commit_of(existing.git_ref, named_references(existing.url, root, existing.git_ref))
    if found != existing.commit:
        raise SourcePinMismatch(
            f"{existing.name}@{existing.ref} ({existing.git_ref})",
            expected=f"commit {existing.commit}",
            found=f"commit {found}" if found else "no such reference",
            do="the tag was moved upstream; keep the pinned data, or pin the new commit under its own id",
        )


def lacks_tag(url: str, tag: str, root: Path) -> bool:
    """Return whether the source `url` is on this machine and has no tag `tag`. Other sources are not asked.

    A local mirror counts. The embedded repositories have the same tags before they are written to `root`.
    """
    folder = local_path(source_url(url, root))
    if url.startswith(SAMPLE_SCHEME) and not (folder and folder.is_dir()):
        return tag not in SAMPLE_TAGS
    if folder is None or not folder.is_dir():
        return False
    name = f"{_TAGS}{tag}"
    try:
        return name not in named_references(url, root, name)
    except SourceUnreachable:  # no repository of git: the run says so
        return False


def _named(entry: CatalogueEntry, ref: str, root: Path) -> tuple[str, str]:
    names = (f"{_TAGS}{ref}", f"refs/heads/{ref}")
    references = named_references(entry.url, root, *names)
    for git_ref in names:
        commit = commit_of(git_ref, references)
        if commit is not None:
            return git_ref, commit
    tags = (name.removeprefix(_TAGS) for name, _ in remote_references(entry.url, root, "--tags"))
    newest = heapq.nlargest(_SHOWN, (name for name in tags if not name.endswith(PEELED)), key=version_order)
    raise SpecError(
        f"{entry.name}@{ref}",
        expected="a tag, a branch, tip or a commit id",
        found=f"tags {', '.join(reversed(newest)) or 'none'}",
        do=f"name one that the source has; git ls-remote {source_url(entry.url, root)} lists them",
    )


def pin_at(entry: CatalogueEntry, ref: str, *, git_ref: str, commit: str) -> RepoPin:
    """Return the pin of `ref` at `commit`; the source calls it `git_ref`. `SpecError` if `ref` cannot name a
    partition.
    """
    # A branch moves, so the commit identifies it, not its name.
    if git_ref.startswith("refs/heads/"):
        ref, git_ref = f"{TIP}-{commit[:12]}", commit
    if not _COMMIT.fullmatch(commit):
        raise SpecError(
            f"repository {entry.name}",
            expected="commits of 40 hexadecimal digits (a git repository of --object-format=sha1)",
            found=f"commit {commit}",
            do=f"leave {entry.name} out, or give a mirror of it in the SHA-1 format",
        )
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
        category=entry.category,
    )
