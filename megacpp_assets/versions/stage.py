"""Stage `commit_documents`: the listed commits of a repository to the documents of v2 and v3, as JSONL shards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.schemas import DOCUMENT_COLUMNS
from megacpp_assets.contract.step import Progress, silent
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.budgets import BUDGETS, by_budget
from megacpp_assets.storage.publish import Publication, Target, publish
from megacpp_assets.storage.root.layout import commit_documents_path
from megacpp_assets.versions.build import VersionBuilder
from megacpp_assets.versions.source import HistorySpec, history_spec, opened
from megacpp_assets.versions.spools import spools

VERSION: Final = str(8 + DOCUMENT_COLUMNS)
_DECISIVE: Final = ("file_bytes", "patch_bytes", "context_lines", "full_file", "drift")


@dataclass(frozen=True, slots=True)
class CommitDocumentsSpec:
    """The history of a repository, and the requested versions."""

    history: HistorySpec
    versions: tuple[str, ...]


def spec(corpus: Corpus, partition: str) -> CommitDocumentsSpec:
    """Return the spec of the partition `NAME@REF` of `corpus`. `SpecError` if no phase names such a version."""
    recipe = corpus.recipe
    if not recipe.commit_versions:
        do = "name one in the blend of a phase, as in phases.4k.blend = { v3_simple = 1.0 }"
        raise SpecError(f"recipe {recipe.dataset}", expected="a dataset version in a phase", found="none", do=do)
    return CommitDocumentsSpec(history_spec(corpus, partition), recipe.commit_versions)


def target(spec: CommitDocumentsSpec) -> Target:
    """Return the target of the documents of one repository."""
    history = spec.history
    return Target(
        root=history.root,
        path=commit_documents_path(history.dataset, history.repo),
        stage="commit_documents",
        partition=history.repo.key,
        version=VERSION,
        config={**history.config(*_DECISIVE), BUDGETS: list(spec.versions)},
        inputs=history.inputs,
    )


def run(spec: CommitDocumentsSpec, progress: Progress = silent) -> Artifact:
    """Render every listed commit. A current artifact is returned unchanged.

    A change that cannot be rendered is counted by its rule. Raises the errors of `publish`.
    """

    def produce(publication: Publication, inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
        with opened(spec.history, inputs) as source, spools(spec.versions) as spooled:
            builder = VersionBuilder(spec.versions, source.origin, source.judge)
            total = len(source.commits)
            builder.build(source.commits, spooled.emit, lambda done: progress(done, total))
            stats = spooled.write(publication, builder.left_out)
        return {"commits": total, **by_budget(stats, ("documents",))}

    return publish(target(spec), produce)
