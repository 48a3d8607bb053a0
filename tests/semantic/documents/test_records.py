from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import DOCUMENT_TOKENS
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.schemas import JSONL_KEYS
from megacpp_assets.semantic.documents import records
from megacpp_assets.semantic.documents.documents import documents
from megacpp_assets.semantic.documents.records import Origin, record, write_shards
from megacpp_assets.semantic.documents.text.document import Document
from megacpp_assets.semantic.graph.repository import Repository
from megacpp_assets.semantic.labels.char_store import CharStore
from megacpp_assets.storage.publish import Publication
from tests.semantic.sources import EACH_ITS_OWN, index
from tests.storage.records import read_shard

ORIGIN = Origin(RepoRef("shape", "v1"), "c" * 40, "BSL-1.0")
SOURCES = {
    "a.cc": "int first() { return 100000; }\nint second() { return first(); }\n",
    "b.cc": "int third(int é) { return é; }\n",
}


def _made(tree: Path) -> list[tuple[Document, dict[str, Any]]]:
    repository, store = index(tree, SOURCES)
    return _made_of(repository, store)


def _made_of(repository: Repository, store: CharStore) -> list[tuple[Document, dict[str, Any]]]:
    entries = documents(repository, store, EACH_ITS_OWN, DOCUMENT_TOKENS)
    return [(entry, record(entry, repository, store, ORIGIN, 4.0)) for entry in entries if isinstance(entry, Document)]


def _records(tree: Path) -> list[dict[str, Any]]:
    return [made for _, made in _made(tree)]


def test_a_record_reads_back_as_it_was_written(tmp_path: Path) -> None:
    repository, store = index(tmp_path, SOURCES)
    made = _made_of(repository, store)
    publication = Publication(tmp_path / "out")
    assert write_shards(publication, iter([values for _, values in made]), 4096) == 1
    back = list(read_shard(tmp_path / "out" / c.of_budget(4096, c.jsonl_shard(0)), "shard"))
    assert publication.entries[0].rows == len(back) == len(made) == 3
    for (document, ours), theirs in zip(made, back, strict=True):
        assert tuple(theirs) == JSONL_KEYS
        assert theirs[c.TEXT] == ours[c.TEXT]
        assert all(np.array_equal(theirs[name], document.chars(store)[name]) for name in c.PAINTED_COLUMNS)


def test_shards_have_a_fixed_number_of_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "SHARD_DOCUMENTS", 2)
    publication = Publication(tmp_path / "out")
    assert write_shards(publication, iter(_records(tmp_path)), 4096) == 2
    assert [(entry.name, entry.rows) for entry in publication.entries] == [
        (c.of_budget(4096, c.jsonl_shard(0)), 2),
        (c.of_budget(4096, c.jsonl_shard(1)), 1),
    ]


def test_no_document_makes_no_shard(tmp_path: Path) -> None:
    publication = Publication(tmp_path / "out")
    assert write_shards(publication, iter([]), 4096) == 0 == len(publication.entries)


def test_ids_are_32_hex_digits_and_the_same_wherever_the_tree_is(tmp_path: Path) -> None:
    ids = [entry[c.DOC_ID] for entry in _records(tmp_path / "one")]
    assert len(set(ids)) == 3
    assert all(len(found) == 32 and int(found, 16) >= 0 for found in ids)
    assert ids == [entry[c.DOC_ID] for entry in _records(tmp_path / "two")]


def test_a_files_own_licence_comes_before_the_repositorys(tmp_path: Path) -> None:
    assert {entry[c.LICENSE] for entry in _records(tmp_path)} == {"MIT"}
