"""Stage `commit_documents`: the listed commits of a repository to the documents of v2 and v3, as JSONL shards."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.document_sets import DocumentSet
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.names import ROOT_ROLE, VALID_SPLIT
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.progress import Progress, silent
from megacpp_assets.contract.recipe.curation import REPLACE
from megacpp_assets.contract.recipe.documents import HoldoutRecipe
from megacpp_assets.contract.recipe.history import HistoryRecipe
from megacpp_assets.contract.recipe.whole import as_config
from megacpp_assets.contract.sources.commit import COMMITS_LIST, Change, Commit, load_commit
from megacpp_assets.contract.sources.source_file import OBJECTS, SourceFile
from megacpp_assets.semantic.documents.held_out import draw
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.budgets import BUDGETS, budgets_of, by_budget
from megacpp_assets.storage.curated import curated_files
from megacpp_assets.storage.git_objects import blob_reader, source_files
from megacpp_assets.storage.jsonl import json_lines, read_lines, write_lines
from megacpp_assets.storage.layout import commit_documents_path, commits_path, curated_path, jsonl_path, raw_path
from megacpp_assets.storage.publish import Publication, Target, publish
from megacpp_assets.versions.build import Barred, Builder
from megacpp_assets.versions.files import FileVersions
from megacpp_assets.versions.records import Origin

VERSION: Final = "2"
SHARD_DOCUMENTS: Final = 5000


@dataclass(frozen=True, slots=True)
class CommitDocumentsSpec:
    """A pinned repository of a dataset, the versions that are wanted, and what the recipe says of them.

    `removed` are the patterns of paths of which no text is in any document.
    """

    root: Path
    dataset: str
    repo: RepoRef
    license: str
    versions: tuple[str, ...]
    recipe: HistoryRecipe
    holdout: HoldoutRecipe
    without_secrets: bool = False
    removed: tuple[str, ...] = ()


def spec(corpus: Corpus, partition: str) -> CommitDocumentsSpec:
    """What the partition `NAME@REF` of `corpus` is made from. `SpecError` if no phase names a dataset version."""
    pin, recipe = corpus.pin(partition), corpus.recipe
    if not recipe.versions:
        do = "name one in the blend of a phase, as in phases.4k.blend = { v3_simple = 1.0 }"
        raise SpecError(f"recipe {recipe.dataset}", expected="a dataset version in a phase", found="none", do=do)
    return CommitDocumentsSpec(
        corpus.root,
        corpus.dataset,
        pin.partition,
        pin.license,
        recipe.versions,
        recipe.history,
        recipe.holdout,
        without_secrets=recipe.curation.secrets == REPLACE,
        removed=corpus.lock.removed_paths(pin.name),
    )


def target(spec: CommitDocumentsSpec) -> Target:
    """The work of rendering the commits of one repository."""
    return Target(
        root=spec.root,
        path=commit_documents_path(spec.dataset, spec.repo),
        stage="commit_documents",
        partition=spec.repo.key,
        version=VERSION,
        config={
            "dataset": spec.dataset,
            "repo": spec.repo.name,
            "ref": spec.repo.ref,
            "license": spec.license,
            BUDGETS: list(spec.versions),
            "history": _decisive(spec),
            "holdout": as_config(spec.holdout),
            "without_secrets": spec.without_secrets,
            **({"removed": list(spec.removed)} if spec.removed else {}),
        },
        inputs=(
            commits_path(spec.dataset, spec.repo),
            raw_path(spec.repo),
            curated_path(spec.dataset, spec.repo),
            jsonl_path(spec.dataset, spec.repo),
        ),
    )


def _decisive(spec: CommitDocumentsSpec) -> dict[str, Any]:
    """What of the recipe decides documents, given the listed commits."""
    config = as_config(spec.recipe)
    denied = [entry for entry in spec.recipe.denied_symbols if entry.startswith(f"{spec.repo.name}:")]
    wanted = ("file_bytes", "patch_bytes", "context_lines", "full_file", "drift")
    return {**{name: config[name] for name in wanted}, "denied_symbols": denied}


def run(spec: CommitDocumentsSpec, progress: Progress = silent) -> Artifact:
    """Render every listed commit; a current artifact is returned untouched.

    A change that cannot be rendered is counted by its rule, never fatal. Raises `SpecError` where a version has no
    document at all, and what `publish` raises.
    """

    def produce(publication: Publication, inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
        commits, raw, curated, semantic = inputs
        listed_files = source_files(raw)
        tip = curated_files(listed_files, curated)
        dropped = {file.path for file in tip if file.skipped} - {file.path for file in listed_files if file.skipped}
        listed = [load_commit(line) for line in json_lines(commits.file(COMMITS_LIST), commits.path)][::-1]
        origin = Origin(spec.repo, _licences(spec, tip), _hold_out(spec, listed, semantic))
        with blob_reader(commits) as blobs, ExitStack() as stack:
            spools = {version: stack.enter_context(tempfile.TemporaryFile()) for version in spec.versions}
            tallies = {version: Counter[str]() for version in spec.versions}

            def emit(version: str, line: bytes) -> None:
                spools[version].write(line)
                tallies[version]["documents"] += 1
                tallies[version]["json_bytes"] += len(line)

            files = FileVersions(blobs, spec.recipe.file_bytes)
            barred = Barred(spec.removed, frozenset(dropped), spec.without_secrets)
            builder = Builder(commits.folder(OBJECTS), spec.recipe, spec.versions, origin, files, barred)
            builder.build(listed, emit, lambda done: progress(done, len(listed)))
            _require_documents(spec, builder, tallies)
            told: dict[DocumentSet, dict[str, Any]] = {}
            for version in spec.versions:
                shards = _write(publication, version, spools[version])
                left_out = dict(sorted(builder.left_out[version].items()))
                told[version] = {**tallies[version], "shards": shards, "left_out": left_out}
        return {"commits": len(listed), **by_budget(told, ("documents",))}

    return publish(target(spec), produce)


def _write(publication: Publication, version: str, spool: IO[bytes]) -> int:
    """Write the lines of `spool` as shards of the version; how many there are."""
    spool.seek(0)
    shards = 0
    while lines := list(islice(spool, SHARD_DOCUMENTS)):
        with publication.file(c.of_budget(version, c.jsonl_shard(shards))) as pending:
            write_lines(pending.path, lines)
            pending.rows = len(lines)
        shards += 1
    return shards


def _require_documents(spec: CommitDocumentsSpec, builder: Builder, tallies: Mapping[str, Counter[str]]) -> None:
    """`SpecError` with the counts by rule where a version has no document: nothing empty is published."""
    for version in spec.versions:
        if not tallies[version]["documents"]:
            counts = ", ".join(f"{rule} {count}" for rule, count in sorted(builder.left_out[version].items()))
            raise SpecError(
                f"{version} documents of {spec.repo.key}",
                expected="at least one",
                found=f"none; left out: {counts or 'nothing'}",
                do="widen [history] in the recipe, or take the version out of its phases",
            )


def _licences(spec: CommitDocumentsSpec, tip: list[SourceFile]) -> Callable[[Change], str]:
    """The licence of a change: that of the file at the pinned commit, else of the most files there."""
    by_path = {file.path: file.license for file in tip if not file.skipped}
    common = Counter(by_path.values()).most_common(1)
    default = common[0][0] if common else spec.license
    return lambda change: next((by_path[name] for name in (change.path, *change.names) if name in by_path), default)


def _hold_out(spec: CommitDocumentsSpec, commits: list[Commit], semantic: Artifact) -> Callable[[Change], bool]:
    """Whether a file validates: one that validates at the pinned commit does so all through its history.

    A path that is no longer there has its own lot, as every path has.
    """
    held = set(_held_at_tip(semantic))
    lots: dict[str, bool] = {}

    def validates(change: Change) -> bool:
        for name in (change.path, change.old_path, *change.names):
            if name not in lots:
                whole = spec.repo.name in spec.holdout.repositories
                low = draw(spec.repo.name, name, spec.holdout.salt) < spec.holdout.share
                lots[name] = whole or low or name in held
            if lots[name]:
                return True
        return False

    return validates


def _held_at_tip(semantic: Artifact) -> Iterator[str]:
    """The files that validate at the pinned commit."""
    for line in read_lines(semantic, budgets_of(semantic)[0]):
        facts = line.head()[0] or line.record()
        if facts[c.SPLIT] == VALID_SPLIT:
            yield from (part["filepath"] for part in facts[c.CONSTITUENTS] if part["role"] == ROOT_ROLE)
