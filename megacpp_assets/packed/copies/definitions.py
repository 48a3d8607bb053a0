"""Finds clusters of equal or near-duplicate definitions of different repositories, without the text around them.

A definition is a root of a document: a function or a class for which the document was made. Documents show it with
other context in each repository, so that comparing documents does not find it. `text_clusters` says what is a near-
duplicate. Definitions of fewer than `LEAST_RUNS` token runs are not compared.

A definition in a document of a commit is no copy of another version of its file, also if both are equal. It is `near`
where another file has the same text, never `exact`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from megacpp_assets.compute.shingles import shingles
from megacpp_assets.contract import columns as c
from megacpp_assets.contract.document_sets import version_of
from megacpp_assets.contract.names import ROOT_ROLE
from megacpp_assets.packed.copies.text_clusters import ComparedTexts, TextClusters, history_of
from megacpp_assets.storage.parquet import batches
from megacpp_assets.storage.ragged import list_lengths
from megacpp_assets.storage.scratch import scratch_folder

_BATCH_DOCUMENTS: Final = 256
LEAST_RUNS: Final = 40
"""Shorter definitions are often alike by chance: tests for a digit or for white space, `MAX`, a wrapper of `printf`."""
_PLACE: Final = ("filepath", "byte_start", "byte_end")


@dataclass(frozen=True, slots=True)
class Definitions(TextClusters):
    """The clusters of all compared definitions, in the order of `sources`, the files of each repository.

    `root` and `document` (definitions,) are the place of each definition among all roots, and its document; both
    ascend. `runs` (definitions,) counts its token runs, and `root_runs` (documents,) those of all roots of a document,
    short ones too. `share` is that of a near-duplicate.
    """

    sources: Sequence[Sequence[Path]]
    root: NDArray[np.int64]
    document: NDArray[np.int64]
    runs: NDArray[np.int64]
    root_runs: NDArray[np.int64]
    share: float

    def removed(self, action: str) -> NDArray[np.bool_]:
        """Return the mask of the documents that the recipe's `mixture.definitions` leaves out, shape (documents,).

        These have copies alone: each compared definition is one, and together they have at least `share` of the token
        runs of all roots, so that no document is lost that has much of its own. A document stays whole otherwise.
        """
        copies = self.document[is_copy := self.copies(action)]
        compared, copied = (np.bincount(of, minlength=len(self.root_runs)) for of in (self.document, copies))
        copied_runs = np.bincount(copies, weights=self.runs[is_copy], minlength=len(self.root_runs))
        return np.asarray((copied > 0) & (copied == compared) & (copied_runs >= self.share * self.root_runs))

    def per_document(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return how many definitions of each document `chosen` flags, shape (documents,)."""
        return np.bincount(self.document[chosen], minlength=len(self.root_runs)).astype(np.int64)

    def lines(self) -> Iterator[bytes]:
        """Yield a JSON line for each definition of a cluster with at least two of them, cluster by cluster."""
        members = self.members()
        places = dict(zip(members.tolist(), self._places(self.root[members]), strict=True))
        for definition, facts in self.by_cluster(members):
            cluster, *kinds = facts.items()
            yield orjson.dumps(dict([cluster, *places[definition].items(), *kinds])) + b"\n"

    def _places(self, roots: NDArray[np.int64]) -> Iterator[dict[str, Any]]:
        """Yield repository, document, file and bytes of `roots`, which ascend."""
        start = 0
        for path in (path for files in self.sources for path in files):
            for batch, document, parts in _roots(path, [c.REPO, c.DOC_ID]):
                first, last = np.searchsorted(roots, [start, start + len(parts)])
                chosen = roots[first:last] - start
                rows = batch.select([c.REPO, c.DOC_ID]).take(document[chosen]).to_pylist()
                places = (parts.field(name).take(chosen).to_pylist() for name in _PLACE)
                yield from (
                    row | dict(zip(_PLACE, place, strict=True)) for row, *place in zip(rows, *places, strict=True)
                )
                start += len(parts)


def find_definitions(sources: Sequence[Sequence[Path]], share: float, projects: Sequence[str] = ()) -> Definitions:
    """Return the clusters of the definitions in `sources`, the enriched files of each repository.

    `projects` names the project of each source; by default each is another one.
    """
    projects = projects or [str(number) for number in range(len(sources))]
    root, document, root_runs = array("q"), array("q"), array("q")
    roots = 0
    with scratch_folder("megacpp-runs-") as folder, ComparedTexts(folder) as texts:
        for number, files in enumerate(sources):
            for path in files:
                versioned = bool(version_of(path.parent.name))
                for batch, owner, parts in _roots(path, [c.REPO, c.TEXT]):
                    first = len(root_runs)
                    counts = np.zeros(batch.num_rows, np.int64)
                    for place, (row, name, text) in enumerate(_texts(batch, owner, parts)):
                        runs = shingles(text)
                        counts[row] += len(runs)
                        if len(runs) >= LEAST_RUNS:
                            root.append(roots + place)
                            document.append(first + row)
                            repo = batch.column(c.REPO)[row].as_py()
                            identity = "\0".join((repo, name, text)) if versioned else text
                            history = history_of(projects[number], name)
                            texts.add(identity, runs, number, history, versioned=versioned)
                    root_runs.extend(counts.tolist())
                    roots += len(parts)
        found = texts.clusters(share)
        lengths = texts.lengths
    return Definitions(
        found.cluster,
        found.exact,
        found.near,
        found.digests,
        sources,
        np.array(root, np.int64),
        np.array(document, np.int64),
        lengths,
        np.array(root_runs, np.int64),
        share,
    )


def _roots(path: Path, names: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64], pa.StructArray]]:
    """Yield (documents with the columns `names`, row of each root in them, the roots as constituents)."""
    for batch in batches(path, _BATCH_DOCUMENTS, [*names, c.CONSTITUENTS]):
        column = batch.column(c.CONSTITUENTS)
        parts = column.flatten()
        chosen = np.flatnonzero(parts.field("role").to_numpy(zero_copy_only=False) == ROOT_ROLE)
        row = np.repeat(np.arange(batch.num_rows), list_lengths(column))
        yield batch, row[chosen], parts.take(chosen)


def _texts(batch: pa.RecordBatch, owner: NDArray[np.int64], parts: pa.StructArray) -> Iterator[tuple[int, str, str]]:
    """Yield (row, path of the file, text) of each root."""
    texts = batch.column(c.TEXT).to_pylist()
    spans = (parts.field(name).to_pylist() for name in ("filepath", "char_start", "char_end"))
    for row, name, start, end in zip(owner.tolist(), *spans, strict=True):
        yield row, name, texts[row][start:end]
