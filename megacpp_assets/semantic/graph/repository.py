"""All chunks of a repository as one numbered sequence (files in path order, chunks in file order) and their graph."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import NamedTuple

import numpy as np

from megacpp_assets.compute.gc_disabled import gc_disabled
from megacpp_assets.semantic.graph.amalgamations import amalgamations_in, without_copies
from megacpp_assets.semantic.graph.analysis.analysis import FileFacts
from megacpp_assets.semantic.graph.chunks import Chunk, Root
from megacpp_assets.semantic.graph.directives import Directives
from megacpp_assets.semantic.graph.facts_store import ByFile, Rows
from megacpp_assets.semantic.graph.levels import dependency_levels, leaves
from megacpp_assets.semantic.graph.link import EDGES, REFERENCE_EDGE, Edges, joined_links, link, with_references
from megacpp_assets.semantic.graph.spaces import Space, Span
from megacpp_assets.semantic.graph.words.defaults import prototypes
from megacpp_assets.semantic.graph.words.spelled import openers, spelled
from megacpp_assets.semantic.tree.attribute_macros import attribute_macros


class Node(NamedTuple):
    """A chunk with its file number and character range, its signature (None if it has none), its unit and its root.

    `unit` and `root` are ranges of chunk numbers.
    """

    chunk: Chunk
    file: int
    char_start: int
    char_end: int
    signature: Span | None
    unit: tuple[int, int]
    root: tuple[int, int]


@dataclass(frozen=True, slots=True)
class PlacedRoot:
    """A root with its file number, its range of text, its range of chunk numbers, and the namespaces around it."""

    file: int
    root: Root
    span: Span
    unit: tuple[int, int]
    spaces: tuple[Space, ...]


@dataclass(frozen=True, slots=True)
class Repository:
    """All chunks and edges of a repository.

    `nodes[i]` is chunk i. `out[i]` has its edges as (target, kind of edge, confidence), ascending. `spelled[i]` are the
    chunks that it names in text for which libclang has no references. `directives` are those of all files. `root_of[i]`
    is the number of the root that chunk i is in. `amalgamations` are numbers of files. `attribute_macros` are those
    whose header a build generates. Chunks and roots are made from `files` when they are needed.
    """

    files: Sequence[FileFacts]
    nodes: ByFile[Node]
    roots: Sequence[PlacedRoot]
    level: Sequence[int]
    leaf: Sequence[bool]
    out: Sequence[Sequence[tuple[int, int, int]]]
    spelled: Sequence[Sequence[int]]
    edges: Edges
    directives: Directives
    root_of: Sequence[int]
    amalgamations: frozenset[int]
    attribute_macros: Sequence[str]

    def root_around(self, number: int) -> PlacedRoot:
        """Return the root that chunk `number` is in."""
        return self.roots[self.root_of[number]]

    def unit_level(self, unit: tuple[int, int]) -> int:
        """Return the level of a unit, which is the highest level of its chunks."""
        return max(self.level[unit[0] : unit[1]])


@gc_disabled
def build_repository(files: Sequence[FileFacts]) -> Repository:
    """Number the chunks of `files`, which are in path order; link them and compute their levels."""
    counts = [(len(facts.chunks), len(facts.roots), facts.file.header) for facts in files]
    sizes = [size for size, _, _ in counts]
    parts = _Parts(files, sizes)
    whole = amalgamations_in(files)
    links = joined_links((facts.links for facts in files), sizes)
    links = links._replace(declared=without_copies(links.declared, whole))
    edges = with_references(link(links, [is_header for _, _, is_header in counts]), *openers(files, links.declared))
    edges = with_references(edges, *prototypes(files, sizes, links.declared))
    links.used.clear()
    count = sum(sizes)
    directives = Directives(files)
    graph = edges.edge != REFERENCE_EDGE
    source, target = edges.source[graph], edges.target[graph]
    return Repository(
        files=files,
        nodes=ByFile(sizes, parts.nodes),
        roots=ByFile([roots for _, roots, _ in counts], parts.roots),
        level=dependency_levels(count, source, target).tolist(),
        leaf=leaves(count, source, target).tolist(),
        out=_rows(count, edges),
        spelled=spelled(files, sizes, links.declared, directives, whole),
        edges=edges,
        directives=directives,
        root_of=array("i", _roots_of(files)),
        amalgamations=whole,
        attribute_macros=attribute_macros(facts.source.data for facts in files),
    )


def _roots_of(files: Sequence[FileFacts]) -> Iterator[int]:
    roots = (root for facts in files for root in facts.roots)
    for number, root in enumerate(roots):
        yield from repeat(number, root.last - root.first)


def _rows(count: int, edges: Edges) -> Rows:
    # Edges are distinct by source, target and kind, so the order does not need their confidence.
    order = np.argsort((edges.source * count + edges.target) * len(EDGES) + edges.edge)
    columns = (edges.target[order], edges.edge[order].astype(np.uint8), edges.confidence[order].astype(np.uint8))
    return Rows(np.cumsum(np.bincount(edges.source, minlength=count)), *columns)


class _Parts:
    """Makes the nodes and roots of one file when they are needed."""

    def __init__(self, files: Sequence[FileFacts], sizes: Sequence[int]) -> None:
        self._files = files
        self._bases = np.cumsum(np.array([0, *sizes], dtype=np.int64))

    def roots(self, number: int) -> list[PlacedRoot]:
        facts, base = self._files[number], int(self._bases[number])
        return [
            PlacedRoot(number, root, span, (base + root.first, base + root.last), spaces)
            for root, span, spaces in zip(facts.roots, facts.root_spans, facts.spaces, strict=True)
        ]

    def nodes(self, number: int) -> list[Node]:
        facts, base = self._files[number], int(self._bases[number])
        result = []
        for root in facts.roots:
            for index in range(root.first, root.last):
                chunk = facts.chunks[index]
                unit = (base + chunk.unit[0], base + chunk.unit[1])
                place = (base + root.first, base + root.last)
                span = facts.spans[index]
                result.append(Node(chunk, number, span.char_start, span.char_end, facts.signatures[index], unit, place))
        return result
