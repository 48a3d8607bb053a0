"""Rules that hold for documents both in token parquet and in enriched parquet.

A rule takes a batch of documents and returns a mask: True for each document that breaks the rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.document_sets import tokens_of, version_of
from megacpp_assets.contract.platforms import MAX_PLATFORM_IDS, PLATFORM_IDS
from megacpp_assets.contract.tokens.specials import BOS_ID, SPACE_ID
from megacpp_assets.quality.shared.table import Check, Verdict

if TYPE_CHECKING:
    from megacpp_assets.quality.reading.documents import Broken, Documents, Mask, RuleResults


def all_rows(broken: Broken) -> Verdict:
    """Return a verdict that holds if no document broke the rule."""
    found = f"{broken.count} rows break the rule, first {broken.first}" if broken.count else "all rows"
    return Verdict(not broken.count, found)


@dataclass(frozen=True, slots=True)
class DocumentRule:
    """A judge that holds if no document breaks `rule`. A `comparing` rule also needs the documents' source."""

    rule: Callable[[Any], Mask]
    comparing: bool = False

    def __call__(self, found: RuleResults) -> Verdict:
        return all_rows(found.broken[self.rule])


def rules_of(checks: tuple[Check[RuleResults], ...], *, comparing: bool = False) -> list[Callable[[Any], Mask]]:
    """Return the rules of the table `checks` whose `comparing` equals the argument."""
    judges = (check.judge for check in checks)
    return [judge.rule for judge in judges if isinstance(judge, DocumentRule) and judge.comparing == comparing]


def _no_bos_first(documents: Documents) -> Mask:
    return documents.firsts != BOS_ID


def _other_bos_count(documents: Documents) -> Mask:
    tokens = documents.tokens
    return tokens.sums(tokens.values == BOS_ID) != 1


def _special_tokens(documents: Documents) -> Mask:
    tokens = documents.tokens
    return tokens.any((tokens.values < SPACE_ID) & (tokens.values != BOS_ID))


def _beyond_vocabulary(documents: Documents) -> Mask:
    tokens = documents.tokens
    return tokens.any(tokens.values >= documents.facts.vocabulary)


def _beyond_limit(documents: Documents) -> Mask:
    lengths = documents.tokens.lengths
    return (lengths < 1) | (lengths > tokens_of(documents.budget))


def _other_provenance(documents: Documents) -> Mask:
    wrong = documents.empty(c.FILEPATH) | documents.empty(c.LICENSE)
    for name, value in documents.facts.provenance.items():
        wrong |= documents.other_than(name, value)
    commits = documents.facts.commits if version_of(documents.budget) else (documents.facts.commit,)
    return wrong | documents.none_of(c.COMMIT, commits)


def _repeated(found: RuleResults) -> Verdict:
    return all_rows(found.repeated)


TOKEN_CHECKS: Final = (
    Check("first_token_is_bos", f"token {BOS_ID} first", DocumentRule(_no_bos_first)),
    Check("bos_count_is_documents", "one BOS per document", DocumentRule(_other_bos_count)),
    Check("text_makes_no_special_token", f"no id below {SPACE_ID} but BOS", DocumentRule(_special_tokens)),
    Check("ids_below_vocabulary", "ids below the tokenizer's vocabulary size", DocumentRule(_beyond_vocabulary)),
    Check("tokens_within_limit", "at most the tokens of its budget, BOS included", DocumentRule(_beyond_limit)),
)
PROVENANCE_CHECKS: Final = (
    Check(
        "provenance_of_partition", "the partition's repository, ref and commit, a file and a licence",
        DocumentRule(_other_provenance),
    ),
    Check(
        "platforms_known",
        f"at most {MAX_PLATFORM_IDS} platforms, ascending, from 1 to {PLATFORM_IDS - 1}",
        DocumentRule(lambda documents: documents.invalid_platforms()),
    ),
    Check("unique_document_ids", "each id once in a budget", _repeated),
)  # fmt: skip
