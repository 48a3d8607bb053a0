"""Invariants of `v6_enriched`: each token has the values of its first character; text and tokens are unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import DEF_USE_USE, STRUCTURE_CATEGORIES
from megacpp_assets.contract.step import CheckResult
from megacpp_assets.quality.reading.upstream import input_of
from megacpp_assets.quality.reading.upstream_facts import UpstreamFacts
from megacpp_assets.quality.shared.document_rules import PROVENANCE_CHECKS, TOKEN_CHECKS, DocumentRule, rules_of
from megacpp_assets.quality.shared.table import Check, Verdict, fail_dependent, run_checks
from megacpp_assets.storage.artifact import Artifact

if TYPE_CHECKING:
    from megacpp_assets.quality.reading.documents import Mask, RuleResults
    from megacpp_assets.quality.reading.enriched_documents import EnrichedDocuments

_CHUNK_COLUMNS: Final = (
    c.TOKEN_CHUNK_ENDS_COLUMN, c.TOKEN_CHUNK_KINDS_COLUMN, c.TOKEN_CHUNK_DEP_LEVELS_COLUMN,
)  # fmt: skip


def check(artifact: Artifact) -> list[CheckResult]:
    """Return the results of all checks, in the order of `CHECKS`.

    Raises `LineageGap` if an upstream artifact is missing.
    """
    from megacpp_assets.contract.schemas import ENRICHED
    from megacpp_assets.quality.reading.documents import PARQUET_SUFFIX, other_schemas
    from megacpp_assets.quality.reading.enriched_documents import apply_rules_with_source

    if other := other_schemas(artifact.files(PARQUET_SUFFIX), ENRICHED):
        return fail_dependent(CHECKS, Verdict(False, f"another schema in {other}"))
    tokens = input_of(artifact, "tokenized_parquet")
    facts = UpstreamFacts.of(tokens, artifact.manifest.partition)
    rules, comparing = rules_of(CHECKS), rules_of(CHECKS, comparing=True)
    return run_checks(CHECKS, apply_rules_with_source(artifact, tokens, facts, rules, comparing))


def _schema(found: RuleResults) -> Verdict:
    return Verdict(True, f"the same in {len(found.artifact.manifest.files)} files")


def _uneven(documents: EnrichedDocuments) -> Mask:
    tokens, chunks = documents.tokens.lengths, documents.lengths(c.TOKEN_CHUNK_STARTS_COLUMN)
    wrong = documents.number(c.ACTUAL_TOKEN_COUNT) != tokens
    wrong |= documents.uneven((c.TOKEN_IDS_COLUMN, *c.TOKEN_METADATA_COLUMNS), tokens)
    return wrong | documents.uneven((c.TOKEN_CHUNK_STARTS_COLUMN, *_CHUNK_COLUMNS), chunks)


def _unknown_categories(documents: EnrichedDocuments) -> Mask:
    structure, kinds, uses = (
        documents.lists(name)
        for name in (c.TOKEN_STRUCTURE_IDS_COLUMN, c.TOKEN_CHUNK_KINDS_COLUMN, c.TOKEN_DEF_USE_COLUMN)
    )
    wrong = structure.any(structure.values >= len(STRUCTURE_CATEGORIES))
    return wrong | kinds.any(kinds.values >= len(STRUCTURE_CATEGORIES)) | uses.any(uses.values > DEF_USE_USE)


def _edges_outside(documents: EnrichedDocuments) -> Mask:
    chunks = documents.lengths(c.TOKEN_CHUNK_STARTS_COLUMN)
    wrong = chunks < 0
    for name in (c.TOKEN_CALL_EDGES_COLUMN, c.TOKEN_TYPE_EDGES_COLUMN):
        for end in ("from", "to"):
            edges = documents.lists(f"{name}.{end}")
            wrong |= edges.any(edges.values >= edges.repeat(chunks))
    return wrong


CHECKS: Final = (
    Check("schema", "the contract's schema in every file", _schema),
    Check("column_lengths", "a value for every token and chunk", DocumentRule(_uneven)),
    Check(
        "categories_known",
        f"structure ids and chunk kinds below {len(STRUCTURE_CATEGORIES)}, def-use at most {DEF_USE_USE}",
        DocumentRule(_unknown_categories),
    ),
    *TOKEN_CHECKS,
    Check(
        "chunk_spans_inside",
        "starts that increase, each before its end, ends within the document",
        DocumentRule(lambda documents: documents.invalid_chunks()),
    ),
    Check("edges_inside_chunks", "edges between the document's chunks", DocumentRule(_edges_outside)),
    Check(
        "dep_levels_follow_chunks",
        "each chunk's level at its first token, 0 before the first chunk",
        DocumentRule(lambda documents: documents.wrong_levels()),
    ),
    *PROVENANCE_CHECKS,
    Check(
        "text_unchanged",
        "the text of the token parquet",
        DocumentRule(lambda documents: documents.texts_differ(), comparing=True),
    ),
    Check(
        "tokens_conserved",
        "the tokens of the token parquet",
        DocumentRule(lambda documents: documents.tokens_differ(), comparing=True),
    ),
    Check(
        "platforms_unchanged",
        "the platforms of the token parquet",
        DocumentRule(lambda documents: documents.platforms_differ(), comparing=True),
    ),
    Check(
        "first_character_rule",
        "for each token the value of its first character",
        DocumentRule(lambda documents: documents.values_differ(), comparing=True),
    ),
)
