"""Stage `pinned_repos`: from a pin of `corpus.lock` to the bare git objects of its commit and the list of its files."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.lock.corpus_lock import RepoPin
from megacpp_assets.contract.recipe.documents import SourcesRecipe
from megacpp_assets.contract.sources.source_file import FILES_LIST, OBJECTS
from megacpp_assets.contract.step import Progress, silent
from megacpp_assets.repos.apart import Fetching, fetch_apart
from megacpp_assets.repos.git import require_git
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.atomic import fsync_directory, fsync_file, undone_on_error
from megacpp_assets.storage.publish import Publication, Target, publish
from megacpp_assets.storage.root.layout import raw_path

VERSION = "4"


@dataclass(frozen=True, slots=True)
class PinnedReposSpec:
    """One pin, the data root that it is fetched into, and the limits of its repository. Limits do not change any
    byte.
    """

    root: Path
    pin: RepoPin
    limits: SourcesRecipe = field(default_factory=SourcesRecipe)


def spec(corpus: Corpus, partition: str) -> PinnedReposSpec:
    """Return what the partition `NAME@REF` of `corpus` is made from."""
    return PinnedReposSpec(corpus.root, corpus.pin(partition), corpus.recipe.sources)


def target(spec: PinnedReposSpec) -> Target:
    """Return the target of one pin. It leaves out the URL, because a mirror gives the same objects."""
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
    """Fetch the pinned commit. A current artifact is returned unchanged.

    Raises `SourceUnreachable`, `SourcePinMismatch` (the tag moved), `SpecError` (a forbidden submodule), `OverLimit` or
    `EnvironmentLacks` (git is too old).
    """
    require_git()

    def produce(publication: Publication, _inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
        progress(0, 1)
        git_dir = publication.directory / OBJECTS
        with publication.file(FILES_LIST) as pending:
            with undone_on_error(lambda: shutil.rmtree(git_dir)), undone_on_error(pending.path.unlink):
                listing = fetch_apart(Fetching(spec.pin, spec.root, spec.limits, git_dir, pending.path))
            pending.rows = listing.files
        adopt_objects(publication, git_dir)
        progress(1, 1)
        return listing.as_stats()

    return publish(target(spec), produce)


def adopt_objects(publication: Publication, git_dir: Path) -> None:
    """Add the files of a bare repository inside the publication to its manifest."""
    for path in sorted(git_dir.rglob("*")):
        if path.is_dir():
            fsync_directory(path)
        else:
            fsync_file(path)
            publication.adopt(path.relative_to(publication.directory).as_posix())
