"""Opens the graph of v5: a scratch folder for trees, the compiler, workers, and the cache of units."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from megacpp_assets.compute.executors.executor import BatchExecutor
from megacpp_assets.resolved.graph import ResolvedGraph
from megacpp_assets.resolved.parse import Unlimited
from megacpp_assets.resolved.plans import Plans
from megacpp_assets.resolved.tree import ScratchTree
from megacpp_assets.resolved.units import Units
from megacpp_assets.semantic.commands.toolchain import Toolchain
from megacpp_assets.semantic.parsing.lots import Crew
from megacpp_assets.semantic.parsing.parse import ParseOptions
from megacpp_assets.semantic.parsing.planning import Question
from megacpp_assets.semantic.parsing.worker import Batch
from megacpp_assets.storage.caching.cache import Cache
from megacpp_assets.storage.scratch import scratch_folder
from megacpp_assets.versions.files import FileVersions


@dataclass(frozen=True, slots=True)
class Compiler:
    """The toolchain and the options of a parse."""

    toolchain: Toolchain
    options: ParseOptions


@contextmanager
def opened_graph(
    files: FileVersions, compiler: Compiler, executor: BatchExecutor, store: Cache, most_files: int
) -> Iterator[ResolvedGraph]:
    """Yield a graph without a tree. The scratch folder is removed after the block."""
    toolchain, options = compiler.toolchain, compiler.options
    with scratch_folder("megacpp-resolved-") as named:
        scratch = named.resolve()
        tree, journals = scratch / "tree", scratch / "journals"
        for folder in (tree, journals):
            folder.mkdir()
        question = Question(str(tree), (), options.standards, toolchain.header_roots, options.limits)
        plain = Batch(str(tree), (), toolchain, options.limits)
        crew = Crew(executor, Unlimited(), journals if options.limits.applied else None)
        units = Units(plain, crew, store)
        yield ResolvedGraph(ScratchTree(tree), Plans(question, executor), units, files, most_files)
