"""Windows: the order of the context of a modified function, and the part of it that fits into a budget of tokens."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile
from pathlib import PurePosixPath
from typing import Final, NamedTuple

import pyarrow as pa

from megacpp_assets.contract.names import CONTEXT_ROLE, ROOT_ROLE, fixed_max_chunks
from megacpp_assets.contract.tokens.encoding import TextEncoder
from megacpp_assets.versions.text.headers import simple_header
from megacpp_assets.versions.text.inline import Sides
from megacpp_assets.versions.text.pieces import Pieces
from megacpp_assets.windows.code_graph import CALLEE, CALLER, FAR_CALLER, CodeGraph, DefinitionPlace, Edge
from megacpp_assets.windows.targets import EditedLines, Edits

NEAR_CALLERS: Final = 8
"""The number of callers before the callees, because one function may have hundreds of callers."""
_KIND: Final = "func_body"
_CLOSE: Final = 0.9
"""The share of a budget above which the whole text is encoded: tokens may join or split where two parts meet."""


@dataclass(frozen=True, slots=True)
class ModifiedFunction:
    """A function that a change modified or added, and the lines that it has after the commit."""

    sides: Sides
    edits: Edits
    place: DefinitionPlace
    name: str
    stretch: EditedLines


class WindowContext(NamedTuple):
    """A function or class around a target, and its number of tokens in a window."""

    edge: Edge
    heading: str
    stretch: EditedLines
    tokens: int


def ordered(graph: CodeGraph, target: ModifiedFunction, changed: Collection[str]) -> Iterator[Edge]:
    """Yield an edge to each function and class around `target` once, in the order of the window.

    First the nearest callers, then the callees by the distance of the call from the change, then the bases and types,
    then the other callers, then their callers. A caller in the same file is nearest, by lines; then those in files that
    the commit changes too (`changed`), then by the number of folders that both files share.
    """

    def farness(edge: Edge) -> tuple[object, ...]:
        path = edge.place.path
        if path == target.place.path:
            return 0, 0, abs(edge.line - target.stretch.first), edge.place
        return 1 + (path not in changed), -shared_folders(path, target.place.path), 0, edge.place

    callers = sorted(graph.callers(target.place), key=farness)
    callees = sorted(graph.callees(target.place), key=lambda edge: (target.edits.distance(edge.line), edge.line))
    relatives = graph.relatives(target.place)
    types = [edge for edge in relatives if edge.relation is not FAR_CALLER]
    far = sorted((edge for edge in relatives if edge.relation is FAR_CALLER), key=farness)
    shown = _Shown({target.place.path: [(target.stretch.first, target.stretch.end)]})
    for edge in (*callers[:NEAR_CALLERS], *callees, *types, *callers[NEAR_CALLERS:], *far):
        node = graph.node(edge.place)
        if shown.is_new(edge.place.path, node.first, node.end):
            yield edge


class _Shown(NamedTuple):
    """The lines of files that a window has. Of overlapping functions and classes only the first is shown."""

    lines: dict[str, list[tuple[int, int]]]

    def is_new(self, path: str, first: int, end: int) -> bool:
        """Return whether none of the lines is shown yet, and record them as shown."""
        known = self.lines.setdefault(path, [])
        if any(low < end and first < high for low, high in known):
            return False
        known.append((first, end))
        return True


def shared_folders(one: str, other: str) -> int:
    """Return how many folders, from the top, the paths of two files have in common."""
    pairs = zip(PurePosixPath(one).parent.parts, PurePosixPath(other).parent.parts, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def render(target: ModifiedFunction, contexts: Sequence[WindowContext]) -> Pieces:
    """Return the document of a window: header (chunk 0), the whole target (chunk 1), then `contexts`."""
    change, pieces = target.sides.change, Pieces()
    pieces.synthetic(simple_header(target.sides.commit, change, change.path))
    pieces.chunk(0, "comment", change.path)
    start = pieces.length
    pieces.synthetic(f"// === MODIFIED FUNCTION: {target.name} ===\n")
    target.stretch.add_to(pieces, ROOT_ROLE, target.sides)
    pieces.chunk(start, _KIND, target.name, 1)
    chunks = {target.place: 1}
    for number, context in enumerate(contexts, start=2):
        start, edge = pieces.length, context.edge
        pieces.synthetic(context.heading)
        context.stretch.add_to(pieces, CONTEXT_ROLE)
        pieces.chunk(start, edge.relation.kind, context.stretch.source.path, edge.relation.level)
        chunks[edge.place] = number
        _add_edge(pieces, edge, number, chunks)
    pieces.span = target.stretch.bytes
    return pieces


def _add_edge(pieces: Pieces, edge: Edge, number: int, chunks: Mapping[DefinitionPlace, int]) -> None:
    """Add the edge between chunk `number` and the target; for a far caller, the edge to the caller that it calls."""
    if edge.relation is CALLEE:
        ends = 1, number
    elif edge.relation is CALLER:
        ends = number, 1
    elif edge.relation is FAR_CALLER:
        ends = number, chunks.get(edge.through or edge.place, number)
    else:
        pieces.types.append({"type_idx": number, "user_idx": 1, "confidence": edge.confidence})
        return
    if ends[0] != ends[1]:
        pieces.calls.append({"caller_idx": ends[0], "callee_idx": ends[1], "confidence": edge.confidence})


def tokens_of(encoder: TextEncoder, text: str) -> int:
    """Return the number of tokens of a document with this text, BOS included."""
    return tokens_of_each(encoder, [text])[0]


def tokens_of_each(encoder: TextEncoder, texts: Sequence[str]) -> list[int]:
    """Return the number of tokens of a document with each text, BOS included."""
    counts: list[int] = encoder.encode_arrow(pa.array(texts, pa.large_string())).ids.value_lengths().to_pylist()
    return counts


def windows(
    encoder: TextEncoder, target: ModifiedFunction, contexts: Sequence[WindowContext], limits: Mapping[str, int]
) -> Iterator[tuple[str, Pieces | None]]:
    """Yield for each set of `limits` the window with as many of the first `contexts` as fit into its tokens and chunks.

    It is None if the target itself does not fit. A shorter window is a prefix of a longer one.
    """
    rendered = {0: render(target, ())}
    alone = rendered[0]
    sums = list(accumulate((context.tokens for context in contexts), initial=tokens_of(encoder, alone.text)))
    for name, limit in limits.items():
        most = min(len(contexts), fixed_max_chunks(limit) - len(alone.chunks))
        count = sum(total <= limit for total in sums[: most + 1]) - 1
        while count > 0:
            if count not in rendered:
                rendered[count] = render(target, contexts[:count])
            if sums[count] <= limit * _CLOSE or tokens_of(encoder, rendered[count].text) <= limit:
                break
            count -= 1
        yield name, rendered[count] if count >= 0 else None
