"""Invariants of `pinned_repos`: the objects are those of the pinned commit, and the file list is its tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from megacpp_assets.contract.sources.source_file import OBJECTS
from megacpp_assets.contract.step import CheckResult
from megacpp_assets.quality.shared.table import Check, Verdict, fail_all, run_checks
from megacpp_assets.repos.fetch import PIN_REF
from megacpp_assets.repos.git import GitFailed, git
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.git_objects import source_files


@dataclass(frozen=True, slots=True)
class _Repository:
    """The repository as its checks read it.

    `found` is the commit that git resolves, `missing` are listed blobs that git lacks, and `tree` has the paths of the
    commit's tree. `paths` are those of the file list, of which `sources` are C or C++ files.
    """

    commit: str
    found: str
    missing: list[str]
    tree: set[str]
    paths: list[str]
    sources: int


def check(artifact: Artifact) -> list[CheckResult]:
    """Return the results of all checks, in the order of `CHECKS`."""
    try:
        return run_checks(CHECKS, _read(artifact))
    except GitFailed as error:
        return fail_all(CHECKS, f"no readable repository: {error.cause}")


def _read(artifact: Artifact) -> _Repository:
    git_dir = artifact.directory / OBJECTS
    commit = str(artifact.manifest.config["commit"])
    files = source_files(artifact)
    blobs = "".join(f"{file.blob}\n" for file in files if file.skipped != "submodule")
    answer = git("cat-file", "--batch-check", "--buffer", git_dir=git_dir, stdin=blobs.encode())
    listed = git("ls-tree", "-r", "-z", "--full-tree", commit, git_dir=git_dir).split(b"\0")[:-1]
    return _Repository(
        commit=commit,
        found=git("rev-parse", "--verify", f"{PIN_REF}^{{commit}}", git_dir=git_dir).decode().strip(),
        missing=[line.split()[0] for line in answer.decode().splitlines() if line.endswith(" missing")],
        tree={line.partition(b"\t")[2].decode("utf-8", "backslashreplace") for line in listed},
        paths=[file.path for file in files],
        sources=sum(not file.skipped for file in files),
    )


def _pinned(repository: _Repository) -> Verdict:
    return Verdict(repository.found == repository.commit, f"{repository.found}, pinned is {repository.commit}")


def _whole(repository: _Repository) -> Verdict:
    return Verdict(not repository.missing, f"{len(repository.missing)} missing: {repository.missing[:3]}")


def _listed(repository: _Repository) -> Verdict:
    lost = repository.tree - set(repository.paths)
    return Verdict(not lost, f"{len(lost)} of {len(repository.tree)} entries not listed")


def _unique(repository: _Repository) -> Verdict:
    repeated = len(repository.paths) - len(set(repository.paths))
    return Verdict(not repeated, f"{repeated} repeated")


def _has_sources(repository: _Repository) -> Verdict:
    return Verdict(repository.sources > 0, f"{repository.sources} of {len(repository.paths)} entries")


CHECKS: Final = (
    Check("commit_is_the_pinned_one", "the commit that corpus.lock pinned", _pinned),
    Check("objects_are_whole", "every listed blob", _whole),
    Check("file_list_is_the_tree", "every entry of the commit's tree listed", _listed),
    Check("paths_are_unique", "each path once", _unique),
    Check("has_sources", "at least one C or C++ file", _has_sources),
)
