"""Invariants of `v6_enriched`: a value for every token, by the first-character rule; text and tokens as upstream."""

from __future__ import annotations

from typing import Final

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.check import CheckResult
from megacpp_assets.contract.names import DEF_USE_USE, STRUCTURE_CATEGORIES
from megacpp_assets.contract.schemas import CHAR_TYPES, ENRICHED
from megacpp_assets.quality.duck import Connection, connect
from megacpp_assets.quality.row_rules import RowRule, broken_rows, check_rows
from megacpp_assets.quality.tokenized import (
    PARQUET_SUFFIX,
    check_schema,
    check_unique_ids,
    provenance_rule,
    token_rules,
    vocabulary_size,
)
from megacpp_assets.quality.upstream import input_of
from megacpp_assets.storage.artifact import Artifact

CHECKS: Final = (
    "schema",
    "column_lengths",
    "categories_known",
    "first_token_is_bos",
    "bos_count_is_documents",
    "text_makes_no_special_token",
    "ids_below_vocabulary",
    "tokens_within_limit",
    "chunk_spans_inside",
    "edges_inside_chunks",
    "dep_levels_follow_chunks",
    "provenance_of_partition",
    "unique_document_ids",
    "text_unchanged",
    "tokens_conserved",
    "first_character_rule",
)
_CHUNK_COLUMNS: Final = (
    c.TOKEN_CHUNK_ENDS_COLUMN, c.TOKEN_CHUNK_KINDS_COLUMN, c.TOKEN_CHUNK_DEP_LEVELS_COLUMN,
)  # fmt: skip
_SQL_TYPES: Final = {"uint8": "UTINYINT", "uint16": "USMALLINT", "uint32": "UINTEGER"}


def check(artifact: Artifact) -> list[CheckResult]:
    """Assert every invariant; results in the order of `CHECKS`. `LineageGap` if an upstream artifact is gone."""
    files = artifact.files(PARQUET_SUFFIX)
    schema = check_schema(files, ENRICHED)
    if not schema.passed:
        return [schema, *(CheckResult(name, False, "the schema", "another one") for name in CHECKS[1:])]
    tokens = input_of(artifact, "tokenized_parquet")
    vocabulary = vocabulary_size(input_of(tokens, "tokenizer"))
    pinned = input_of(input_of(tokens, "semantic_jsonl"), "pinned_repos")
    with connect(artifact.directory, tokens.directory) as connection:
        connection.view("documents", files)
        connection.view("tokens", tokens.files(PARQUET_SUFFIX))
        provenance = provenance_rule(artifact.manifest.partition, str(pinned.manifest.config["commit"]))
        results = {
            **check_rows(connection, "documents", c.DOC_ID, (*_rules(), *token_rules(vocabulary), provenance)),
            "unique_document_ids": check_unique_ids(connection),
            **_check_upstream(connection),
        }
    return [schema, *(results[name] for name in CHECKS[1:])]


def _rules() -> tuple[RowRule, ...]:
    per_token = [f"len({name}) = len(token_ids)" for name in c.TOKEN_METADATA_COLUMNS]
    per_chunk = [f"len({name}) = len(token_chunk_starts)" for name in _CHUNK_COLUMNS]
    return (
        RowRule(
            "column_lengths",
            "a value for every token and chunk",
            " AND ".join(["actual_token_count = len(token_ids)", *per_token, *per_chunk]),
        ),
        RowRule(
            "categories_known",
            f"structure ids and chunk kinds below {len(STRUCTURE_CATEGORIES)}, def-use at most {DEF_USE_USE}",
            f"list_max(token_structure_ids) < {len(STRUCTURE_CATEGORIES)} AND list_max(token_def_use) <= {DEF_USE_USE}"
            f" AND coalesce(list_max(token_chunk_kinds), 0) < {len(STRUCTURE_CATEGORIES)}",
        ),
        RowRule(
            "chunk_spans_inside",
            "starts that increase, each before its end, ends within the document",
            "len(list_filter(range(1, len(token_chunk_starts) + 1), lambda i:"
            " token_chunk_starts[i] < token_chunk_ends[i] AND token_chunk_ends[i] <= len(token_ids)"
            " AND (i = 1 OR token_chunk_starts[i] > token_chunk_starts[i - 1]))) = len(token_chunk_starts)",
        ),
        RowRule(
            "edges_inside_chunks",
            "edges between the document's chunks",
            " AND ".join(
                f"len(list_filter({edges}, lambda k: greatest(k['from'], k['to']) >= len(token_chunk_starts))) = 0"
                for edges in (c.TOKEN_CALL_EDGES_COLUMN, c.TOKEN_TYPE_EDGES_COLUMN)
            ),
        ),
        RowRule(
            "dep_levels_follow_chunks",
            "each chunk's level at its first token, 0 before the first chunk",
            "len(list_filter(range(1, len(token_chunk_starts) + 1), lambda i:"
            " token_dep_levels[token_chunk_starts[i] + 1] = token_chunk_dep_levels[i])) = len(token_chunk_starts)"
            " AND coalesce(list_max(token_dep_levels[1:coalesce(token_chunk_starts[1], len(token_ids))]), 0) = 0",
        ),
    )


def _check_upstream(connection: Connection) -> dict[str, CheckResult]:
    """Text, tokens and metadata against the token parquet, document by document, by hash."""
    facts = ("text", "ids", "metadata")
    differs = ", ".join(f"one.{name} IS DISTINCT FROM other.{name} AS {name}" for name in facts)
    counts = ", ".join(f"count(*) FILTER ({name}), min(doc_id) FILTER ({name})" for name in facts)
    gathered = "unnest(token_char_starts) AS s, unnest(token_char_ends) AS x, " + ", ".join(CHAR_TYPES)
    kept = ", ".join(f"unnest({name}) AS {name}" for name in c.TOKEN_OF_CHAR.values())
    (row,) = connection.rows(
        f"""WITH one AS ({_hashes("tokens", gathered, [_gather(name) for name in CHAR_TYPES])}),
                 other AS ({_hashes("documents", kept, [c.TOKEN_OF_CHAR[name] for name in CHAR_TYPES])})
            SELECT {counts} FROM (SELECT doc_id, {differs} FROM one FULL JOIN other USING (doc_id))"""  # noqa: S608
    )
    names = ("text_unchanged", "tokens_conserved", "first_character_rule")
    expected = (
        "the text of the token parquet",
        "the tokens of the token parquet",
        "each token's first character's value",
    )
    results = zip(names, expected, row[::2], row[1::2], strict=True)
    return {name: broken_rows(name, wanted, broken, first) for name, wanted, broken, first in results}


def _hashes(view: str, columns: str, values: list[str]) -> str:
    """SQL for a row per document: hashes of its text, of its tokens, and of `values`, which there is one of per token.

    Tokens are unnested and their hashes, each with its place, summed: several times as fast as hashing whole lists.
    """
    return f"""SELECT doc_id, text, ids, metadata FROM (SELECT doc_id, sha256(text) AS text FROM {view}) LEFT JOIN (
        SELECT doc_id, sum(hash(i, id)) AS ids, sum(hash(i, {", ".join(values)})) AS metadata FROM (
            SELECT doc_id, generate_subscripts(token_ids, 1) AS i, unnest(token_ids) AS id, {columns} FROM {view}
        ) GROUP BY doc_id) USING (doc_id)"""  # noqa: S608 - views and columns are ours


def _gather(name: str) -> str:
    """SQL for a token's value of a character column, straight from the rule: that of its first character, else 0."""
    return f"(CASE WHEN x > s THEN coalesce({name}[s + 1], 0) ELSE 0 END)::{_SQL_TYPES[str(CHAR_TYPES[name])]}"
