"""CPU seconds of composing documents, beside those of parsing and analysing the same files.

Each SOURCE is a repository as URL@REF or PATH@REF; without any: fmt and googletest as the catalogue pins them. It is
indexed twice by one worker: into an empty folder, and with all parses kept. Ours is what the composer takes in the
second run. The peer is what the worker takes in the first run beyond the second, in which it compiles a few documents.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from _arguments import positive, run
from _cores import choose, hold
from _harness import Figure, report
from alone import made
from semantic import entries

from megacpp_assets.compute.executors.select import WORKERS_VARIABLE
from megacpp_assets.contract.names import DOCUMENT_TOKENS
from megacpp_assets.repos.catalogue import CatalogueEntry
from megacpp_assets.semantic import stage
from megacpp_assets.semantic.documents.documents import documents

BENCH = "composing"
_CACHE = "cache"


class Stopwatch:
    """The CPU seconds of this process inside of a generator, without those of its reader."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def around(self, function: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
        """Return `function`, whose results are yielded one by one while the time is taken."""

        def timed(*arguments: Any, **options: Any) -> Iterator[Any]:
            results = function(*arguments, **options)
            while True:
                begun = time.process_time()
                try:
                    result = next(results)
                except StopIteration:
                    return
                finally:
                    self.seconds += time.process_time() - begun
                yield result

        return timed


def main(arguments: Sequence[str]) -> None:
    """Print a line for each repository and budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="*", metavar="SOURCE")
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--budget", dest="budgets", type=positive, action="append", metavar="TOKENS")
    options = parser.parse_args(arguments)
    hold(choose(1))
    os.environ[WORKERS_VARIABLE] = "1"
    for entry in entries(options.sources):
        for budget in options.budgets or [DOCUMENT_TOKENS]:
            measure(entry, budget, options.settings)


def measure(entry: CatalogueEntry, budget: int, settings: Sequence[str]) -> None:
    """Print the line of one repository and budget."""
    with tempfile.TemporaryDirectory(prefix="megacpp-bench-") as name:
        new, known = Path(name, "new"), Path(name, "known")
        _, parsing = indexed(entry, new, budget, settings)
        shutil.copytree(new / _CACHE, known / _CACHE)
        composing, compiling = indexed(entry, known, budget, settings)
    if parsing <= compiling:
        raise SystemExit(f"{entry.name} {entry.ref} is too small to measure: its parses take less than the noise")
    figure = Figure(BENCH, f"composing of {entry.name} {entry.ref}, {budget} tokens", "CPU-s")
    report(figure, composing, parsing - compiling, peer_name="parsing and analysing the same files")


def indexed(entry: CatalogueEntry, root: Path, budget: int, settings: Sequence[str]) -> tuple[float, float]:
    """Index a repository into `root`. Return the CPU seconds of composing, and those of all workers."""
    watch, before = Stopwatch(), _of_children()
    with patch.object(stage, "documents", watch.around(documents)), made(entry, root, settings, (budget,)):
        pass
    return watch.seconds, _of_children() - before


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    run(main)
