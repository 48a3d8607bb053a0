"""Semantic records for tests: drawn by hypothesis, or written by hand; and JSONL artifacts that hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from hypothesis import strategies as st

from megacpp_assets.contract.canonical import sha256_bytes
from megacpp_assets.contract.columns import jsonl_shard, of_budget
from megacpp_assets.contract.names import DOCUMENT_TOKENS, STRUCTURE_CATEGORIES
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.contract.schemas import CHAR_TYPES, SEMANTIC
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.jsonl import write_lines
from megacpp_assets.storage.publish import Publication, Target, publish
from megacpp_assets.storage.root.layout import jsonl_path, raw_path, tokenizer_path
from megacpp_assets.tokenizer.artifact import TOKENIZER_FILE, dump_model
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.lock import BPE_MODEL, GOLDEN_TEXTS, LOCK_FILE, Golden, TokenizerLock
from megacpp_assets.tokenizer.model import Merges, assemble
from megacpp_assets.tokenizer.vocabulary.fixed import special_ids
from megacpp_assets.tokenizer.whitespace import whitespace_recipe
from tests.contract.blank import blank_record

DATASET = "tiny_4k"
REPO = RepoRef("fmt", "11.0.0")
BUDGETS = (DOCUMENT_TOKENS,)
COMMIT = "0c9fce2ffefecfdce794e1859584e25877b7b592"
_LARGEST = {"structure_ids": 8, "def_use": 2, "roles": 2}


def char_columns(length: int, salt: int = 0) -> dict[str, list[int]]:
    """Values that differ from character to character and from column to column, within each column's type."""
    return {
        name: [(7 * place + 13 * column + salt) % (_LARGEST.get(name, 200) + 1) for place in range(length)]
        for column, name in enumerate(CHAR_TYPES)
    }


def record(doc_id: str, text: str, spans: Sequence[tuple[int, int]] = (), **changes: Any) -> dict[str, Any]:
    """A semantic record of `text` with a chunk for each half-open character span."""
    size = len(text.encode())
    return blank_record(SEMANTIC) | {
        "doc_id": doc_id,
        "repo": REPO.name,
        "ref": REPO.ref,
        "commit_hash": COMMIT,
        "filepath": "include/fmt/core.h",
        "byte_start": 0,
        "byte_end": size,
        "license": "MIT",
        "split": "train",
        "constituent_provenance": [
            {"filepath": "include/fmt/core.h", "byte_start": 100, "byte_end": 100 + size, "char_start": 0,
             "char_end": len(text), "role": 0}
        ],
        "language": "c++",
        "platform_ids": [1, 109],
        "text": text,
        **char_columns(len(text), salt=len(doc_id)),
        "chunk_boundaries": [
            {"char_offset": start, "char_end": end, "kind": STRUCTURE_CATEGORIES[index % 9], "name": f"chunk{index}",
             "dep_level": index % 5, "is_leaf": index % 2 == 0}
            for index, (start, end) in enumerate(spans)
        ],
        "call_edges": [],
        "type_edges": [],
        "token_estimate": size // 4,
        **changes,
    }  # fmt: skip


def call_edge(caller: int, callee: int) -> dict[str, Any]:
    return {"caller_idx": caller, "callee_idx": callee, "confidence": "exact"}


def type_edge(defines: int, uses: int) -> dict[str, Any]:
    return {"type_idx": defines, "user_idx": uses, "confidence": "exact"}


_WORDS = st.sampled_from(
    ["int", "x", "=", ";", " ", "  ", "\n", "\n\n", "\t", "é", "名", "🙂", "a_long_identifier_42", "{", "}"]
)


@st.composite
def records(draw: st.DrawFn, *, nested: bool = False) -> dict[str, Any]:
    """A record of mixed text whose chunks are disjoint, or, if `nested`, any spans in any order."""
    text = draw(st.lists(_WORDS, min_size=1, max_size=80).map("".join))
    points = st.integers(0, len(text))
    if nested:
        pairs = draw(st.lists(st.tuples(points, points), max_size=8))
    else:
        marks = sorted(draw(st.sets(points, max_size=14)))
        pairs = list(zip(marks[::2], marks[1::2], strict=False))
    spans = [(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]]
    index = st.integers(0, max(0, len(spans) - 1))
    edges = draw(st.lists(st.tuples(index, index), max_size=12)) if spans else []
    half = len(edges) // 2
    return record(
        draw(st.from_regex(r"[a-z]{1,8}", fullmatch=True)),
        text,
        spans,
        call_edges=[call_edge(*edge) for edge in edges[:half]],
        type_edges=[type_edge(*edge) for edge in edges[half:]],
    )


def publish_raw(root: Path) -> Artifact:
    """A `pinned_repos` artifact as far as lineage goes: its manifest names the commit."""
    config = {"name": REPO.name, "ref": REPO.ref, "commit": COMMIT, "license": "MIT"}
    target = Target(root, raw_path(REPO), "pinned_repos", REPO.key, "test", config)
    return publish(target, lambda publication, _inputs: publication.write("files.jsonl", b"") or {})


def publish_jsonl(
    root: Path, documents: Sequence[Mapping[str, Any]], larger: Mapping[int, Sequence[Mapping[str, Any]]] | None = None
) -> Artifact:
    """A `semantic_jsonl` artifact, made from `publish_raw`: `documents` of the least budget, others in `larger`.

    There is one shard for each budget that has documents.
    """
    publish_raw(root)
    lengths = {DOCUMENT_TOKENS: documents, **(larger or {})}

    def produce(publication: Publication, _inputs: tuple[Artifact, ...]) -> dict[str, Any]:
        for budget, documents in lengths.items():
            if not documents:
                continue
            with publication.file(of_budget(budget, jsonl_shard(0))) as pending:
                write_lines(pending.path, (orjson.dumps(document) + b"\n" for document in documents))
                pending.rows = len(documents)
        return {"documents": sum(map(len, lengths.values()))}

    path = jsonl_path(DATASET, REPO)
    return publish(
        Target(root, path, "semantic_jsonl", REPO.key, "test", {"budgets": [*lengths]}, (raw_path(REPO),)), produce
    )


def publish_tokenizer(root: Path) -> Artifact:
    """The real encoder with a vocabulary of fixed strings and bytes only: no training, so it is there at once."""
    recipe = TokenizerRecipe(vocabulary_size=7300)
    nothing = np.empty(0, dtype=np.uint32)
    model = assemble(Merges(nothing, nothing, nothing.astype(np.int64)), 7300, whitespace_recipe(recipe.whitespace))
    data, encoder = dump_model(model), Encoder(model)
    goldens = tuple(Golden(text, tuple(encoder.encode_batch([text]).ids.tolist())) for text in GOLDEN_TEXTS)
    lock = TokenizerLock(BPE_MODEL, "0" * 40, sha256_bytes(data), len(data), recipe, special_ids(), goldens)

    def produce(publication: Publication, _inputs: tuple[Artifact, ...]) -> dict[str, Any]:
        publication.write(TOKENIZER_FILE, data)
        publication.write(LOCK_FILE, lock.to_bytes())
        return {}

    return publish(Target(root, tokenizer_path(DATASET), "tokenizer", "all", "test", {}), produce)
