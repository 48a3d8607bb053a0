"""Documents of token parquet as their checks read them, and their text beside that of the semantic documents."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.document_sets import DocumentSet, source_set, stage_of
from megacpp_assets.quality.document_rules import Facts
from megacpp_assets.quality.reading.documents import Broken, Documents, Mask, document_batches
from megacpp_assets.quality.upstream import input_of
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.budgets import budgets_of
from megacpp_assets.storage.jsonl import read_texts

Text = tuple[str, str]
"""(document id, text)."""


class TokenDocuments(Documents):
    """Documents with the characters that each token spans."""

    def spans_misaligned(self) -> Mask:
        """Documents whose spans do not cover the text in order and without gaps.

        A token takes up where the one before it ends, or in the character that both have bytes of.
        """
        starts, ends = self.lists(c.TOKEN_CHAR_STARTS), self.lists(c.TOKEN_CHAR_ENDS)
        sound = (starts.lengths == ends.lengths) & (starts.lengths > 0)
        starts, ends = starts.keep(sound), ends.keep(sound)
        start, end, owner = starts.values, ends.values, starts.owner
        before = np.concatenate([np.zeros(1, end.dtype), end[:-1]]) if len(end) else end
        shared = (self.text_bytes > self.characters)[owner]
        follows = (start == before) | (shared & (start == before - 1) & (end >= before))
        opens = starts.position == 0
        wrong = np.where(opens, (start != 0) | (end != 0), ~(follows & (start < end)))
        last = np.append(end, -1)[ends.offsets[1:] - 1]
        return ~sound | starts.any(wrong) | (last != self.characters)


def token_documents(artifact: Artifact, facts: Facts) -> Iterator[TokenDocuments]:
    """All documents of a token parquet artifact, a batch at a time."""
    for budget in budgets_of(artifact):
        yield from (TokenDocuments(batch, facts, budget) for batch in document_batches(artifact, budget))


def not_conserved(artifact: Artifact) -> Broken:
    """Documents of JSONL, of any set, whose pieces, joined, are not their text, and pieces of no such document."""
    broken = Broken()
    for budget in budgets_of(artifact):
        source = input_of(artifact, stage_of(budget))
        _compare(_Compared(artifact, budget), read_texts(source, source_set(budget)), broken)
    return broken


class _Compared(NamedTuple):
    """A document set of a token parquet artifact."""

    artifact: Artifact
    budget: DocumentSet


def _compare(compared: _Compared, texts: Iterator[Text], broken: Broken) -> None:
    """As `not_conserved`, for one set.

    Both keep the order of the repository, the pieces in two streams (training and validation): one document at a time
    is taken from the stream that has it next.
    """
    streams = [_Stream(_joined(_pieces(*compared, held_out))) for held_out in (False, True)]
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
    """Documents one after the other; `name` is None behind the last."""

    def __init__(self, texts: Iterator[Text]) -> None:
        self._texts = texts
        self.name: str | None = None
        self.text = ""
        self.advance()

    def advance(self) -> None:
        """Go on to the next document."""
        self.name, self.text = next(self._texts, (None, ""))


def _joined(texts: Iterator[Text]) -> Iterator[Text]:
    """Documents of their pieces, which follow one another."""
    for name, pieces in groupby(((_base(doc_id), text) for doc_id, text in texts), key=itemgetter(0)):
        yield name, "".join(text for _, text in pieces)


def _pieces(artifact: Artifact, budget: DocumentSet, held_out: bool) -> Iterator[Text]:
    for batch in document_batches(artifact, budget, [c.DOC_ID, c.TEXT], validation=held_out):
        names, texts = (batch.column(name).fill_null("").to_pylist() for name in (c.DOC_ID, c.TEXT))
        yield from zip(names, texts, strict=True)


def _base(doc_id: str) -> str:
    """The id without the number of a piece; applied to both sides alike, so an id that only looks so does no harm."""
    stem, dot, number = doc_id.rpartition(".")
    return stem if dot and len(number) == 4 and number.isascii() and number.isdigit() else doc_id
