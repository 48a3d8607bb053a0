"""Secrets that the recipe replaces, from the files of a commit to packed rows: no text of one comes through, and every
offset is that of the commit's bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import TRAIN_SPLIT
from megacpp_assets.contract.partition import Mixture, RepoRef
from megacpp_assets.contract.recipe.curation import CurationRecipe
from megacpp_assets.contract.recipe.documents import HoldoutRecipe, SemanticRecipe
from megacpp_assets.contract.sources.curated import FINDS_FILE
from megacpp_assets.curation import stage as curation
from megacpp_assets.enriched import stage as enriched
from megacpp_assets.packed import stage as packed
from megacpp_assets.quality.curation import check as check_curated
from megacpp_assets.quality.semantic import check as check_semantic
from megacpp_assets.repos.catalogue import CatalogueEntry
from megacpp_assets.repos.pins import pin
from megacpp_assets.repos.stage import PinnedReposSpec
from megacpp_assets.repos.stage import run as fetch
from megacpp_assets.semantic import stage as semantic
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.git_objects import with_spans_replaced
from megacpp_assets.storage.parquet import read_table
from megacpp_assets.tokenized import stage as tokenized
from megacpp_assets.tokenizer.encoder import Encoder
from tests.repos.git_tree import make_repository
from tests.semantic.parsing_trees import toolchain
from tests.storage.records import plain_records
from tests.tokenized.documents import BUDGETS, DATASET, publish_tokenizer

_BEGIN, _END = (f"-----{word} RSA " + "PRIVATE KEY-----" for word in ("BEGIN", "END"))
_KEY_LINES = [f"bWVnYWNwcF9hc3NldHNfdGVzdF9rZXlfbGluZV8w{number:03d}" for number in range(200)]
_PASSWORD, _AWS, _ADDRESS = "hunter2" + "horse", "AKIA" + "QWERTYUIOPASDFGH", "jane.roe@corp-mail.com"
_NUMBER = "204.232.175.90"
_HALVES = "TUlJRXBBSUJBQUtDQVFFQXg", "eXowMTIzNDU2Nzg5c2Vjb25k"
SECRETS = (_PASSWORD, _AWS, _ADDRESS, _NUMBER, *_HALVES, *_KEY_LINES)
_LONG = "".join(f'    "{line}\\n"\n' for line in _KEY_LINES)
FILES = {
    "LICENSE": b"Apache License, Version 2.0\n",
    "src/one_line.cc": (
        f"// caf\u00e9: ask {_ADDRESS}\r\nint ask(int value) {{\r\n"
        f'  const char* password = "{_PASSWORD}";  // \u540d of {_AWS}\r\n  return value + password[0];\r\n}}\r\n'
        f'const char* host() {{ return "{_NUMBER}"; }}\r\n'
    ).encode(),
    # A document of at most 4,096 tokens has only a part of this key, without the two lines that show what it is.
    "src/long_key.cc": f'const char* key() {{\n  return\n    "{_BEGIN}\\n"\n{_LONG}    "{_END}\\n";\n}}\n'.encode(),
    # The first half stands in the comment of one function, the second half in that of the next.
    "src/halves.cc": (
        f"/* {_BEGIN}\n{_HALVES[0]} */\nint first(int value) {{ return value + 1; }}\n"
        f"/* {_HALVES[1]}\n{_END} */\nint second(int value) {{ return value + 2; }}\n"
    ).encode(),
    "src/all_secret.cc": f"// {_ADDRESS}\n// {_AWS}\n".encode() * 20,
    "src/clean.cc": b"int clean(int value) { return value * 3; }\n",
}


@dataclass(frozen=True, slots=True)
class Line:
    """The artifacts of one repository whose recipe replaces secrets."""

    curated: Artifact
    documents: Artifact
    tokens: Artifact
    structure: Artifact
    rows: Artifact
    decoder: Encoder


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Line:
    root, upstream = tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("upstream") / "lib"
    make_repository(upstream, FILES)
    chosen = pin(CatalogueEntry("lib", str(upstream), "v1"), "v1", root)
    repo = chosen.partition
    fetch(PinnedReposSpec(root, chosen))
    curated = curation.run(
        curation.CuratedFilesSpec(root, DATASET, repo, chosen.license, CurationRecipe(secrets="replace"))
    )
    recipe, held = SemanticRecipe(replication=50.0), HoldoutRecipe(share=0)
    documents = semantic.run(
        semantic.SemanticJsonlSpec(
            root, DATASET, repo, chosen.commit, chosen.license, recipe, toolchain(), BUDGETS, held
        )
    )
    decoder = Encoder.load(publish_tokenizer(root).directory)
    tokens = tokenized.run(tokenized.TokenizedParquetSpec(root, DATASET, repo, BUDGETS))
    structure = enriched.run(enriched.V6EnrichedSpec(root, DATASET, repo, BUDGETS))
    rows = packed.run(_rows(root, repo))
    return Line(curated, documents, tokens, structure, rows, decoder)


def _rows(root: Path, repo: RepoRef) -> packed.PackedRowsSpec:
    return packed.PackedRowsSpec(
        root, DATASET, Mixture("base", "4k"), (repo,), {}, row_tokens=4096, document_tokens=BUDGETS[0], seed=7
    )


def _read(artifact: Artifact, name: str = "") -> Iterator[dict[str, Any]]:
    for file in artifact.files(".parquet", name):
        yield from pq.read_table(file).to_pylist()


def _masked() -> dict[str, bytes]:
    """Each file with its finds replaced, by hand: letters by x, digits by 0."""
    masked = {}
    for path, data in FILES.items():
        spans = [
            (start, start + len(secret))
            for secret in map(str.encode, (_PASSWORD, _AWS, _ADDRESS, _NUMBER))
            for start in _places(data, secret)
        ]
        if _BEGIN.encode() in data:
            spans.append((data.index(_BEGIN.encode()) + len(_BEGIN), data.index(_END.encode())))
        masked[path] = with_spans_replaced(data, sorted(spans))
    return masked


def _places(data: bytes, text: bytes) -> Iterator[int]:
    at = data.find(text)
    while at >= 0:
        yield at
        at = data.find(text, at + 1)


def test_every_find_is_counted_and_its_text_is_in_no_table(line: Line) -> None:
    stats = line.curated.manifest.stats
    expected = {"AWSKey": 21, "Keyword": 1, "email": 21, "ip_address": 1, "private_key": 2}
    assert stats["finds_by_rule"] == expected and stats["finds_replaced"] == 46
    assert all(result.passed for result in check_curated(line.curated))
    table = str(read_table(line.curated.file(FINDS_FILE)).to_pylist())
    assert [secret for secret in SECRETS if secret in table] == []


def test_documents_are_the_masked_bytes_of_their_files(line: Line) -> None:
    assert all(result.passed for result in check_semantic(line.documents))
    masked, seen = _masked(), set()
    for record in plain_records(line.documents, BUDGETS[0]):
        for part in record[c.CONSTITUENTS]:
            if part["filepath"]:
                text = record[c.TEXT][part["char_start"] : part["char_end"]]
                assert masked[part["filepath"]][part["byte_start"] : part["byte_end"]].decode() == text
                seen.add(part["filepath"])
    assert seen == {path for path in FILES if path.endswith(".cc")} - {"src/all_secret.cc"}


def test_a_file_that_is_all_secret_has_its_finds_replaced_and_no_definition(line: Line) -> None:
    assert set(_masked()["src/all_secret.cc"].decode().split()) == {"//", "xxxx.xxx@xxxx-xxxx.xxx", "x" * 20}
    decisions = read_table(line.curated.file("decisions.parquet")).to_pylist()
    (row,) = (row for row in decisions if row["filepath"] == "src/all_secret.cc")
    assert (row["decision"], row["reason"]) == ("keep", "")


def test_no_stage_has_text_of_a_secret_and_tokens_decode_to_the_masked_text(line: Line) -> None:
    decode = line.decoder.decode
    texts = {row[c.DOC_ID]: row[c.TEXT] for row in _read(line.tokens)}
    assert sum("key.cc" in name or "xxxx" in text for name, text in texts.items()) >= 3
    for artifact in (line.tokens, line.structure):
        for row in _read(artifact):
            assert decode(row[c.TOKEN_IDS_COLUMN]).decode() == row[c.TEXT] == texts[row[c.DOC_ID]]
            assert not any(secret in row[c.TEXT] for secret in SECRETS)
    for row in _read(line.tokens):
        spans = zip(row[c.TOKEN_IDS_COLUMN], row[c.TOKEN_CHAR_STARTS], row[c.TOKEN_CHAR_ENDS], strict=True)
        assert b"".join(decode([token]) for token, _, _ in spans) == row[c.TEXT].encode()


def test_packed_rows_decode_to_the_masked_documents(line: Line) -> None:
    texts = {row[c.DOC_ID]: row[c.TEXT] for row in _read(line.tokens)}
    shown: set[str] = set()
    for row in _read(line.rows, TRAIN_SPLIT):
        at = 0
        for name, length in zip(row[c.SOURCE_DOC_IDS], row[c.SOURCE_DOC_TOKEN_LENGTHS], strict=True):
            assert line.decoder.decode(row[c.INPUT_IDS][at : at + length]).decode() == texts[name]
            shown.add(name)
            at += length
    assert shown == set(texts)
    joined = "".join(texts.values())
    assert 'password = "xxxxxx0xxxxx"' in joined and '"000.000.000.00"' in joined
