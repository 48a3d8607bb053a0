"""Invariants of `tokenized_parquet`: spans cover the text, one BOS per document, valid ids, and no text is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.document_sets import tokens_of
from megacpp_assets.contract.names import fixed_max_chunks
from megacpp_assets.contract.step import CheckResult
from megacpp_assets.quality.reading.upstream_facts import UpstreamFacts
from megacpp_assets.quality.shared.document_rules import (
    PROVENANCE_CHECKS,
    TOKEN_CHECKS,
    DocumentRule,
    all_rows,
    rules_of,
)
from megacpp_assets.quality.shared.table import Check, Verdict, fail_dependent, run_checks
from megacpp_assets.storage.artifact import Artifact

if TYPE_CHECKING:
    from megacpp_assets.quality.reading.documents import Mask, RuleResults
    from megacpp_assets.quality.reading.token_documents import TokenDocuments


def check(artifact: Artifact) -> list[CheckResult]:
    """Return the results of all checks, in the order of `CHECKS`.

    Raises `LineageGap` if an upstream artifact is missing.
    """
    from megacpp_assets.contract.schemas import TOKENIZED
    from megacpp_assets.quality.reading.documents import PARQUET_SUFFIX, apply_rules, other_schemas
    from megacpp_assets.quality.reading.token_documents import token_documents

    if other := other_schemas(artifact.files(PARQUET_SUFFIX), TOKENIZED):
        return fail_dependent(CHECKS, Verdict(False, f"another schema in {other}"))
    facts = UpstreamFacts.of(artifact, artifact.manifest.partition)
    return run_checks(CHECKS, apply_rules(artifact, token_documents(artifact, facts), rules_of(CHECKS)))


def _schema(found: RuleResults) -> Verdict:
    return Verdict(True, f"the same in {len(found.artifact.manifest.files)} files")


def _uneven(documents: TokenDocuments) -> Mask:
    import numpy as np

    tokens = documents.tokens.lengths
    wrong = documents.number(c.ACTUAL_TOKEN_COUNT) != tokens
    wrong |= documents.uneven((c.TOKEN_IDS_COLUMN, c.TOKEN_CHAR_STARTS, c.TOKEN_CHAR_ENDS), tokens)
    # Change columns are empty except in documents made from commits, where they have a value for each character.
    changed = np.where(documents.lengths(c.EDIT_OP) > 0, documents.characters, 0)
    wrong |= documents.uneven(c.CHANGE_COLUMNS, changed)
    return wrong | documents.uneven(c.CHAR_COLUMNS, documents.characters)


def _too_many_chunks(documents: TokenDocuments) -> Mask:
    return documents.lengths(c.CHUNK_BOUNDARIES) > fixed_max_chunks(tokens_of(documents.budget))


def _chunks_outside(documents: TokenDocuments) -> Mask:
    starts, ends = (documents.lists(f"{c.CHUNK_BOUNDARIES}.{end}") for end in ("char_offset", "char_end"))
    inside = (starts.values >= 0) & (starts.values < ends.values) & (ends.values <= ends.repeat(documents.characters))
    return ends.any(~inside)


def _edges_outside(documents: TokenDocuments) -> Mask:
    chunks = documents.lengths(c.CHUNK_BOUNDARIES)
    wrong = chunks < 0
    for column, ends in ((c.CALL_EDGES, ("caller_idx", "callee_idx")), (c.TYPE_EDGES, ("type_idx", "user_idx"))):
        for end in ends:
            edges = documents.lists(f"{column}.{end}")
            wrong |= edges.any((edges.values < 0) | (edges.values >= edges.repeat(chunks)))
    return wrong


def _conserved(found: RuleResults) -> Verdict:
    from megacpp_assets.quality.reading.token_documents import not_conserved

    return all_rows(not_conserved(found.artifact))


CHECKS: Final = (
    Check("schema", "the contract's schema in every file", _schema),
    Check("column_lengths", "a value for every token and character", DocumentRule(_uneven)),
    Check(
        "spans_aligned",
        "spans that cover the text in order, without gaps",
        DocumentRule(lambda documents: documents.spans_misaligned()),
    ),
    *TOKEN_CHECKS,
    Check(
        "chunks_within_limit",
        "at most max(128, T / 32) chunks, the slots of the shortest row that holds documents of T tokens",
        DocumentRule(_too_many_chunks),
    ),
    Check("chunk_spans_inside", "0 <= char_offset < char_end <= length of the text", DocumentRule(_chunks_outside)),
    Check("edges_inside_chunks", "edges between the document's chunks", DocumentRule(_edges_outside)),
    *PROVENANCE_CHECKS,
    Check("documents_conserved", "the text of each upstream document", _conserved),
)
