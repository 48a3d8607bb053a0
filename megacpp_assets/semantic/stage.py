"""Stage `semantic_jsonl`: parses the files of a pinned commit and writes documents of its definitions with context."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from megacpp_assets.compute.executors.executor import BatchExecutor
from megacpp_assets.compute.executors.select import open_executor
from megacpp_assets.compute.freed_memory import return_freed_memory
from megacpp_assets.compute.gc_disabled import gc_disabled
from megacpp_assets.contract import columns as c
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.lock.removal import without_removed
from megacpp_assets.contract.names import DEP_LEVEL_DEFINITION, LEFT_OUT
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.recipe.documents import HoldoutRecipe, SemanticRecipe, TokenizerRecipe
from megacpp_assets.contract.recipe.whole import as_config
from megacpp_assets.contract.schemas import DOCUMENT_COLUMNS
from megacpp_assets.contract.sources import file_policy
from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.contract.step import Progress, silent
from megacpp_assets.semantic.commands.database.configure import require_sandbox
from megacpp_assets.semantic.commands.database.configured import provide_database
from megacpp_assets.semantic.commands.toolchain import Toolchain, find_toolchain
from megacpp_assets.semantic.documents.account import Account, left_out
from megacpp_assets.semantic.documents.composer import Skipped
from megacpp_assets.semantic.documents.documents import documents, withhold_parts
from megacpp_assets.semantic.documents.judge import Judge
from megacpp_assets.semantic.documents.lots import LocalComposers, Materials, open_composers
from megacpp_assets.semantic.documents.measures.alone import names_defined, parsed_alone
from megacpp_assets.semantic.documents.measures.drawn import Draw, Drawn
from megacpp_assets.semantic.documents.measures.worth import Worth
from megacpp_assets.semantic.documents.records import Origin, record, write_shards
from megacpp_assets.semantic.documents.roots.budget import Budget
from megacpp_assets.semantic.documents.roots.denied import Answers, denied_roots
from megacpp_assets.semantic.documents.roots.held_out import hold_out
from megacpp_assets.semantic.documents.roots.lengths import Lengths
from megacpp_assets.semantic.documents.roots.vendored import VENDORED, vendored_files
from megacpp_assets.semantic.documents.symbols import write_coverage, write_skipped, write_symbols
from megacpp_assets.semantic.documents.text.document import Document
from megacpp_assets.semantic.graph.analysis.analyses import StoredItem, unread
from megacpp_assets.semantic.graph.analysis.kept import analyses
from megacpp_assets.semantic.graph.facts_store import FactsStore
from megacpp_assets.semantic.graph.link import EDGES
from megacpp_assets.semantic.graph.repository import Repository, build_repository
from megacpp_assets.semantic.labels.char_store import CharStore
from megacpp_assets.semantic.parsing.budget import OVER_BUDGET, CpuBudget
from megacpp_assets.semantic.parsing.lots import Crew
from megacpp_assets.semantic.parsing.parse import options_of, parse_into
from megacpp_assets.semantic.parsing.report import ParseReport
from megacpp_assets.semantic.parsing.stored.parsed_store import ParsedStore
from megacpp_assets.semantic.parsing.stored.reach import reach_of
from megacpp_assets.semantic.parsing.stored.unit_cache import Memory
from megacpp_assets.semantic.tree.export import Sources, export
from megacpp_assets.semantic.tree.headers import Library, export_headers
from megacpp_assets.semantic.tree.stored_by_path import StoredByPath
from megacpp_assets.semantic.tree.text import SourceText
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.budgets import BUDGETS, by_budget
from megacpp_assets.storage.caching.cache import Cache
from megacpp_assets.storage.curated import curated_files, licensed_folders, masked_answers, replaced_spans
from megacpp_assets.storage.git_objects import blob_reader, source_files
from megacpp_assets.storage.publish import Publication, Target, publish
from megacpp_assets.storage.root.layout import curated_path, jsonl_path, raw_path, semantic_cache_path
from megacpp_assets.storage.scratch import scratch_folder
from megacpp_assets.storage.work import write_work

VERSION = str(101 + DOCUMENT_COLUMNS)
ANALYSIS_SHARE = 8
"""Each of the two attempts to analyse a file gets this fraction of the file's CPU seconds."""
_cmake = cache(require_sandbox)
_toolchain = cache(find_toolchain)


class _Tree(NamedTuple):
    """What the parser sees: the files of documents and their texts, other files, and headers of other repositories."""

    files: Sequence[SourceFile]
    texts: StoredByPath[SourceText]
    companions: Sequence[SourceFile]
    stand_ins: Sequence[str]


class _Index(NamedTuple):
    """A linked repository with its characters, the files whose analysis failed, and the scratch folder."""

    repository: Repository
    store: CharStore
    lost: tuple[Skipped, ...]
    scratch: Path


@dataclass(frozen=True, slots=True)
class SemanticJsonlSpec:
    """A pinned repository of a dataset, the recipe's limits, and the compiler that reads it.

    The decisions of stage `curated_files` say which files are left out, and the licence of each. A file without one has
    that of the repository, `license`. `budgets` are maximum numbers of tokens of a document, ascending: documents are
    made for each. No document has text of files that match the patterns `removed`, or a definition of `denied_symbols`
    (path, name). The headers of the repositories `stand_ins` are used for parsing; no document is made of them here.
    `cmake_arguments` are for `configure`.
    """

    root: Path
    dataset: str
    repo: RepoRef
    commit: str
    license: str
    recipe: SemanticRecipe
    toolchain: Toolchain
    budgets: tuple[int, ...]
    holdout: HoldoutRecipe = field(default_factory=HoldoutRecipe)
    tokenizer: TokenizerRecipe = field(default_factory=TokenizerRecipe)
    removed: tuple[str, ...] = ()
    stand_ins: tuple[RepoRef, ...] = ()
    denied_symbols: tuple[tuple[str, str], ...] = ()
    cmake_arguments: tuple[str, ...] = ()


def spec(corpus: Corpus, partition: str) -> SemanticJsonlSpec:
    """Return the inputs of the partition `NAME@REF` of `corpus`. `EnvironmentLacks` without a working toolchain."""
    pin, recipe = corpus.pin(partition), corpus.recipe
    return SemanticJsonlSpec(
        corpus.root,
        corpus.dataset,
        pin.partition,
        pin.commit,
        pin.license,
        recipe.semantic,
        _toolchain(),
        recipe.budgets,
        recipe.holdout,
        recipe.tokenizer,
        corpus.lock.removed_paths(pin.name),
        corpus.stand_ins(pin.name),
        recipe.history.denied_symbols_of(pin.name),
        recipe.cmake_arguments.get(pin.name, ()) if recipe.semantic.configure else (),
    )


def target(spec: SemanticJsonlSpec) -> Target:
    """Return the artifact that indexing one repository makes."""
    return Target(
        root=spec.root,
        path=jsonl_path(spec.dataset, spec.repo),
        stage="semantic_jsonl",
        partition=spec.repo.key,
        version=VERSION,
        config={
            "dataset": spec.dataset,
            "repo": spec.repo.name,
            "ref": spec.repo.ref,
            "commit": spec.commit,
            "license": spec.license,
            "dep_level_def": DEP_LEVEL_DEFINITION,
            "toolchain": dict(spec.toolchain.identity),
            **({"cmake": _cmake()} if spec.recipe.configure else {}),
            **({"cmake_arguments": list(spec.cmake_arguments)} if spec.cmake_arguments else {}),
            **as_config(spec.recipe),
            "holdout": as_config(spec.holdout),
            **({} if spec.recipe.chars_per_token else {"tokenizer": as_config(spec.tokenizer)}),
            BUDGETS: list(spec.budgets),
            **({"removed": list(spec.removed)} if spec.removed else {}),
            **({"stand_ins": [repo.key for repo in spec.stand_ins]} if spec.stand_ins else {}),
            **({"denied_symbols": list(map(list, spec.denied_symbols))} if spec.denied_symbols else {}),
        },
        inputs=(raw_path(spec.repo), curated_path(spec.dataset, spec.repo), *map(raw_path, spec.stand_ins)),
    )


def run(spec: SemanticJsonlSpec, progress: Progress = silent) -> Artifact:
    """Parse, label, link and compose; a current artifact is returned unchanged.

    A file that cannot be read or parsed is recorded and never stops the run. Raises what `publish` and the executor
    raise.
    """

    def produce(publication: Publication, inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
        with scratch_folder("megacpp-semantic-") as scratch:
            (tree := scratch / "tree").mkdir()
            with blob_reader(inputs[0], replaced_spans(inputs[1])) as blobs:
                files = without_removed(curated_files(source_files(inputs[0]), inputs[1]), spec.removed)
                ids.update((file.path, file.blob) for file in files)
                sources = export(tree, files, blobs, spec.recipe.file_bytes)
                configured = {}
                if spec.recipe.configure:
                    every = source_files(inputs[0])
                    configured["configure"] = provide_database(scratch, every, blobs, spec.cmake_arguments)
            stand_ins = _stand_ins(tree, sources, dict(zip(spec.stand_ins, inputs[2:], strict=True)))
            laid_out = _laid_out(scratch, sources, stand_ins)
            sources = replace(sources, taken=())  # the scratch file has their texts
            index, report = _index(scratch, laid_out, spec, memory, progress)
            return_freed_memory()
            paths = [facts.source.path for facts in index.repository.files]
            licensed = licensed_folders(inputs[1], spec.license)
            copies = vendored_files(paths, spec.recipe.vendored, spec.repo.name, licensed)
            left_out = _only_context(index.repository, copies), masked_answers(inputs[1])
            stats = _write(publication, spec, (sources, *left_out), index, memory.store)
            headers = asdict(report)
            unread, warned = headers.pop("database_unread"), headers.pop("warned")
            database = {"database_unread": unread} if unread else {}
            database |= {"files_with_unread_response_file": len(warned)} if warned else {}
            return {**stats, **configured, **database, "shared_headers": headers}

    ids: dict[str, str] = {}
    memory = Memory(Cache(spec.root / semantic_cache_path()))
    artifact = publish(target(spec), produce)
    if memory.parsed or memory.reused:
        write_work(artifact, reach_of(memory, spec.repo.name, ids))
        memory.store.trim()
    return artifact


def _stand_ins(tree: Path, sources: Sources, others: Mapping[RepoRef, Artifact]) -> list[str]:
    """Export the headers of other repositories that sources may include, and return their paths in the tree."""
    with ExitStack() as opened:
        libraries = [
            Library(repo.name, source_files(artifact), opened.enter_context(blob_reader(artifact)))
            for repo, artifact in others.items()
        ]
        own = [file.path for file, _ in sources.taken] + [file.path for file in sources.companions]
        return export_headers(tree, (source.data for _, source in sources.taken), own, libraries)


def _laid_out(scratch: Path, sources: Sources, stand_ins: Sequence[str]) -> _Tree:
    """Return the tree in `scratch/tree`. The texts are stored in `scratch`."""
    texts = StoredByPath[SourceText](scratch / "texts.bin")
    texts.update((file.path, source) for file, source in sources.taken)
    return _Tree([file for file, _ in sources.taken], texts, sources.companions, stand_ins)


@gc_disabled
def _index(
    scratch: Path, tree: _Tree, spec: SemanticJsonlSpec, memory: Memory, progress: Progress
) -> tuple[_Index, ParseReport]:
    """Parse, analyse and link the files of `tree`."""
    files = [*tree.files, *tree.companions]
    reports = [ParseReport()]
    if not tree.files:
        return _Index(build_repository([]), CharStore(scratch).seal(), (), scratch), reports[-1]
    with open_executor() as executor:
        parsed = ParsedStore(scratch)
        parse_into(
            parsed, scratch / "tree", files, spec.toolchain, executor, progress=progress,
            options=options_of(spec.recipe), report=reports.append, memory=memory, stand_ins=tree.stand_ins,
        )  # fmt: skip
        for path in filter(tree.texts.__contains__, reports[-1].warned):
            tree.texts[path] = tree.texts[path].flagged(file_policy.RESPONSE_FILE)
        items = [StoredItem(file, tree.texts, parsed) for file in tree.files]
        return _analyse(scratch, items, spec.recipe, executor, memory.store), reports[-1]


def _analyse(
    scratch: Path, items: Sequence[StoredItem], recipe: SemanticRecipe, executor: BatchExecutor, known: Cache
) -> _Index:
    limits = options_of(recipe)
    cpu_s = recipe.file_cpu_seconds // ANALYSIS_SHARE
    cpu_budget = CpuBudget([item.path for item in items], limits.budget, limits.limits.wall_s)
    reasons: dict[str, str] = {}
    store, files = CharStore(scratch), FactsStore(scratch, len(items))
    number = {item.path: place for place, item in enumerate(items)}
    wanted = [item for item in items if item.reason != OVER_BUDGET]
    with tempfile.TemporaryDirectory(prefix="journals-", dir=scratch) as journals:
        crew = Crew(executor, cpu_budget, Path(journals))
        for analysed in analyses(wanted, crew, known, cpu_s=cpu_s, wall_s=float(cpu_s * recipe.wall_per_cpu)):
            path = analysed.facts.file.path
            cpu_budget.charge(path, analysed.cpu_ms)
            store.put(number[path], analysed.chars)
            files.put(number[path], analysed.facts)
            reasons[path] = analysed.reason
    lost: list[Skipped] = []
    for item in items:
        if item.path not in reasons or cpu_budget.rejects(item.path):
            files.put(number[item.path], unread(item, OVER_BUDGET).facts)
            reasons[item.path] = OVER_BUDGET
        if reasons[item.path]:
            lost.append(Skipped(item.path, "", 0, len(item.source.blob), reasons[item.path]))
    return_freed_memory()
    return _Index(build_repository(files.seal()), store.seal(), tuple(lost), scratch)


def _only_context(repository: Repository, copies: Mapping[str, str]) -> Mapping[str, str]:
    """Return the files that have no documents of their own, each with the reason: those that tools wrote, and `copies`
    of other projects, by the folder or file that is the copy."""
    flagged = (facts.source.path for facts in repository.files if file_policy.GENERATED in facts.source.flags)
    return dict.fromkeys(flagged, file_policy.GENERATED) | {path: VENDORED + copy for path, copy in copies.items()}


class _Records:
    """The records of one repository's documents. What becomes of its roots and files is counted on the way."""

    def __init__(self, spec: SemanticJsonlSpec, index: _Index, account: Account, chars_per_token: float) -> None:
        self._repository, self._store = index.repository, index.store
        self._first_budget, self._account, self._chars_per_token = spec.budgets[0], account, chars_per_token
        self._origin = Origin(spec.repo, spec.commit, spec.license)
        self.by_file: Counter[int] = Counter()
        """How many documents have roots of each file."""
        self.draw = Draw(spec.recipe.parsed_documents)

    def of(self, entries: Iterable[Document | Skipped], budget: int, worth: Worth) -> Iterator[dict[str, Any]]:
        """Yield the record of each document of `budget`."""
        for entry in entries:
            if isinstance(entry, Skipped):
                self._account.skip(entry)
                continue
            self._account.place(budget, entry)
            self.by_file.update({self._repository.nodes[first].file for first, _ in entry.roots})
            worth.add(entry)
            made = record(entry, self._repository, self._store, self._origin, self._chars_per_token)
            if budget == self._first_budget:
                facts = self._repository.files[entry.file]
                self.draw.add(made[c.DOC_ID], Drawn(entry.text, facts.file.language, facts.parsed.standard))
            yield made


@gc_disabled
def _write(
    publication: Publication,
    spec: SemanticJsonlSpec,
    files: tuple[Sources, Mapping[str, str], Answers],
    index: _Index,
    known: Cache,
) -> dict[str, Any]:
    """Write the documents of an index and their tables, and return the statistics.

    `files` has the sources, those of them that have no documents of their own, each with the reason, and the places of
    benchmark answers, whose text enters no document.
    """
    (sources, only_context, answers), (repository, store, lost, scratch) = files, index
    rejected = (Skipped(file.path, "", 0, file.bytes, reason) for file, reason in sources.rejected)
    measured = not spec.recipe.chars_per_token
    lengths = Lengths(lambda: (each.source.blob for each in repository.files), spec.tokenizer) if measured else None
    chars_per_token = Budget(1, spec.recipe.chars_per_token, lengths).chars_per_token
    account = Account(repository, [*lost, *rejected])
    held = hold_out(repository, spec.repo.name, spec.holdout, only_context)
    judge = Judge(repository, held, denied_roots(repository, answers, spec.denied_symbols))
    local = LocalComposers(Materials(repository, store, spec.recipe, lengths, held, judge.denied))
    withhold_parts(judge, local, spec.budgets)
    records, stats = _Records(spec, index, account, chars_per_token), {}
    with open_composers(scratch, local) as composers:
        for budget in spec.budgets:
            worth = Worth(repository, int(budget * chars_per_token))
            entries = documents(
                repository, store, spec.recipe, budget, judge, only_context=only_context, lengths=lengths,
                composers=composers,
            )  # fmt: skip
            shards = write_shards(publication, records.of(entries, budget, worth), budget)
            stats[budget] = {"shards": shards, **worth.as_stats()}
    symbols = write_symbols(publication, repository.files)
    coverage = write_coverage(publication, repository.files, sources.rejected, records.by_file)
    skipped = account.settle(spec.budgets)
    write_skipped(publication, skipped)
    defined, limits = names_defined(symbols.declared), options_of(spec.recipe).limits
    return {
        "symbols": symbols.rows,
        "chars_per_token": round(chars_per_token, 3),
        **by_budget(stats, ("documents", "characters")),
        **coverage,
        **parsed_alone(records.draw.documents, defined, spec.toolchain, limits, known),
        **_totals(repository, skipped),
        **({"left_out": left} if (left := left_out(skipped)) else {}),
    }


def _totals(repository: Repository, skipped: Sequence[Skipped]) -> dict[str, Any]:
    calls, types, references = (int((repository.edges.edge == edge).sum()) for edge in EDGES)
    reasons = Counter(_kind(entry.reason) for entry in skipped)
    return {
        "chunks": len(repository.nodes),
        "call_edges": calls,
        "type_edges": types,
        "reference_edges": references,
        "skipped": dict(sorted(reasons.items())),
    }


def _kind(reason: str) -> str:
    """Return a reason of the skip list without the place that it names."""
    ends = (": ",) if reason.startswith(LEFT_OUT) else (" as ", " of ")
    return min((reason.partition(end)[0] for end in ends), key=len)
