"""The texts that items include within their braces, which documents show in place of the directives."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from megacpp_assets.contract.names import CONTEXT_ROLE
from megacpp_assets.semantic.documents.items.items import Item
from megacpp_assets.semantic.documents.items.recent import recent
from megacpp_assets.semantic.graph.repository import Repository
from megacpp_assets.semantic.graph.spaces import Span, spans_of
from megacpp_assets.semantic.graph.words.inclusions import directives_in

_DIRECTIVE = re.compile(rb"^[ \t]*#[^\n]*", re.M)


class Fragment(NamedTuple):
    """A text that is included within an item: the `line` of the directive in the file of the item, and the `file` that
    is included, of which the `chunks` in `span` are shown with that `role`."""

    line: Span
    file: int
    span: Span
    chunks: range
    role: int = CONTEXT_ROLE


class FragmentSites:
    """The include directives within the items of one repository."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self.within = recent(self._within)
        """The texts that an item includes, in order."""

    def _within(self, item: Item) -> Sequence[Fragment]:
        return [each for number in range(*item) for each in self._in_chunk(number)]

    def _in_chunk(self, number: int) -> Iterator[Fragment]:
        node = self._repository.nodes[number]
        source = self._repository.files[node.file].source
        places = directives_in(source.data, node.chunk)
        files = dict.fromkeys(self._repository.nodes[used].file for used in self._repository.spelled[number])
        for name, line in zip(
            (name for name, _, _ in places), spans_of(source, [each[1:] for each in places]), strict=True
        ):
            found = [file for file in files if self._is_named(file, name)]
            if found and (chunks := self._chunks(found[0])):
                yield Fragment(line, found[0], self._span(found[0], chunks), chunks)

    def _is_named(self, file: int, name: str) -> bool:
        return posixpath.basename(self._repository.files[file].source.path) == posixpath.basename(name)

    def _chunks(self, file: int) -> range:
        """Return the chunks of a file."""
        first = bisect_left(self._repository.nodes, file, key=lambda node: node.file)
        return range(first, first + len(self._repository.files[file].chunks))

    def _span(self, file: int, chunks: range) -> Span:
        """Return the place of the chunks of a file, with the directives before and after them."""
        source = self._repository.files[file].source
        directives = [match.span() for match in _DIRECTIVE.finditer(source.data)]
        start = min([self._repository.nodes[chunks[0]].chunk.start, *(begin for begin, _ in directives[:1])])
        end = max([self._repository.nodes[chunks[-1]].chunk.end, *(last for _, last in directives[-1:])])
        return spans_of(source, [(start, end)])[0]
