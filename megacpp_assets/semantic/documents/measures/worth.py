"""Statistics of the documents of a repository: replication, share of roots, context recall and use of the budget."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from itertools import starmap
from typing import Any

import numpy as np

from megacpp_assets.contract.names import ROOT_ROLE
from megacpp_assets.semantic.documents.text.document import Document
from megacpp_assets.semantic.graph.repository import Repository

MOST_REPEATED = 20


class Worth:
    """Counts over documents, in turn."""

    def __init__(self, repository: Repository, budget_chars: int) -> None:
        self._repository = repository
        self._budget = budget_chars
        self._covered: defaultdict[int, array[int]] = defaultdict(lambda: array("q"))
        self._times = np.zeros(len(repository.nodes), dtype=np.int32)
        self._sums: Counter[str] = Counter()
        self._broken: Counter[str] = Counter()

    def add(self, document: Document) -> None:
        """Count one document."""
        for part in document.parts:
            self._covered[part.file].extend((part.start, part.end))
        self._times[list(document.chunks)] += 1
        self._sums.update(
            documents=1,
            characters=len(document.text),
            root_characters=int((document.roles == ROOT_ROLE).sum()),
            uses=document.recall.uses,
            found=document.recall.found,
            chunks=len(document.boundaries),
        )
        if document.broken_rule:
            self._broken[document.broken_rule] += 1

    def as_stats(self) -> dict[str, Any]:
        """Return replication, root share, context recall and budget use, each as a fraction, and the chunks that are in
        the most documents.

        Replication is the characters of documents divided by the distinct source characters in them. Context recall is
        the share of the entities that roots use which their document declares. `reduced` counts by rule the documents
        that have fewer roots or no context because the rule rejected a larger document. Without such documents it is
        missing.
        """
        sums, distinct = self._sums, sum(map(_covered, self._covered.values()))
        room = self._budget * sums["documents"]
        return {
            "documents": sums["documents"],
            "characters": sums["characters"],
            "document_chunks": sums["chunks"],
            "distinct_characters": distinct,
            "replication": _share(sums["characters"], distinct),
            "root_share": _share(sums["root_characters"], sums["characters"]),
            "context_recall": _share(sums["found"], sums["uses"]),
            "budget_use": _share(sums["characters"], room),
            **({"reduced": dict(sorted(self._broken.items()))} if self._broken else {}),
            "most_repeated": [list(entry) for entry in starmap(self._repeated, self._most_repeated())],
        }

    def _most_repeated(self) -> list[tuple[int, int]]:
        first = np.argsort(-self._times, kind="stable")[:MOST_REPEATED]
        return [(times, number) for number in first.tolist() if (times := int(self._times[number])) > 1]

    def _repeated(self, times: int, number: int) -> tuple[int, str, str, int]:
        """Return in how many documents a chunk is, its file, its name and its characters."""
        node = self._repository.nodes[number]
        path = self._repository.files[node.file].source.path
        return times, path, node.chunk.name, node.char_end - node.char_start


def _covered(ranges: array[int]) -> int:
    """Return the number of characters in the union of `ranges`, start and end of each in turn."""
    starts, ends = np.array(ranges, dtype=np.int64).reshape(-1, 2).T
    order = np.argsort(starts)
    starts, ends = starts[order], ends[order]
    reached = np.maximum.accumulate(ends)
    before = np.concatenate(([0], reached[:-1]))
    return int(np.maximum(reached - np.maximum(starts, before), 0).sum())


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0
