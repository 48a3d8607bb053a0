"""Invariants of `pinned_repos`: the objects are those of the pinned commit, and the file list is its tree."""

from __future__ import annotations

from pathlib import Path

from megacpp_assets.contract.check import CheckResult
from megacpp_assets.contract.source_file import OBJECTS
from megacpp_assets.repos.fetch import PIN_REF
from megacpp_assets.repos.git import GitFailed, git
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.git_objects import source_files

CHECKS = ("commit_is_the_pinned_one", "objects_are_whole", "file_list_is_the_tree", "paths_are_unique", "has_sources")


def check(artifact: Artifact) -> list[CheckResult]:
    """Assert every invariant; results in the order of `CHECKS`."""
    git_dir = artifact.directory / OBJECTS
    commit = str(artifact.manifest.config["commit"])
    files = source_files(artifact)
    paths = [file.path for file in files]
    try:
        found = git("rev-parse", "--verify", f"{PIN_REF}^{{commit}}", git_dir=git_dir).decode().strip()
        missing = _missing_objects(git_dir, [file.blob for file in files if file.skipped != "submodule"])
        listed = git("ls-tree", "-r", "-z", "--full-tree", commit, git_dir=git_dir).split(b"\0")[:-1]
        tree = {line.partition(b"\t")[2].decode("utf-8", "backslashreplace") for line in listed}
    except GitFailed as error:
        return [CheckResult(name, False, "a readable repository", str(error)) for name in CHECKS]
    sources = sum(not file.skipped for file in files)
    return [
        CheckResult(CHECKS[0], found == commit, commit, found),
        CheckResult(CHECKS[1], not missing, "every listed blob", f"{len(missing)} missing: {missing[:3]}"),
        CheckResult(CHECKS[2], tree <= set(paths), f"{len(tree)} entries", f"{len(tree - set(paths))} not listed"),
        CheckResult(
            CHECKS[3], len(set(paths)) == len(paths), "each path once", f"{len(paths) - len(set(paths))} repeated"
        ),
        CheckResult(CHECKS[4], sources > 0, "at least one C or C++ file", str(sources)),
    ]


def _missing_objects(git_dir: Path, blobs: list[str]) -> list[str]:
    asked = "".join(f"{blob}\n" for blob in blobs).encode()
    answer = git("cat-file", "--batch-check", "--buffer", git_dir=git_dir, stdin=asked)
    return [line.split()[0] for line in answer.decode().splitlines() if line.endswith(" missing")]
