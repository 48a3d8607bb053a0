"""Documents that stand alone: of some drawn at random, the share that lacks no name of their repository.

Each text is parsed by libclang in its own language and standard, with the system's headers. A name counts as missing
where the parser does not find it and the repository defines it; a name of the system, or of another library that is not
there, does not. A source is a repository as URL@REF or PATH@REF; without any: fmt as the catalogue pins it. `--headers
FOLDER` names a folder of the tree whose headers are present, as a dependency's are, and whose names do not count.
`--set semantic.KEY=VALUE` makes other documents; with --work parses are kept. `--missing` prints what each document
lacks.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from _arguments import positive, run
from _harness import Figure, report
from _libclang import load_library
from semantic import entries

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import DOCUMENT_TOKENS
from megacpp_assets.contract.recipe.text import load_recipe
from megacpp_assets.curation.stage import CuratedFilesSpec
from megacpp_assets.curation.stage import run as curate
from megacpp_assets.repos.catalogue import CatalogueEntry
from megacpp_assets.repos.pins import pin
from megacpp_assets.repos.stage import PinnedReposSpec
from megacpp_assets.repos.stage import run as fetch
from megacpp_assets.semantic.commands.toolchain import Toolchain, find_toolchain
from megacpp_assets.semantic.documents.measures.alone import names_defined
from megacpp_assets.semantic.documents.measures.drawn import Drawn
from megacpp_assets.semantic.documents.measures.errors import errors_of, missing_names
from megacpp_assets.semantic.documents.symbols import FILES_FILE, SYMBOLS_FILE
from megacpp_assets.semantic.stage import SemanticJsonlSpec
from megacpp_assets.semantic.stage import run as index
from megacpp_assets.semantic.tree.export import export
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.git_objects import blob_reader, source_files
from megacpp_assets.storage.jsonl import read_records

BENCH = "alone"
SEED = 7


def arguments_of(toolchain: Toolchain, folders: Sequence[str]) -> list[str]:
    """How documents are parsed; headers below `folders` are found."""
    found = [argument for folder in folders for argument in ("-isystem", folder)]
    return ["-resource-dir", toolchain.resource_dir, *found]


def standards_of(artifact: Artifact) -> dict[str, str]:
    """The standard that each file of a repository was parsed with, by its path."""
    table = pq.read_table(artifact.file(FILES_FILE), columns=["filepath", "standard"])
    return {row["filepath"]: row["standard"] for row in table.to_pylist()}


def document_of(record: Mapping[str, Any], standards: Mapping[str, str]) -> Drawn:
    """A record as it is parsed."""
    return Drawn(record[c.TEXT], record["language"], standards.get(record[c.FILEPATH], ""))


def lacks(document: Drawn, arguments: Sequence[str]) -> list[str]:
    """The names that `document` uses and that the parser does not find in it."""
    return missing_names(errors_of(document, arguments), document.text)


def names_of(artifact: Artifact, headers: Sequence[str]) -> frozenset[str]:
    """Names that a repository defines outside of functions and outside of the folders `headers`."""
    table = pq.read_table(artifact.file(SYMBOLS_FILE), columns=["qualified_name", "kind", "filepath", "definition"])
    return names_defined(
        (row["qualified_name"], row["kind"])
        for row in table.to_pylist()
        if row["filepath"] and not is_below(row["filepath"], headers)
    )


def is_below(path: str, folders: Sequence[str]) -> bool:
    """Whether the file at `path` lies below one of `folders`."""
    return any(path.startswith(f"{folder.strip('/')}/") for folder in folders)


def drawn(
    artifact: Artifact, count: int, headers: Sequence[str], budget: int = DOCUMENT_TOKENS
) -> list[Mapping[str, Any]]:
    """`count` documents, drawn the same in every run, in their order; none that was made for one of `headers`."""
    records = [each for each in read_records(artifact, budget) if not is_below(each[c.FILEPATH], headers)]
    chosen = sorted(random.Random(SEED).sample(range(len(records)), min(count, len(records))))
    return [records[number] for number in chosen]


@contextmanager
def made(
    entry: CatalogueEntry, work: Path | None, settings: Sequence[str], budgets: tuple[int, ...] = (DOCUMENT_TOKENS,)
) -> Iterator[tuple[Artifact, Path, Toolchain]]:
    """The documents of `entry`, its tree, and the compiler."""
    recipe = load_recipe("upstream", settings).semantic
    toolchain = find_toolchain()
    with tempfile.TemporaryDirectory(prefix="megacpp-bench-") as name:
        root, tree = work or Path(name, "root"), Path(name, "tree")
        root.mkdir(parents=True, exist_ok=True)
        tree.mkdir()
        pinned = pin(entry, entry.ref, root)
        raw = fetch(PinnedReposSpec(root, pinned))
        curate(CuratedFilesSpec(root, BENCH, pinned.partition, pinned.license))
        with blob_reader(raw) as blobs:
            export(tree, source_files(raw), blobs, recipe.file_bytes)
        repo = pinned.partition
        spec = SemanticJsonlSpec(root, BENCH, repo, pinned.commit, pinned.license, recipe, toolchain, budgets)
        yield index(spec), tree, toolchain


def measure(entry: CatalogueEntry, options: argparse.Namespace) -> None:
    """Print the share of one repository."""
    with made(entry, options.work, options.settings) as (artifact, tree, toolchain):
        load_library(toolchain)
        arguments = arguments_of(toolchain, [str(tree / folder) for folder in options.headers])
        defined = names_of(artifact, options.headers)
        documents = drawn(artifact, options.documents, options.headers)
        standards = standards_of(artifact)
        found = [sorted(defined.intersection(lacks(document_of(each, standards), arguments))) for each in documents]
    alone = sum(not names for names in found)
    for each, names in zip(documents, found, strict=True) if options.missing else ():
        print(f"{each[c.FILEPATH]}:{each[c.BYTE_START]} {each[c.DOC_ID]} {len(names)}: {' '.join(names)}")
    if options.missing:
        print(Counter(name for names in found for name in names).most_common(40))
    figure = Figure(BENCH, f"documents that lack no name of {entry.name} {entry.ref}, {len(found)} drawn", "per cent")
    report(figure, 100 * alone / len(found))


def main(arguments: Sequence[str]) -> None:
    """Print every line; an error of ours where a source or a setting is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="*", metavar="SOURCE")
    parser.add_argument("--documents", type=positive, default=60)
    parser.add_argument("--headers", action="append", default=[], metavar="FOLDER")
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--work", type=Path, metavar="FOLDER")
    parser.add_argument("--missing", action="store_true")
    options = parser.parse_args(arguments)
    for entry in entries(options.sources)[: None if options.sources else 1]:
        measure(entry, options)


if __name__ == "__main__":
    run(main)
