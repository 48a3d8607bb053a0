"""A history as the stages above `commits` read it: commits, blobs, licences, hold-out, and what is barred."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.names import ROOT_ROLE, VALID_SPLIT
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.recipe.curation import REPLACE, REPORT, CurationRecipe, hashed_file
from megacpp_assets.contract.recipe.documents import HoldoutRecipe
from megacpp_assets.contract.recipe.history import HistoryRecipe
from megacpp_assets.contract.recipe.whole import as_config
from megacpp_assets.contract.sources.commit import COMMITS_LIST, Commit, load_commit
from megacpp_assets.contract.sources.source_file import OBJECTS, SourceFile
from megacpp_assets.curation.benchmarks import load_benchmarks
from megacpp_assets.semantic.documents.roots.held_out import draw
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.budgets import budgets_of
from megacpp_assets.storage.curated import curated_files
from megacpp_assets.storage.git_objects import blob_reader, source_files
from megacpp_assets.storage.jsonl import json_lines, read_lines
from megacpp_assets.storage.root.layout import commits_path, curated_path, jsonl_path, raw_path
from megacpp_assets.versions.files import FileVersions
from megacpp_assets.versions.held import held_of
from megacpp_assets.versions.judge import Barred, ChangeRules
from megacpp_assets.versions.records import LineOrigin, names_of


@dataclass(frozen=True, slots=True)
class HistorySpec:
    """A pinned repository of a dataset, and what the recipe says of documents that are made of its commits.

    `removed` are the patterns of paths of which no text is in any document. Nor is there one with `benchmark_share` of
    an item of the sets `benchmarks`.
    """

    root: Path
    dataset: str
    repo: RepoRef
    license: str
    recipe: HistoryRecipe
    holdout: HoldoutRecipe
    without_secrets: bool = False
    removed: tuple[str, ...] = ()
    benchmarks: tuple[str, ...] = ()
    benchmark_share: float = 1.0

    @property
    def inputs(self) -> tuple[str, ...]:
        """The artifacts that `opened` reads, in its order."""
        repo = self.repo
        return (
            commits_path(self.dataset, repo),
            raw_path(repo),
            curated_path(self.dataset, repo),
            jsonl_path(self.dataset, repo),
        )

    def config(self, *keys: str) -> dict[str, Any]:
        """Return the settings that decide the documents of the listed commits. `keys` are those of `[history]`."""
        history = as_config(self.recipe)
        denied = [entry for entry in self.recipe.denied_symbols if entry.startswith(f"{self.repo.name}:")]
        return {
            "dataset": self.dataset,
            "repo": self.repo.name,
            "ref": self.repo.ref,
            "license": self.license,
            "history": {**{name: history[name] for name in keys}, "denied_symbols": denied},
            "holdout": as_config(self.holdout),
            "without_secrets": self.without_secrets,
            **({"removed": list(self.removed)} if self.removed else {}),
            **(self._benchmarks() if self.benchmarks else {}),
        }

    def _benchmarks(self) -> dict[str, Any]:
        sets = [hashed_file(line, "benchmarks")[0] for line in self.benchmarks]
        return {"benchmarks": sets, "benchmark_share": self.benchmark_share}


def history_spec(corpus: Corpus, partition: str) -> HistorySpec:
    """Return the history of the partition `NAME@REF` of `corpus`."""
    pin, recipe = corpus.pin(partition), corpus.recipe
    return HistorySpec(
        corpus.root,
        corpus.dataset,
        pin.partition,
        pin.license,
        recipe.history,
        recipe.holdout,
        without_secrets=recipe.curation.secrets == REPLACE,
        removed=corpus.lock.removed_paths(pin.name),
        benchmarks=_left_out(recipe.curation),
        benchmark_share=recipe.curation.benchmark_share,
    )


def _left_out(recipe: CurationRecipe) -> tuple[str, ...]:
    """Return the benchmark sets whose items are left out, not only reported."""
    return () if recipe.benchmark_action == REPORT else recipe.benchmarks


@dataclass(frozen=True, slots=True)
class Opened:
    """An open history: its commits (oldest first), its objects, the rules, and the origin of its documents."""

    commits: list[Commit]
    git_dir: Path
    judge: ChangeRules
    origin: LineOrigin


@contextmanager
def opened(spec: HistorySpec, inputs: Sequence[Artifact]) -> Iterator[Opened]:
    """Open the artifacts of `spec.inputs`. Raises `LineageGap` for objects that changed since they were published."""
    commits, raw, curated, semantic = inputs
    listed_files = source_files(raw)
    tip = curated_files(listed_files, curated)
    dropped = {file.path for file in tip if file.skipped} - {file.path for file in listed_files if file.skipped}
    listed = [load_commit(line) for line in json_lines(commits.file(COMMITS_LIST), commits.path)][::-1]
    origin = LineOrigin(spec.repo, _licences(spec, tip), hold_out(spec.repo.name, spec.holdout, semantic))
    benchmarks = load_benchmarks(spec.benchmarks)
    barred = Barred(spec.removed, frozenset(dropped), spec.without_secrets, benchmarks, spec.benchmark_share)
    with blob_reader(commits) as blobs:
        files = FileVersions(blobs, spec.recipe.file_bytes)
        chosen = _held_blobs(listed, [file for file in tip if file.language and not file.skipped], origin.validates)
        held = held_of(map(files.get, chosen), origin.validates, spec.holdout.near_copy)
        judge = ChangeRules(spec.repo.name, spec.recipe, files, barred, held)
        yield Opened(listed, commits.folder(OBJECTS), judge, origin)


def _held_blobs(
    commits: Sequence[Commit], tip: Sequence[SourceFile], validates: Callable[[Sequence[str]], bool]
) -> list[str]:
    """Return every version of held-out files once: those that commits changed, and those of the pinned commit."""
    changes = (change for commit in commits for change in commit.changes if validates(names_of(change)))
    blobs = [blob for change in changes for blob in change.sides if blob]
    return list(dict.fromkeys([*blobs, *(file.blob for file in tip if validates([file.path]))]))


def _licences(spec: HistorySpec, tip: list[SourceFile]) -> Callable[[Sequence[str]], str]:
    """Return a function from a file's names to its licence at the pinned commit, else the most common licence there."""
    by_path = {file.path: file.license for file in tip if not file.skipped}
    common = Counter(by_path.values()).most_common(1)
    default = common[0][0] if common else spec.license
    return lambda names: next((by_path[name] for name in names if name in by_path), default)


def hold_out(repository: str, recipe: HoldoutRecipe, semantic: Artifact) -> Callable[[Sequence[str]], bool]:
    """Return a function that decides by the names of a file of `repository` whether it is held out.

    A file that is held out at the pinned commit is held out in its whole history. A path that does not exist there is
    drawn like all paths.
    """
    held = set(_held_at_tip(semantic))
    known: dict[str, bool] = {}

    def validates(names: Sequence[str]) -> bool:
        for name in names:
            if name not in known:
                whole = repository in recipe.repositories
                low = draw(repository, name, recipe.salt) < recipe.share
                known[name] = whole or low or name in held
            if known[name]:
                return True
        return False

    return validates


def _held_at_tip(semantic: Artifact) -> Iterator[str]:
    """Yield the files that are held out at the pinned commit."""
    for line in read_lines(semantic, budgets_of(semantic)[0]):
        facts = line.head()[0] or line.record()
        if facts[c.SPLIT] == VALID_SPLIT:
            yield from (part["filepath"] for part in facts[c.CONSTITUENTS] if part["role"] == ROOT_ROLE)
