"""Chunks, constituents, columns and edges of a document."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import CATEGORY_ID, DOCUMENT_TOKENS, SYNTHETIC_ROLE
from megacpp_assets.semantic.documents.documents import documents
from tests.semantic.documents.assembling import SOURCES, documents_of
from tests.semantic.sources import EACH_ITS_OWN, by_root, index


def test_every_chunk_lies_apart_and_in_order(tmp_path: Path) -> None:
    for document in documents_of(tmp_path).values():
        spans = [(chunk.char_offset, chunk.char_end) for chunk in document.boundaries]
        assert all(start < end for start, end in spans)
        assert all(first[1] <= second[0] for first, second in pairwise(spans))


def test_constituents_are_the_files_bytes_and_the_rest_is_synthetic(tmp_path: Path) -> None:
    repository, store = index(tmp_path, SOURCES)
    for document in by_root(list(documents(repository, store, EACH_ITS_OWN, DOCUMENT_TOKENS))).values():
        joined = np.ones(len(document.text), dtype=bool)
        for part in document.constituents:
            data = SOURCES[part.filepath].encode()[part.byte_start : part.byte_end]
            assert document.text[part.char_start : part.char_end].encode() == data
            joined[part.char_start : part.char_end] = False
        assert (joined == (document.roles == SYNTHETIC_ROLE)).all()
        assert not any(document.chars(store)[name][joined].any() for name in c.PAINTED_COLUMNS)


def test_columns_are_those_of_the_files(tmp_path: Path) -> None:
    repository, store = index(tmp_path, SOURCES)
    document = by_root(list(documents(repository, store, EACH_ITS_OWN, DOCUMENT_TOKENS)))["main"]
    at, chars = document.text.index("return lib::sum"), document.chars(store)
    assert chars[c.STRUCTURE_IDS][at] == CATEGORY_ID["func_body"]
    assert chars[c.STRUCTURE_IDS][document.text.index("/* the first")] == CATEGORY_ID["comment"]
    assert len(chars) == len(document.text)


def test_edges_join_the_documents_own_chunks(tmp_path: Path) -> None:
    document = documents_of(tmp_path)["main"]
    names = [chunk.name for chunk in document.boundaries]
    calls = {(names[caller], names[callee], sure) for caller, callee, sure in document.call_edges()}
    types = {(names[type_], names[user], sure) for type_, user, sure in document.type_edges()}
    assert calls == {("main", "lib::sum", "exact"), ("lib::sum", "lib::add", "exact")}
    assert types == {
        ("lib::Pair", "main", "exact"),
        ("lib::Pair", "lib::sum", "exact"),
        ("lib::Pair", "Pair", "overload"),
    }
