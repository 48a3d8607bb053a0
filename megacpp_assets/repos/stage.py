"""Stage `pinned_repos`: a pin of `corpus.lock` to the bare git objects of its commit and the list of its files."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from megacpp_assets.contract.corpus_lock import RepoPin
from megacpp_assets.contract.progress import Progress, silent
from megacpp_assets.contract.source_file import FILES_LIST, OBJECTS, SourceFile, dump_files
from megacpp_assets.repos.fetch import TreeEntry, fetch_commit
from megacpp_assets.repos.git import require_git
from megacpp_assets.repos.licences import UNKNOWN, repository_licence, with_file_licences
from megacpp_assets.repos.selection import select
from megacpp_assets.repos.submodules import Submodule
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.atomic import fsync_directory, fsync_file
from megacpp_assets.storage.git_objects import BlobReader, blob_reader_at
from megacpp_assets.storage.layout import raw_path
from megacpp_assets.storage.publish import Publication, Target, publish

VERSION = "1"


@dataclass(frozen=True, slots=True)
class PinnedReposSpec:
    """One pin, and the data root it is fetched into."""

    root: Path
    pin: RepoPin


def target(spec: PinnedReposSpec) -> Target:
    """The work of fetching one pin. The URL is left out: a mirror gives the same objects."""
    pin = spec.pin
    return Target(
        root=spec.root,
        path=raw_path(pin.partition),
        stage="pinned_repos",
        partition=pin.partition.key,
        version=VERSION,
        config={
            **{"name": pin.name, "ref": pin.ref, "commit": pin.commit, "license": pin.license},
            **({"submodules": True} if pin.submodules else {}),
        },
    )


def run(spec: PinnedReposSpec, progress: Progress = silent) -> Artifact:
    """Fetch the pinned commit; a current artifact is returned untouched.

    Raises `SourceUnreachable`, `SourcePinMismatch` (the tag moved) or `EnvironmentLacks` (git too old).
    """
    require_git()

    def produce(publication: Publication, _inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
        progress(0, 1)
        git_dir = publication.directory / OBJECTS
        try:
            entries, submodules = fetch_commit(spec.pin, spec.root, git_dir)
            files = _list_files(spec.pin, entries, git_dir)
        except BaseException:
            shutil.rmtree(git_dir, ignore_errors=True)
            raise
        _adopt(publication, git_dir)
        publication.write(FILES_LIST, dump_files(files), rows=len(files))
        progress(1, 1)
        return _stats(files) | _recorded(submodules)

    return publish(target(spec), produce)


def _list_files(pin: RepoPin, entries: list[TreeEntry], git_dir: Path) -> list[SourceFile]:
    with blob_reader_at(git_dir, pin.partition.key) as blobs:
        license_id = pin.license
        if license_id == UNKNOWN:
            license_id = repository_licence(_licence_texts(entries, blobs))
        return list(with_file_licences(select(entries, license_id), blobs))


def _licence_texts(entries: list[TreeEntry], blobs: BlobReader) -> list[bytes]:
    names = ("license", "licence", "copying")
    return [
        blobs.read(entry.object_id)
        for entry in entries
        if "/" not in entry.path and entry.mode.startswith("100") and entry.path.lower().startswith(names)
    ]


def _adopt(publication: Publication, git_dir: Path) -> None:
    for path in sorted(git_dir.rglob("*")):
        if path.is_dir():
            fsync_directory(path)
        else:
            fsync_file(path)
            publication.adopt(path.relative_to(publication.directory).as_posix())


def _recorded(submodules: list[Submodule]) -> dict[str, Any]:
    """What each submodule's part of the tree came from; nothing where there is none."""
    return {"submodules": [asdict(module) for module in submodules]} if submodules else {}


def _stats(files: list[SourceFile]) -> dict[str, Any]:
    selected = [file for file in files if not file.skipped]
    return {
        "files": len(files),
        "source_files": len(selected),
        "source_bytes": sum(file.bytes for file in selected),
        "headers": sum(file.header for file in selected),
        "licenses": sorted({file.license for file in selected}),
    }
