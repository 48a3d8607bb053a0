"""`packed_rows`: the enriched documents of all repositories come in, rows of one mixture come out.

Lengths of documents are read first and planned into rows. Then the rows are gathered in blocks of bounded size, so
memory does not grow with the corpus.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.document_sets import DocumentSet, order_of
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.lock.corpus_lock import RepoPin
from megacpp_assets.contract.names import TRAIN_SPLIT, VALID_SPLIT
from megacpp_assets.contract.partition import Mixture, RepoRef
from megacpp_assets.contract.recipe.documents import NEAR_COPY
from megacpp_assets.contract.recipe.rows import PackingRecipe
from megacpp_assets.contract.recipe.whole import as_config
from megacpp_assets.contract.schemas import DOCUMENT_COLUMNS, PACKED, ROW_GROUP_ROWS
from megacpp_assets.contract.step import Progress, silent
from megacpp_assets.packed.blend import shards_of_split
from megacpp_assets.packed.copies.definitions import Definitions, find_definitions
from megacpp_assets.packed.copies.duplicates import Clusters, find_clusters
from megacpp_assets.packed.mixture import repository_weight
from megacpp_assets.packed.overflow import write_overflow
from megacpp_assets.packed.plan import RowLimits, RowPlan
from megacpp_assets.packed.rows import RowBlock, RowBuffers, gather_rows
from megacpp_assets.packed.spools.decoded import decoded
from megacpp_assets.packed.spools.fim import ADDED, Draw
from megacpp_assets.packed.spools.rearranged import with_rearranged
from megacpp_assets.packed.spools.spool import Spool
from megacpp_assets.packed.strategies.choose import plan_rows
from megacpp_assets.packed.taken import Exclusions, times_taken
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.jsonl import write_lines
from megacpp_assets.storage.parquet import RowGroupWriter
from megacpp_assets.storage.publish import Publication, Target, publish
from megacpp_assets.storage.root.layout import enriched_path, packed_path

VERSION = str(18 + DOCUMENT_COLUMNS)
STAGE = "packed_rows"

FILE_TOKENS = 1 << 24
"""The most tokens of a data file: 4096 rows of the 4k phase."""
BLOCK_TOKENS = 1 << 22
"""The most tokens of a row group, which bounds memory: 1024 rows of the 4k phase, fewer of longer rows."""
_SCRATCH = ".scratch"


@dataclass(frozen=True, slots=True)
class PackedRowsSpec:
    """What the packed rows of one mixture are made from.

    Attributes:
        repos: the repositories of the dataset, each once.
        weights: sampling weight by repository; 1 for a repository that is not named.
        row_tokens: tokens of a row.
        document_tokens: budget of the mixture's own documents.
        seed: decides the order of rows and all draws.
        near_copy: share of token runs from which a document is a near-duplicate of a held-out one and is left out.
        packing: how rows are filled.
        duplicates: what happens to near-duplicates across repositories: a value of the recipe but "by_catalogue".
        definitions: what happens to documents whose definitions are near-duplicates: such a value.
        projects: first repository of the same URL, by repository, for catalogues that name a project twice.
        blend: other document sets with their weights. A document that an earlier set has too is taken from that set.
    """

    root: Path
    dataset: str
    mixture: Mixture
    repos: tuple[RepoRef, ...]
    weights: Mapping[str, float]
    row_tokens: int
    document_tokens: int
    seed: int
    near_copy: float = NEAR_COPY
    packing: PackingRecipe = field(default_factory=PackingRecipe)
    duplicates: str = "ignore"
    definitions: str = "ignore"
    projects: Mapping[str, str] = field(default_factory=dict)
    blend: Mapping[DocumentSet, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [repo.name for repo in self.repos]
        if not names or len(set(names)) < len(names):
            raise SpecError(
                f"mixture {self.mixture.key}",
                expected="each repository once",
                found=names or "none",
                do="correct repos of the recipe",
            )
        for name in self.weights:
            if name not in names:
                raise SpecError(
                    f"mixture {self.mixture.key}",
                    expected=f"{name} among its repositories",
                    found=names,
                    do="correct the weights of the specialist",
                )

    @property
    def budgets(self) -> tuple[DocumentSet, ...]:
        """The mixture's own document set, then the blended ones, sorted by budget and version."""
        return (self.document_tokens, *sorted(self.blend, key=order_of))

    @property
    def limits(self) -> RowLimits:
        """The most tokens and chunks of a row."""
        return RowLimits.of(self.row_tokens)

    @property
    def ordered_repos(self) -> tuple[RepoRef, ...]:
        """The repositories sorted by key, so that the order of the request does not matter."""
        return tuple(sorted(self.repos, key=lambda repo: repo.key.encode()))


def spec(corpus: Corpus, partition: str) -> PackedRowsSpec:
    """Return the spec of the partition `SPECIALIST/PHASE` of `corpus`."""
    mixture = corpus.mixture(partition)
    phase, recipe = corpus.recipe.phase(mixture.phase), corpus.recipe
    return PackedRowsSpec(
        corpus.root,
        corpus.dataset,
        mixture,
        corpus.repo_refs,
        corpus.weights(mixture.specialist),
        row_tokens=phase.row_tokens,
        document_tokens=phase.document_tokens,
        seed=recipe.mixture.seed,
        near_copy=recipe.holdout.near_copy,
        packing=recipe.packing,
        duplicates=recipe.duplicates(len(corpus.repo_refs)),
        definitions=recipe.definitions(len(corpus.repo_refs)),
        projects=_projects(corpus.lock.repos),
        blend=recipe.blend(mixture.phase),
    )


def _projects(pins: Iterable[RepoPin]) -> dict[str, str]:
    """Return the first repository with the same URL of each repository that is not the first."""
    first: dict[str, str] = {}
    by_name = sorted((pin.name, pin.url.rstrip("/").removesuffix(".git")) for pin in pins)
    names = {name: first.setdefault(url or name, name) for name, url in by_name}
    return {name: project for name, project in names.items() if name != project}


def target(spec: PackedRowsSpec) -> Target:
    """Return the artifact that `spec` describes: its path, configuration and inputs."""
    return Target(
        root=spec.root,
        path=packed_path(spec.dataset, spec.mixture),
        stage=STAGE,
        partition=spec.mixture.key,
        version=VERSION,
        config={
            "weights": dict(spec.weights),
            "seed": spec.seed,
            "near_copy": spec.near_copy,
            "repos": [repo.key for repo in spec.ordered_repos],
            "row_tokens": spec.limits.tokens,
            "document_tokens": spec.document_tokens,
            "blend": {str(budget): spec.blend[budget] for budget in spec.budgets[1:]},
            "max_chunks": spec.limits.chunks,
            "packing": as_config(spec.packing),
            "duplicates": spec.duplicates,
            "definitions": spec.definitions,
            "projects": dict(spec.projects),
        },
        inputs=tuple(enriched_path(spec.dataset, repo) for repo in spec.ordered_repos),
    )


def run(spec: PackedRowsSpec, progress: Progress = silent) -> Artifact:
    """Pack the mixture and publish its rows.

    Raises:
        PackOverflow: a document does not fit a row, and the recipe does not allow it to overflow.
        SchemaViolation: an enriched document breaks a rule that packing needs.
        SpecError: no repository has a training document.
    """

    def produce(publication: Publication, inputs: tuple[Artifact, ...]) -> dict[str, Any]:
        trained, held = (
            [shards_of_split(artifact, spec.budgets, split) for artifact in inputs]
            for split in (TRAIN_SPLIT, VALID_SPLIT)
        )
        with decoded(spec.root, spec.dataset, inputs, spec.budgets, spec.near_copy) as documents:
            scratch = publication.directory / _SCRATCH
            copies = _copies(spec, publication, trained)
            exclusions = Exclusions(documents.origins, documents.near, *copies.removed(spec, documents.train.documents))
            train = _split(spec, TRAIN_SPLIT, documents.train, scratch, exclusions)
            valid = _split(spec, VALID_SPLIT, documents.valid, scratch, Exclusions.none(documents.valid.documents))
            if not len(train.taken):
                raise SpecError(
                    f"mixture {spec.mixture.key}",
                    expected="at least one training document",
                    found="none",
                    do="add repositories, or hold out less (holdout.share)",
                )
            rows, first = train.plan.rows + valid.plan.rows, train.plan.rows
            _write(publication, TRAIN_SPLIT, train, spec.limits.tokens, lambda done: progress(done, rows))
            _write(publication, VALID_SPLIT, valid, spec.limits.tokens, lambda done: progress(first + done, rows))
            shutil.rmtree(scratch, ignore_errors=True)
        write_overflow(publication, TRAIN_SPLIT, trained, train.over)
        write_overflow(publication, VALID_SPLIT, held, valid.over)
        return _stats(spec, train, valid, copies)

    return publish(target(spec), produce)


@dataclass(frozen=True, slots=True)
class _Split:
    """The documents of one split and their rows.

    `times` (documents,) says how often each document is taken. `taken` (entries,) has the document of each entry, in
    source order; `plan` assigns entries to rows. `over` (documents,) flags documents that are too long for a row, and
    `exclusions` says which others are left out.
    """

    spool: Spool
    times: NDArray[np.int64]
    taken: NDArray[np.int64]
    plan: RowPlan
    exclusions: Exclusions
    over: NDArray[np.bool_]

    def per_source(self, amounts: NDArray[np.int64]) -> list[int]:
        """Return the sum per repository of a quantity per document."""
        running = np.concatenate([[0], np.cumsum(amounts)])
        return np.diff(running[self.spool.boundaries]).tolist()  # type: ignore[no-any-return]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each document."""
        return np.diff(self.spool.tokens.offsets[: self.spool.documents + 1])

    @property
    def tokens(self) -> int:
        """Tokens of all rows without padding: those of the documents, and the marks of rearranged ones."""
        return int((self.lengths * self.times).sum()) + ADDED * self.spool.rearranged


def _split(spec: PackedRowsSpec, split: str, spool: Spool, scratch: Path, exclusions: Exclusions) -> _Split:
    """Select the documents of `spool` that are not excluded, and plan their rows."""
    over = _over(spec, spool) & ~exclusions.mask
    is_eligible = ~(exclusions.mask | over)
    times = times_taken(spool, is_eligible, exclusions.origins.budget, _weights(spec, split), spec.seed)
    taken = np.repeat(np.arange(spool.documents), times)
    if split == TRAIN_SPLIT and spec.packing.fim_rate > 0:
        draw = Draw(spec.seed, spec.packing.fim_rate, spec.packing.fim_spm)
        spool, taken = with_rearranged(spool, taken, draw, spec.limits.tokens, scratch)
    plan = plan_rows(
        spec.packing.strategy,
        spool.tokens.lengths(taken),
        np.maximum(
            spool.chunks.lengths(taken), 1
        ),  # a document without chunks counts as one, so a row has at most as many documents as chunk slots
        limits=spec.limits,
        seed=spec.seed,
        name_of=lambda entry: spool.name(int(taken[entry])),
    )
    return _Split(spool, times, taken, plan, exclusions, over)


@dataclass(frozen=True, slots=True)
class _Copies:
    """The near-duplicates across repositories of training documents, and of their definitions.

    None if the recipe asks for no search.
    """

    documents: Clusters | None
    definitions: Definitions | None

    def removed(self, spec: PackedRowsSpec, documents: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return the masks of the documents that are left out: as copies, and for their definitions."""
        none = np.zeros(documents, dtype=np.bool_)
        twice = self.documents.removed(spec.duplicates) if self.documents else none
        return twice, self.definitions.removed(spec.definitions) if self.definitions else none

    def per_document(self, documents: int) -> dict[str, NDArray[np.int64]]:
        """Return statistics of each document by name."""
        none = np.zeros(documents, dtype=np.int64)
        of = self.definitions
        return {
            "copies": self.documents.copied.astype(np.int64) if self.documents else none,
            "definitions": of.per_document(np.ones_like(of.exact)) if of else none,
            "definition_copies": of.per_document(of.copied) if of else none,
        }


def _copies(spec: PackedRowsSpec, publication: Publication, trained: Sequence[Sequence[Path]]) -> _Copies:
    """Return the near-duplicates across repositories, and write their clusters to files of the artifact."""
    projects = [spec.projects.get(repo.name, repo.name) for repo in spec.ordered_repos]
    documents = definitions = None
    if spec.duplicates != "ignore":
        documents = find_clusters(trained, spec.near_copy, projects)
        _write_clusters(publication, c.DUPLICATES_FILE, documents.lines())
    if spec.definitions != "ignore":
        definitions = find_definitions(trained, spec.near_copy, projects)
        _write_clusters(publication, c.DEFINITIONS_FILE, definitions.lines())
    return _Copies(documents, definitions)


def _write_clusters(publication: Publication, name: str, lines: Iterable[bytes]) -> None:
    with publication.file(name) as pending:
        written = list(lines)
        write_lines(pending.path, written)
        pending.rows = len(written)


def _over(spec: PackedRowsSpec, spool: Spool) -> NDArray[np.bool_]:
    """Mask of the documents that are too long for a row, if the recipe writes these to a file; else all False."""
    if spec.packing.overflow != "file":
        return np.zeros(spool.documents, dtype=np.bool_)
    tokens, chunks = (np.diff(group.offsets) for group in (spool.tokens, spool.chunks))
    return np.asarray((tokens > spec.limits.tokens) | (chunks > spec.limits.chunks))


def _weights(spec: PackedRowsSpec, split: str) -> list[list[float]]:
    """Return how often a document is taken on average, by repository and document set."""
    repos = [repository_weight(repo.name, spec.weights, split=split) for repo in spec.ordered_repos]
    return [[weight * spec.blend.get(budget, 1.0) for budget in spec.budgets] for weight in repos]


def _write(
    publication: Publication, split: str, packed: _Split, row_tokens: int, progress: Callable[[int], None]
) -> None:
    """Write the rows of a split as data files; call `progress` with the number of rows done."""
    rows, file_rows = packed.plan.rows, max(1, FILE_TOKENS // row_tokens)
    block_rows = min(ROW_GROUP_ROWS, rows, max(1, BLOCK_TOKENS // row_tokens))
    # The writer still encodes one table while the next is made, so two sets of buffers alternate.
    buffers = cycle([RowBuffers(block_rows, row_tokens), RowBuffers(block_rows, row_tokens)])
    for index, first in enumerate(range(0, rows, file_rows)):
        end = min(rows, first + file_rows)
        with publication.file_by_content(partial(c.packed_shard, split, index)) as pending:
            for written in _write_rows(pending.path, packed, buffers, range(first, end)):
                progress(written)
            pending.rows = end - first


def _write_rows(path: Path, packed: _Split, all_buffers: Iterator[RowBuffers], rows: range) -> Iterator[int]:
    """Write the rows numbered `rows` as one file. After each row group, yield the number of the row after it."""
    start, buffers = rows.start, next(all_buffers)
    with RowGroupWriter(path, PACKED, group_rows=buffers.rows) as writer:
        while start < rows.stop:
            stop = min(rows.stop, start + buffers.rows)
            offsets = packed.plan.offsets[start : stop + 1]
            documents = packed.taken[packed.plan.documents[offsets[0] : offsets[-1]]]
            writer.write(gather_rows(packed.spool, RowBlock(start, documents, offsets - offsets[0]), buffers))
            yield stop
            start, buffers = stop, next(all_buffers)


def _stats(spec: PackedRowsSpec, train: _Split, valid: _Split, copies: _Copies) -> dict[str, Any]:
    tokens, valid_tokens = train.tokens, valid.tokens
    keys = [repo.key for repo in spec.ordered_repos]
    excluded = train.exclusions
    ones, near, budgets = np.ones_like(train.times), excluded.near.astype(np.int64), excluded.origins.budget
    per_budget = np.bincount(budgets, weights=train.times, minlength=len(spec.budgets)).astype(np.int64).tolist()
    return {
        "documents": len(train.taken),
        "tokens": tokens,
        "rows": train.plan.rows,
        "valid_documents": len(valid.taken),
        "valid_tokens": valid_tokens,
        "valid_rows": valid.plan.rows,
        "utilisation_ppm": tokens * 1_000_000 // (train.plan.rows * spec.limits.tokens),
        "rearranged_documents": train.spool.rearranged,
        "duplicate_documents": int((excluded.twice & ~excluded.near).sum()),
        "definition_documents": int((excluded.copied & ~excluded.twice & ~excluded.near).sum()),
        "overflow_documents": int(train.over.sum()),
        "valid_overflow_documents": int(valid.over.sum()),
        "source_documents_per_repo": dict(zip(keys, train.per_source(ones), strict=True)),
        **{
            f"{name}_per_repo": dict(zip(keys, train.per_source(amounts), strict=True))
            for name, amounts in copies.per_document(train.spool.documents).items()
        },
        "left_out_per_repo": dict(zip(keys, train.per_source(near), strict=True)),
        "documents_per_repo": dict(zip(keys, train.per_source(train.times), strict=True)),
        "documents_per_budget": dict(zip(map(str, spec.budgets), per_budget, strict=True)),
        "tokens_per_repo": dict(zip(keys, train.per_source(train.lengths * train.times), strict=True)),
        "row_tokens": spec.limits.tokens,
        "max_chunks": spec.limits.chunks,
    }
