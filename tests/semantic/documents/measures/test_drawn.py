"""The sample of documents that are parsed by themselves."""

from __future__ import annotations

import random

from megacpp_assets.semantic.documents.measures.drawn import Draw, Drawn


def test_the_same_documents_are_drawn_whatever_their_order() -> None:
    documents = [(f"id {number}", Drawn(f"text {number}")) for number in range(50)]
    shuffled = random.Random(1).sample(documents, len(documents))
    draws = [Draw(7), Draw(7)]
    for draw, entries in zip(draws, (documents, shuffled), strict=True):
        for identity, document in entries:
            draw.add(identity, document)
    assert draws[0].documents == draws[1].documents and len(set(draws[0].documents)) == 7
    assert Draw(0).documents == []
