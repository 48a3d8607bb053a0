"""Reads documents of token parquet for their checks, and compares their text with that of the upstream documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter

import numpy as np

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.document_sets import DocumentSet, source_set, stage_of
from megacpp_assets.quality.reading.documents import Broken, Documents, Mask, document_batches
from megacpp_assets.quality.reading.upstream import input_of
from megacpp_assets.quality.reading.upstream_facts import UpstreamFacts
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.budgets import budgets_of
from megacpp_assets.storage.jsonl import read_texts

Text = tuple[str, str]
"""(document id, text)."""


class TokenDocuments(Documents):
    """A batch of documents with the character span of each token."""

    def spans_misaligned(self) -> Mask:
        """Return the documents whose spans do not cover the text in order and without gaps.

        A token starts where the token before it ends. A character of several bytes may be split between two tokens;
        then the second one starts one character earlier, at the shared character.
        """
        starts, ends = self.lists(c.TOKEN_CHAR_STARTS), self.lists(c.TOKEN_CHAR_ENDS)
        paired = (starts.lengths == ends.lengths) & (starts.lengths > 0)
        starts, ends = starts.keep(paired), ends.keep(paired)
        start, end, owner = starts.values, ends.values, starts.owner
        before = np.concatenate([np.zeros(1, end.dtype), end[:-1]]) if len(end) else end
        # Only a text with characters of several bytes can have shared characters.
        shared = (self.text_bytes > self.characters)[owner]
        follows = (start == before) | (shared & (start == before - 1) & (end >= before))
        # The first token is BOS, which has the empty span [0, 0).
        is_first = starts.position == 0
        wrong = np.where(is_first, (start != 0) | (end != 0), ~(follows & (start < end)))
        last = np.append(end, -1)[ends.offsets[1:] - 1]
        return ~paired | starts.any(wrong) | (last != self.characters)


def token_documents(artifact: Artifact, facts: UpstreamFacts) -> Iterator[TokenDocuments]:
    """Yield all documents of a token parquet artifact, in batches."""
    for budget in budgets_of(artifact):
        yield from (TokenDocuments(batch, facts, budget) for batch in document_batches(artifact, budget))


def not_conserved(artifact: Artifact) -> Broken:
    """Upstream documents whose joined pieces differ from their text, and pieces without an upstream document."""
    broken = Broken()
    for budget in budgets_of(artifact):
        source = input_of(artifact, stage_of(budget))
        pieces = [_pieces(artifact, budget, held_out) for held_out in (False, True)]
        _compare_texts(pieces, read_texts(source, source_set(budget)), broken)
    return broken


def _compare_texts(pieces: Sequence[Iterator[Text]], texts: Iterator[Text], broken: Broken) -> None:
    """Add the documents of one set that differ to `broken`.

    The upstream documents are in one file in the order of the repository. Tokenizing split them into training and
    validation files, each in the same order: `pieces`. So the two are merged: each document comes next in one of them.
    """
    streams = [_Stream(_joined(each)) for each in pieces]
    for name, text in _joined(texts):
        stream = next((stream for stream in streams if stream.name == name), None)
        if stream is None or stream.text != text:
            broken.add_named(name)
        if stream is not None:
            stream.advance()
    for stream in streams:
        while stream.name is not None:
            broken.add_named(stream.name)
            stream.advance()


class _Stream:
    """A cursor over documents: `name` and `text` of the current one. `name` is None after the last."""

    def __init__(self, texts: Iterator[Text]) -> None:
        self._texts = texts
        self.name: str | None = None
        self.text = ""
        self.advance()

    def advance(self) -> None:
        """Move to the next document."""
        self.name, self.text = next(self._texts, (None, ""))


def _joined(texts: Iterator[Text]) -> Iterator[Text]:
    """Yield documents joined from their pieces, which are consecutive."""
    for name, pieces in groupby(((_base(doc_id), text) for doc_id, text in texts), key=itemgetter(0)):
        yield name, "".join(text for _, text in pieces)


def _pieces(artifact: Artifact, budget: DocumentSet, held_out: bool) -> Iterator[Text]:
    for batch in document_batches(artifact, budget, [c.DOC_ID, c.TEXT], validation=held_out):
        names, texts = (batch.column(name).fill_null("").to_pylist() for name in (c.DOC_ID, c.TEXT))
        yield from zip(names, texts, strict=True)


def _base(doc_id: str) -> str:
    """Return the id without the number of a piece, `.0001`.

    Both upstream ids and ids of pieces pass through here, so an upstream id that ends like a piece causes no error.
    """
    stem, dot, number = doc_id.rpartition(".")
    return stem if dot and len(number) == 4 and number.isascii() and number.isdigit() else doc_id
