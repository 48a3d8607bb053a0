"""Invariants of `tokenized_parquet`: spans cover the text, one BOS a document, ids known, nothing lost on the way."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

import pyarrow as pa

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.check import CheckResult
from megacpp_assets.contract.names import DOCUMENT_TOKENS, fixed_max_chunks
from megacpp_assets.contract.schemas import CHAR_TYPES, TOKENIZED
from megacpp_assets.contract.specials import BOS_ID, SPACE_ID
from megacpp_assets.quality.duck import Connection, connect
from megacpp_assets.quality.row_rules import RowRule, broken_rows, check_rows
from megacpp_assets.quality.upstream import input_of
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.jsonl import read_texts
from megacpp_assets.storage.parquet import read_schema
from megacpp_assets.tokenizer.lock import LOCK_FILE, TokenizerLock

PARQUET_SUFFIX: Final = ".parquet"
MAX_CHUNKS: Final = fixed_max_chunks(DOCUMENT_TOKENS)
CHECKS: Final = (
    "schema",
    "column_lengths",
    "spans_aligned",
    "first_token_is_bos",
    "bos_count_is_documents",
    "text_makes_no_special_token",
    "ids_below_vocabulary",
    "tokens_within_limit",
    "chunks_within_limit",
    "chunk_spans_inside",
    "edges_inside_chunks",
    "provenance_of_partition",
    "unique_document_ids",
    "documents_conserved",
)

_ENDS = "token_char_starts[1] = 0 AND token_char_ends[1] = 0 AND token_char_ends[-1] = length(text)"
_NEXT = "s < x AND (s = before OR shared AND s = before - 1 AND x >= before)"
"""A token takes up where the one before it ends, or in the character that both have bytes of."""


def check(artifact: Artifact) -> list[CheckResult]:
    """Assert every invariant; results in the order of `CHECKS`. `LineageGap` if an upstream artifact is gone."""
    files = artifact.files(PARQUET_SUFFIX)
    schema = check_schema(files, TOKENIZED)
    if not schema.passed:
        return [schema, *(CheckResult(name, False, "the schema", "another one") for name in CHECKS[1:])]
    semantic = input_of(artifact, "semantic_jsonl")
    vocabulary = vocabulary_size(input_of(artifact, "tokenizer"))
    commit = str(input_of(semantic, "pinned_repos").manifest.config["commit"])
    with connect(artifact.directory) as connection:
        connection.view("documents", files)
        rules = (*_rules(), *token_rules(vocabulary), provenance_rule(artifact.manifest.partition, commit))
        results = {
            **check_rows(connection, "documents", c.DOC_ID, rules),
            "spans_aligned": _check_spans(connection),
            "unique_document_ids": check_unique_ids(connection),
            "documents_conserved": _check_conserved(connection, semantic),
        }
    return [schema, *(results[name] for name in CHECKS[1:])]


def vocabulary_size(tokenizer: Artifact) -> int:
    """Number of ids of a tokenizer artifact, reserved ones included, as its lock states."""
    return TokenizerLock.from_bytes(tokenizer.file(LOCK_FILE).read_bytes()).recipe.vocabulary_size


def check_schema(files: list[Path], schema: pa.Schema) -> CheckResult:
    """Every file has exactly the fields of `schema`."""
    odd = [file.name for file in files if not read_schema(file).equals(schema)]
    return CheckResult(
        "schema", not odd, "the contract's schema in every file", f"other in {odd}" if odd else "the same"
    )


def _rules() -> tuple[RowRule, ...]:
    per_token = [f"len({name}) = len(token_ids)" for name in (c.TOKEN_CHAR_STARTS, c.TOKEN_CHAR_ENDS)]
    per_char = [f"len({name}) = length(text)" for name in CHAR_TYPES]
    return (
        RowRule(
            "column_lengths",
            "a value for every token and character",
            " AND ".join(["actual_token_count = len(token_ids)", *per_token, *per_char]),
        ),
        RowRule(
            "chunks_within_limit",
            f"at most {MAX_CHUNKS} chunks, the slots of the shortest row",
            f"len(chunk_boundaries) <= {MAX_CHUNKS}",
        ),
        RowRule(
            "chunk_spans_inside",
            "0 <= char_offset < char_end <= length of the text",
            "len(list_filter(chunk_boundaries, lambda k: k.char_offset >= 0 AND k.char_offset < k.char_end"
            " AND k.char_end <= length(text))) = len(chunk_boundaries)",
        ),
        RowRule(
            "edges_inside_chunks",
            "edges between the document's chunks",
            " AND ".join(
                f"len(list_filter({edges}, lambda k: k.{one} >= 0 AND k.{other} >= 0"
                f" AND greatest(k.{one}, k.{other}) < len(chunk_boundaries))) = len({edges})"
                for edges, one, other in (
                    (c.CALL_EDGES, "caller_idx", "callee_idx"),
                    (c.TYPE_EDGES, "type_idx", "user_idx"),
                )
            ),
        ),
    )


def _check_spans(connection: Connection) -> CheckResult:
    """Token by token, unnested: several times as fast as a lambda over each document's lists."""
    broken, first = connection.rows(
        f"""SELECT count(DISTINCT doc_id), min(doc_id) FROM (
            SELECT doc_id FROM (
                SELECT doc_id, strlen(text) > length(text) AS shared, unnest(token_char_starts[2:]) AS s,
                    unnest(token_char_ends[2:]) AS x, unnest(token_char_ends[:len(token_char_ends) - 1]) AS before
                FROM documents) WHERE ({_NEXT}) IS NOT TRUE
            UNION ALL SELECT doc_id FROM documents WHERE ({_ENDS}) IS NOT TRUE)"""  # noqa: S608 - constants of ours
    )[0]
    return broken_rows("spans_aligned", "spans that cover the text in order, without gaps", broken, first)


def token_rules(vocabulary_size: int) -> tuple[RowRule, ...]:
    """What holds of token ids from here on, in parquet and in enriched."""
    return (
        RowRule("first_token_is_bos", f"token {BOS_ID} first", f"token_ids[1] = {BOS_ID}"),
        RowRule(
            "bos_count_is_documents", "one BOS a document", f"len(list_filter(token_ids, lambda t: t = {BOS_ID})) = 1"
        ),
        RowRule(
            "text_makes_no_special_token",
            f"no id below {SPACE_ID} but BOS",
            f"len(list_filter(token_ids, lambda t: t < {SPACE_ID} AND t <> {BOS_ID})) = 0",
        ),
        RowRule("ids_below_vocabulary", f"ids below {vocabulary_size}", "list_max(token_ids) < ?", (vocabulary_size,)),
        RowRule(
            "tokens_within_limit",
            f"at most {DOCUMENT_TOKENS} tokens with BOS",
            f"len(token_ids) BETWEEN 1 AND {DOCUMENT_TOKENS}",
        ),
    )


def provenance_rule(partition: str, commit: str) -> RowRule:
    """Every document names the partition's repository, reference and commit, and a file."""
    repo, _, ref = partition.partition("@")
    return RowRule(
        "provenance_of_partition",
        f"{partition} at {commit}",
        "repo = ? AND ref = ? AND commit_hash = ? AND filepath <> '' AND license <> ''",
        (repo, ref, commit),
    )


def check_unique_ids(connection: Connection) -> CheckResult:
    """No document id occurs twice, in whichever shard."""
    repeated, first = connection.rows(
        "SELECT count(*), min(doc_id) FROM (SELECT doc_id FROM documents GROUP BY doc_id HAVING count(*) > 1)"
    )[0]
    return broken_rows("unique_document_ids", "each id once", repeated, first)


_BASE = r"regexp_replace(doc_id, '\.[0-9]{4}$', '')"


def _check_conserved(connection: Connection, semantic: Artifact) -> CheckResult:
    """Pieces, joined, are the semantic documents: nothing cropped, lost, or added."""
    found = dict(
        connection.rows(
            f"SELECT {_BASE}, sha256(string_agg(text, '' ORDER BY doc_id)) FROM documents GROUP BY 1"  # noqa: S608
        )
    )
    expected: dict[str, hashlib._Hash] = {}
    for doc_id, text in read_texts(semantic):
        expected.setdefault(_base(doc_id), hashlib.sha256()).update(text.encode())
    wrong = sorted(
        name for name in found.keys() | expected.keys()
        if name not in expected or found.get(name) != expected[name].hexdigest()
    )  # fmt: skip
    return broken_rows("documents_conserved", "the text of each semantic document", len(wrong), next(iter(wrong), None))


def _base(doc_id: str) -> str:
    """The id without the number of a piece; applied to both sides alike, so an id that only looks so does no harm."""
    stem, dot, number = doc_id.rpartition(".")
    return stem if dot and len(number) == 4 and number.isascii() and number.isdigit() else doc_id
