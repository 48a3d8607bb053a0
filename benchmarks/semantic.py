"""Semantic index: parsing, walking, painting and linking beside bare libclang, a walk in Python, and clangd.

Both sides, with their threads and workers, are held to one core. A source is a repository as URL@REF or PATH@REF;
without any: fmt and googletest as the catalogue pins them, from MEGACPP_GIT_MIRROR where that is set. `--every N` takes
one file of N, which is quicker and makes the cost of precompiled headers look larger than it is. `plain` and `preorder`
are measured when they are named: their peers take longest and no goal is held against them.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import _clangd
import _libclang
from _arguments import positive, run
from _cores import choose, hold
from _harness import RUNS, Figure, Meter, compare, compare_woven, report

from megacpp_assets.compute.executors.executor import Batch, BatchExecutor, Outcome, Result
from megacpp_assets.compute.executors.folders import SharedFolder
from megacpp_assets.compute.executors.local import LocalPool
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.names import DOCUMENT_TOKENS
from megacpp_assets.contract.recipe.documents import SemanticRecipe
from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.curation.stage import CuratedFilesSpec
from megacpp_assets.curation.stage import run as curate
from megacpp_assets.repos.catalogue import CatalogueEntry, load_catalogue
from megacpp_assets.repos.pins import pin
from megacpp_assets.repos.stage import PinnedReposSpec
from megacpp_assets.repos.stage import run as fetch
from megacpp_assets.semantic import stage
from megacpp_assets.semantic.commands.plan import Unit
from megacpp_assets.semantic.commands.toolchain import Toolchain, find_toolchain
from megacpp_assets.semantic.graph.analysis.analysis import analyse
from megacpp_assets.semantic.graph.repository import Repository, build_repository
from megacpp_assets.semantic.parsing.parse import DEFAULT_OPTIONS, parse_tree
from megacpp_assets.semantic.parsing.parsed import FLAG_OVERLOADED, ParsedFile
from megacpp_assets.semantic.parsing.planning import Question, make_plan
from megacpp_assets.semantic.stage import SemanticJsonlSpec
from megacpp_assets.semantic.tree.export import Sources, export
from megacpp_assets.semantic.tree.folder import WORK_FOLDER
from megacpp_assets.storage.git_objects import blob_reader, source_files
from megacpp_assets.storage.work import read_work

BENCH = "semantic"
CATALOGUE = "upstream"
REPOSITORIES = ("fmt", "googletest")
LEAST_CALLS = 0.995
"""Of the calls that a full parse gives a target, at least this share must have one in ours too."""
DATASETS = ("first", "again")
CHECKED_EVERY = 10
"""One unit of this many is looked at for that."""
IN_PROCESS = replace(DEFAULT_OPTIONS, limits=replace(DEFAULT_OPTIONS.limits, applied=False))


@dataclass(frozen=True, slots=True)
class Checkout:
    """A repository's files as `semantic_jsonl` takes them: `tree` holds them, `units` is the plan of their parses."""

    spec: SemanticJsonlSpec
    tree: Path
    sources: Sources
    files: tuple[SourceFile, ...]
    units: tuple[Unit, ...]

    @property
    def toolchain(self) -> Toolchain:
        """The compiler of both sides."""
        return self.spec.toolchain

    @property
    def name(self) -> str:
        """The repository and its tag."""
        return f"{self.spec.repo.name} {self.spec.repo.ref}"


class InProcess:
    """Runs batches here and now: what a process costs to start and to hand over is not what `bare` is about."""

    def run(
        self, function: Callable[[Batch], Result], batches: Iterable[Batch], *, timeout_s: float
    ) -> Iterator[Outcome[Result]]:
        """One outcome per batch."""
        return (Outcome(index, function(batch)) for index, batch in enumerate(batches))

    def provide(self, *folders: SharedFolder) -> None:
        """Prepare `folders`, which are read in their places."""
        for folder in folders:
            folder.prepare(folder.path)

    @property
    def here(self) -> BatchExecutor:
        """This process."""
        return self

    def close(self) -> None:
        """Nothing is held."""


class Weighing:
    """One worker process, whose largest resident size so far comes back with every batch."""

    def __init__(self) -> None:
        self._pool = LocalPool(1)
        self.megabytes = 0.0

    def run(
        self, function: Callable[[Batch], Result], batches: Iterable[Batch], *, timeout_s: float
    ) -> Iterator[Outcome[Result]]:
        """One outcome per batch."""
        for outcome in self._pool.run(partial(weighed, function), batches, timeout_s=timeout_s):
            value, megabytes = outcome.value or (None, 0.0)
            self.megabytes = max(self.megabytes, megabytes)
            yield Outcome(outcome.index, value, outcome.failure)

    def provide(self, *folders: SharedFolder) -> None:
        """Prepare `folders` for the worker."""
        self._pool.provide(*folders)

    @property
    def here(self) -> BatchExecutor:
        """This worker."""
        return self

    def close(self) -> None:
        """Stop the worker."""
        self._pool.close()


def weighed(function: Callable[[Batch], Result], batch: Batch) -> tuple[Result, float]:
    """What `function` gives, and the largest resident size of this process in MB."""
    return function(batch), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def bare(checkout: Checkout, runs: int, *, precompile: bool = True) -> None:
    """Everything in memory, documents aside, over the same parses by libclang alone, shared headers in both."""
    _libclang.load_library(checkout.toolchain)

    def both(meter: Meter) -> None:
        with _libclang.beside(meter):
            index(checkout, InProcess(), precompile=precompile)

    parse = "parse" if precompile else "plain parse"
    figure = Figure(BENCH, f"{parse} + walk + paint + link, {described(checkout)}", "CPU-s")
    compare_woven(figure, both, peer_name="libclang 18.1.1, same flags, parse only", runs=runs)


def plain(checkout: Checkout, runs: int) -> None:
    """`bare` without shared precompiled headers in either."""
    bare(checkout, runs, precompile=False)


def full(checkout: Checkout, runs: int, *, preorder: bool = False) -> None:
    """The same over a full parse of each unit and a walk in Python, with one worker process of ours."""
    _libclang.load_library(checkout.toolchain)
    require_calls(checkout, by_one_worker(checkout))

    def peer() -> None:
        _libclang.full_walk(checkout.tree, checkout.units, checkout.toolchain, preorder=preorder)

    figure = Figure(BENCH, f"index each unit, {described(checkout)}", "files/CPU-s", len(checkout.units))
    walk = "walk_preorder" if preorder else "main file's cursors"
    name = f"libclang 18.1.1 full parse, cindex, {walk}"
    compare(figure, lambda: by_one_worker(checkout), peer, peer_name=name, runs=runs, warm_up=False)


def preorder(checkout: Checkout, runs: int) -> None:
    """`full`, the walk in Python going through everything."""
    full(checkout, runs, preorder=True)


def clangd(checkout: Checkout, runs: int) -> None:
    """The whole repository, headers included, with one worker of ours and one of clangd's."""
    program, name = _clangd.find_clangd()

    def peer() -> None:
        with tempfile.TemporaryDirectory(prefix="megacpp-clangd-") as folder:
            _clangd.background_index(program, checkout.tree, checkout.units, Path(folder))

    figure = Figure(BENCH, f"whole repository, {described(checkout)}", "files/CPU-s", len(checkout.units))
    compare(figure, lambda: by_one_worker(checkout), peer, peer_name=name, runs=runs, warm_up=False)


def memory(checkout: Checkout, _runs: int) -> None:
    """The largest resident size of a worker process."""
    peak = Weighing()
    try:
        index(checkout, peak)
    finally:
        peak.close()
    report(Figure(BENCH, f"peak memory per worker, {described(checkout)}", "MB"), peak.megabytes)


def rerun(checkout: Checkout, _runs: int) -> None:
    """Units that the whole stage parses when nothing has changed, all files: for another dataset of the data root."""
    first, again = (stage.run(replace(checkout.spec, dataset=dataset)) for dataset in DATASETS)
    if [entry.sha256 for entry in first.manifest.files] != [entry.sha256 for entry in again.manifest.files]:
        raise SystemExit("what was not parsed again is not what was parsed")
    parsed = [float(read_work(artifact)["units_parsed"]) for artifact in (again, first)]
    figure = Figure(BENCH, f"units parsed again with nothing changed, {checkout.name}", "units")
    report(figure, *parsed, peer_name="the first run")


Measure = Callable[[Checkout, int], None]
TABLE: dict[str, Measure] = {"bare": bare, "clangd": clangd, "full": full, "rerun": rerun, "memory": memory}
FIGURES: dict[str, Measure] = TABLE | {"plain": plain, "preorder": preorder}


def index(checkout: Checkout, executor: BatchExecutor, *, precompile: bool = True) -> Repository:
    """Parse, walk, paint and link every file: all that `semantic_jsonl` does between its input and its documents."""
    shutil.rmtree(checkout.tree / WORK_FOLDER, ignore_errors=True)
    options = IN_PROCESS if isinstance(executor, InProcess) else DEFAULT_OPTIONS
    options = replace(options, precompile=precompile)
    found = parse_tree(checkout.tree, checkout.files, checkout.toolchain, executor, options=options)
    parsed: dict[str, ParsedFile] = {file.path: file for file in found}
    if failed := [file.path for file in found if file.status == "failed"]:
        raise SystemExit(f"{len(failed)} of {len(found)} files failed: their speed means nothing: {failed[:5]}")
    taken = ((file, text) for file, text in checkout.sources.taken if file.path in parsed)
    return build_repository([analyse(file, text, parsed[file.path])[0] for file, text in taken])


def by_one_worker(checkout: Checkout) -> Repository:
    """`index` with one worker process, started and ended here."""
    executor = LocalPool(1)
    try:
        return index(checkout, executor)
    finally:
        executor.close()


def require_calls(checkout: Checkout, repository: Repository) -> None:
    """`SystemExit` if full parses of some units give targets to calls that have none in `repository`."""
    lacking = total = 0
    parsed = {facts.parsed.path: facts.parsed for facts in repository.files}
    for unit in checkout.units[::CHECKED_EVERY]:
        cursors = parsed[unit.path].cursors
        assert cursors is not None
        sure = (cursors.kind == _libclang.CALL.value) & (cursors.uses >= 0) & ((cursors.flags & FLAG_OVERLOADED) == 0)
        ours = set(zip(cursors.start[sure].tolist(), cursors.end[sure].tolist(), strict=True))
        theirs = _libclang.called_places(checkout.tree, unit, checkout.toolchain)
        lacking, total = lacking + len(theirs - ours), total + len(theirs)
    if lacking > (1 - LEAST_CALLS) * total:
        raise SystemExit(
            f"{lacking} of {total} calls lack the target that a full parse gives them: speed means nothing"
        )


def described(checkout: Checkout) -> str:
    """The repository and its size, for the name of a figure."""
    return f"{checkout.name}, {len(checkout.units)} files"


@contextmanager
def checked_out(entry: CatalogueEntry, every: int) -> Iterator[Checkout]:
    """The files of `entry`, one of `every`, as `pinned_repos` and `semantic_jsonl` take them."""
    with tempfile.TemporaryDirectory(prefix="megacpp-bench-") as name:
        root, tree = Path(name, "root"), Path(name, "tree")
        root.mkdir()
        tree.mkdir()
        pinned = pin(entry, entry.ref, root)
        raw = fetch(PinnedReposSpec(root, pinned))
        for dataset in DATASETS:
            curate(CuratedFilesSpec(root, dataset, pinned.partition, pinned.license))
        with blob_reader(raw) as blobs:
            sources = export(tree, source_files(raw), blobs, SemanticRecipe().file_bytes)
        chosen = {file.path for file, _ in sources.taken[::every]}
        files = [*(file for file, _ in sources.taken), *sources.companions]
        files = [file if file.path in chosen else replace(file, skipped="not in the sample") for file in files]
        toolchain = find_toolchain()
        units = make_plan(
            Question(str(tree), tuple(files), DEFAULT_OPTIONS.standards, toolchain.header_roots, IN_PROCESS.limits)
        ).units
        spec = SemanticJsonlSpec(
            root,
            DATASETS[0],
            pinned.partition,
            pinned.commit,
            pinned.license,
            SemanticRecipe(),
            toolchain,
            (DOCUMENT_TOKENS,),
        )
        yield Checkout(spec, tree, sources, tuple(files), tuple(units))


def entries(sources: Sequence[str]) -> list[CatalogueEntry]:
    """What to measure. `SpecError` for a source that is not URL@REF."""
    if not sources:
        with tempfile.TemporaryDirectory() as nothing:
            known = load_catalogue(CATALOGUE, Path(nothing))
        return [entry for name in REPOSITORIES if isinstance(entry := known[name], CatalogueEntry)]
    return [_entry(source) for source in sources]


def _entry(source: str) -> CatalogueEntry:
    url, _, ref = source.rpartition("@")
    if not url or not ref:
        raise SpecError("source of the benchmark", expected="URL@REF or PATH@REF", found=repr(source))
    return CatalogueEntry(Path(url).name.removesuffix(".git"), url, ref)


def main(arguments: Sequence[str]) -> None:
    """Print every line; `SystemExit` with what to install or set if a peer or a source is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="*", metavar="SOURCE")
    parser.add_argument("--runs", type=positive, default=RUNS)
    parser.add_argument("--every", type=positive, default=1)
    parser.add_argument("--figures", default=",".join(TABLE), help="default: %(default)s")
    options = parser.parse_args(arguments)
    unknown = set(options.figures.split(",")) - FIGURES.keys()
    if unknown:
        parser.error(f"unknown figures: {', '.join(sorted(unknown))}")
    hold(choose(1))
    for entry in entries(options.sources):
        with checked_out(entry, options.every) as checkout:
            for name in options.figures.split(","):
                FIGURES[name](checkout, options.runs)


if __name__ == "__main__":
    run(main)
