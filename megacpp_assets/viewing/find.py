"""Finds a row or a document in the artifacts of a dataset, and loads its tokenizer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.document_sets import version_of
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.manifest import FileEntry
from megacpp_assets.contract.names import SPLITS
from megacpp_assets.contract.partition import Mixture, RepoRef
from megacpp_assets.quality.reading.upstream import input_of
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.budgets import budgets_of
from megacpp_assets.storage.parquet import batches
from megacpp_assets.storage.root.layout import enriched_path, packed_path
from megacpp_assets.storage.root.lock_file import read_corpus
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.viewing.shown import TokenView, shown_document, shown_row

_AT_ONCE: Final = 64


class Where(NamedTuple):
    """Where to search: the split of a row, and the dataset version of a document ("" for any version)."""

    split: str = SPLITS[0]
    version: str = ""


def find(root: Path, dataset: str, partition: str, which: str, where: Where) -> TokenView:
    """Return row `which` of the mixture SPECIALIST/PHASE, or document `which` (number or id) of NAME@REF.

    Raises `SpecError` if it does not exist, and `LineageGap` if an artifact is missing or damaged.
    """
    if "@" in partition:
        path = enriched_path(dataset, RepoRef.parse(partition))
        return find_document(_built(root, dataset, path, partition), which, where.version)
    if where.version:
        do = "leave --version out, or name a reference of a repository"
        raise SpecError("view --version", expected="a document, NAME@REF", found=f"a row, {partition}", do=do)
    path = packed_path(dataset, Mixture.parse(partition))
    return find_row(_built(root, dataset, path, partition), which, where.split)


def _built(root: Path, dataset: str, path: str, partition: str) -> Artifact:
    """Open the artifact at `path`. If it does not exist, raises `SpecError` with its missing stage, or with the
    partitions that exist.
    """
    if not (root / path).is_dir():
        lock = read_corpus(root, dataset)
        if "@" in partition and RepoRef.parse(partition) in {pin.partition for pin in lock.known}:
            raise SpecError(
                f"{partition} of dataset {dataset}",
                expected="its stage v6_enriched, which megacpp view reads",
                found="only earlier stages",
                do="run the same megacpp run again with --until v6_enriched, or without --until",
            )
        folder = root / path.removesuffix(f"/{partition}")
        known = sorted(each.relative_to(folder).as_posix() for each in folder.glob("*" if "@" in partition else "*/*"))
        raise SpecError.unknown(f"partition of dataset {dataset}", partition, known, "megacpp run builds partitions")
    return open_artifact(root, path)


def find_row(packed: Artifact, which: str, split: str) -> TokenView:
    """Return row `which` of `split`. Raises like `find`."""
    what = f"row of {packed.manifest.partition}, {split}"
    files = packed.files(".parquet", split)
    rows = (row for file in files for row in _rows(file, which, c.PACK_ID))
    encoder = _encoder(input_of(packed, "v6_enriched"))
    count = packed.manifest.stats["rows" if split == SPLITS[0] else "valid_rows"]
    row = _only(rows, what, which, f"a number below {count}")
    return shown_row(f"{packed.manifest.partition} {split} row {row[c.PACK_ID]}", row, encoder.decode)


def find_document(enriched: Artifact, which: str, version: str = "") -> TokenView:
    """Return document `which` (number or id) of the dataset version `version`, "" for any. Raises like `find`."""
    partition = enriched.manifest.partition
    entries = _entries(enriched, version)
    expected = f"an id, or a number below {sum(entry.rows or 0 for entry in entries)}"
    row = _only(_documents(enriched, entries, which, None), f"document of {partition}", which, expected)
    tokens, columns = input_of(enriched, "tokenized_parquet"), [c.DOC_ID, c.TOKEN_CHAR_STARTS]
    found = _documents(tokens, _entries(tokens, version), which, columns)
    spans = _only(found, f"tokens of {partition}", which, "an id")
    return shown_document(f"{partition} {row[c.DOC_ID]}", row, spans[c.TOKEN_CHAR_STARTS])


def _entries(artifact: Artifact, version: str) -> list[FileEntry]:
    """Return the parquet files of a version, whose full name (`v3_simple`) or first part (`v3`) is given.

    Raises `SpecError` if the version has no file.
    """
    files = [entry for entry in artifact.manifest.files if entry.name.endswith(".parquet")]
    found = [entry for entry in files if not version or entry.name.startswith(f"{version}_")]
    if not found:
        known = dict.fromkeys(filter(None, map(version_of, budgets_of(artifact))))
        do = "leave --version out, or name one that the recipe makes"
        raise SpecError.unknown(f"{artifact.manifest.partition}: --version", version, known, do)
    return found


def _documents(
    artifact: Artifact, entries: Sequence[FileEntry], which: str, columns: list[str] | None
) -> Iterator[dict[str, Any]]:
    """Return document `which` of enriched or token parquet; both have the same files and rows."""
    if which.isdecimal() and int(which) < sum(entry.rows or 0 for entry in entries):
        return _numbered(artifact, entries, int(which), columns)
    files = (artifact.file(entry.name) for entry in entries)
    return (row for file in files for row in _rows(file, which, c.DOC_ID, columns))


def _numbered(
    artifact: Artifact, entries: Sequence[FileEntry], number: int, columns: list[str] | None
) -> Iterator[dict[str, Any]]:
    for entry in entries:
        if number < (entry.rows or 0):
            for batch in batches(artifact.file(entry.name), _AT_ONCE, columns):
                if number < batch.num_rows:
                    yield from batch.slice(number, 1).to_pylist()
                    return
                number -= batch.num_rows
        number -= entry.rows or 0


def _rows(file: Path, which: str, key: str, columns: list[str] | None = None) -> Iterator[dict[str, Any]]:
    """Yield the rows of `file` whose `key`, as text, is `which`. Only these become Python objects."""
    for batch in batches(file, _AT_ONCE, columns):
        for place, value in enumerate(batch.column(key).to_pylist()):
            if str(value) == which:
                yield from batch.slice(place, 1).to_pylist()


def _only(rows: Iterator[dict[str, Any]], what: str, which: str, expected: str) -> dict[str, Any]:
    for row in rows:
        return row
    raise SpecError(what, expected=expected, found=repr(which), do="name another")


def _encoder(enriched: Artifact) -> Encoder:
    tokenizer = input_of(input_of(enriched, "tokenized_parquet"), "tokenizer")
    return _load(tokenizer.fetched().directory, tokenizer.manifest.sha256)


@lru_cache(maxsize=1)
def _load(directory: Path, _manifest: str) -> Encoder:
    """Load an encoder and cache it: a run that describes all partitions of a dataset needs the same one."""
    return Encoder.load(directory)
