"""A document over the token limit, from sources through the index and its exact split: nothing is lost or moved."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import orjson
import pytest
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.recipe.documents import SemanticRecipe
from megacpp_assets.contract.schemas import CHAR_TYPES
from megacpp_assets.semantic.documents.documents import documents
from megacpp_assets.semantic.documents.records import Origin, record
from megacpp_assets.semantic.documents.roots.budget import CHARS_PER_TOKEN
from megacpp_assets.semantic.documents.text.document import Document
from megacpp_assets.tokenized.encode import tokenize
from megacpp_assets.tokenized.records import documents_table
from megacpp_assets.tokenized.split import DocumentLimits
from tests.semantic.sources import index
from tests.tokenized.word_encoder import WordEncoder, token_count

LIMIT = 192
COMPOSED = 4096
"""The budget of the documents. They are longer than `LIMIT`, as where the estimate of tokens was too low."""
METHOD = """\
  // The {n}th side of a bóx.
  int side{n}(int scale) const {{
    int total = width * scale;
    for (int step = 0; step < {n}; ++step) total += twice(step) + side0(step);

    return total + twice(scale) + twice(total) + twice(width) + twice({n});
  }}
"""
BOX = "struct Box {\n  int width;\n  int side0(int scale) const { return width * scale; }\n"
LONG = (
    "int longest(int value) {\n"
    + "".join(f"  value += twice(value) * {n};\n" for n in range(60))
    + "  return value;\n}\n"
)
SOURCES = {
    "lib.h": "#pragma once\n#include <cstddef>\nnamespace lib {\nint twice(int value);\n}\n",
    "box.cc": '#include "lib.h"\nusing lib::twice;\nnamespace shape {\n'
    + BOX + "".join(METHOD.format(n=n) for n in range(1, 9)) + "};\n" + LONG + "}\n",
}  # fmt: skip
Row = dict[str, Any]


class Split:
    """A document as `semantic_jsonl` records it, and the rows that `tokenized_parquet` makes of it."""

    def __init__(self, document: Document, chars: NDArray[np.void], values: Row) -> None:
        self.document, self.chars = document, chars
        self.whole: Row = orjson.loads(orjson.dumps(values))
        batch = tokenize(documents_table([self.whole]), WordEncoder(), DocumentLimits(LIMIT, 64))
        self.pieces: list[Row] = batch.table.to_pylist()


@pytest.fixture(scope="module")
def splits(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Split]:
    repository, store = index(tmp_path_factory.mktemp("roots"), SOURCES)
    recipe = SemanticRecipe(strategy="per_chunk", replication=1.0)  # no context
    origin = Origin(RepoRef("shape", "v1"), "c" * 40, "MIT")
    made = [entry for entry in documents(repository, store, recipe, COMPOSED) if isinstance(entry, Document)]
    return {
        entry.root.name: Split(entry, entry.chars(store), record(entry, repository, store, origin, CHARS_PER_TOKEN))
        for entry in made
    }


@pytest.fixture(params=["shape::Box", "shape::longest"])
def split(splits: dict[str, Split], request: pytest.FixtureRequest) -> Split:
    return splits[request.param]


def test_the_root_is_recorded_whole_with_its_include_alone(split: Split) -> None:
    assert split.whole["token_estimate"] > LIMIT
    assert [chunk["kind"] for chunk in split.whole[c.CHUNK_BOUNDARIES]][:2] == ["preamble", "namespace"]
    root = SOURCES["box.cc"].encode()[split.whole[c.BYTE_START] : split.whole[c.BYTE_END]].decode()
    assert split.whole[c.TEXT] == f'#include "lib.h"\n\nnamespace shape {{\n\n{root}\n\n}}  // namespace shape'


def test_its_pieces_keep_the_exact_limit_and_join_to_its_text(split: Split) -> None:
    assert len(split.pieces) > 3
    assert all(token_count(piece[c.TEXT]) == piece[c.ACTUAL_TOKEN_COUNT] <= LIMIT for piece in split.pieces)
    assert "".join(piece[c.TEXT] for piece in split.pieces) == split.whole[c.TEXT]
    assert [piece[c.DOC_ID] for piece in split.pieces] == [
        f"{split.whole[c.DOC_ID]}.{number:04d}" for number in range(len(split.pieces))
    ]


def test_every_character_keeps_its_columns(split: Split) -> None:
    for name in CHAR_TYPES:
        joined = [value for piece in split.pieces for value in piece[name]]
        expected = split.document.roles if name == c.ROLES else split.chars[name]
        assert joined == expected.tolist()
        assert np.any(joined) or name == c.TYPE_REFS


def test_the_constituents_of_the_pieces_are_the_bytes_of_the_file_without_a_gap(split: Split) -> None:
    ranges = []
    for piece in split.pieces:
        for part in piece[c.CONSTITUENTS]:
            stored = SOURCES[part["filepath"]].encode()[part["byte_start"] : part["byte_end"]]
            assert stored.decode() == piece[c.TEXT][part["char_start"] : part["char_end"]]
            ranges.append((part["byte_start"], part["byte_end"]))
        assert {piece[name] for name in (c.FILEPATH, c.REPO, c.REF, c.COMMIT)} == {"box.cc", "shape", "v1", "c" * 40}
        assert (piece[c.BYTE_START], piece[c.BYTE_END]) == (split.whole[c.BYTE_START], split.whole[c.BYTE_END])
    inside = [(start, end) for start, end in ranges if start >= split.whole[c.BYTE_START]]
    assert (inside[0][0], inside[-1][1]) == (split.whole[c.BYTE_START], split.whole[c.BYTE_END])
    assert all(before[1] == after[0] for before, after in pairwise(inside))


def test_chunks_keep_their_names_and_characters_and_edges_their_ends(split: Split) -> None:
    texts: dict[str, str] = {}
    for piece in split.pieces:
        for chunk in piece[c.CHUNK_BOUNDARIES]:
            key = f"{chunk['kind']} {chunk['name']}"
            texts[key] = texts.get(key, "") + piece[c.TEXT][chunk["char_offset"] : chunk["char_end"]]
    wanted: dict[str, str] = {}
    for chunk in split.whole[c.CHUNK_BOUNDARIES]:
        key = f"{chunk['kind']} {chunk['name']}"
        wanted[key] = wanted.get(key, "") + split.whole[c.TEXT][chunk["char_offset"] : chunk["char_end"]]
    assert texts == wanted
    assert _calls(split.whole) >= set().union(*map(_calls, split.pieces))


def test_a_method_is_cut_only_if_it_fits_in_no_piece(splits: dict[str, Split]) -> None:
    names = [chunk["name"] for piece in splits["shape::Box"].pieces for chunk in piece[c.CHUNK_BOUNDARIES]]
    methods = [name for name in names if name.startswith("shape::Box::side")]
    assert methods == [f"shape::Box::side{n}" for n in range(1, 9)]


def _calls(row: Row) -> set[tuple[str, str]]:
    names = [chunk["name"] for chunk in row[c.CHUNK_BOUNDARIES]]
    return {(names[edge["caller_idx"]], names[edge["callee_idx"]]) for edge in row[c.CALL_EDGES]}
