"""Invariants of `tokenizer`: bytes as locked and registered, ids as in HuggingFace, lossless, specials unforgeable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from megacpp_assets.contract.step import CheckResult
from megacpp_assets.quality.shared.table import Check, Verdict, run_checks
from megacpp_assets.storage.artifact import Artifact

if TYPE_CHECKING:
    from megacpp_assets.quality.reading.tokenizer_sample import CheckedTokenizer


def check(artifact: Artifact) -> list[CheckResult]:
    """Return the results of all checks, in the order of `CHECKS`.

    If the tokenizer does not load, every check fails except the one of the registry.
    """
    from megacpp_assets.quality.reading.tokenizer_sample import CheckedTokenizer

    return run_checks(CHECKS, CheckedTokenizer(artifact))


def _locked(tokenizer: CheckedTokenizer) -> Verdict:
    return Verdict(tokenizer.encoder is not None, "both")


def _registered(tokenizer: CheckedTokenizer) -> Verdict:
    difference = tokenizer.registry_difference()
    return Verdict(not difference, difference or "the same bytes")


def _size(tokenizer: CheckedTokenizer) -> Verdict:
    expected, found = (
        int(tokenizer.artifact.manifest.config["recipe"]["vocabulary_size"]),
        tokenizer.encoder.vocabulary_size,
    )
    return Verdict(found == expected, f"{found} ids, the recipe asks for {expected}")


def _agrees(tokenizer: CheckedTokenizer) -> Verdict:
    differ = tokenizer.count_reference_mismatches()
    return Verdict(not differ, f"{differ} of {len(tokenizer.sample.texts)} texts differ")


def _lossless(tokenizer: CheckedTokenizer) -> Verdict:
    changed = tokenizer.count_round_trip_changes()
    return Verdict(not changed, f"{changed} of {len(tokenizer.sample.texts)} texts change")


def _unforgeable(tokenizer: CheckedTokenizer) -> Verdict:
    specials, heads = tokenizer.sample.specials()
    count = len(tokenizer.sample.texts)
    found = f"{specials} special tokens, {heads} at the head of one of {count} documents"
    return Verdict(specials == count == heads, found)


CHECKS: Final = (
    Check("lock_matches", "the locked bytes and golden encodings", _locked),
    Check("registry_holds_tokenizer", "the bytes that the registry holds under the lock's commit", _registered),
    Check("vocabulary_size", "as many ids as the recipe asks for", _size),
    Check("reference_agrees", "the same ids and character spans as HuggingFace tokenizers", _agrees),
    Check("round_trip_lossless", "every text unchanged after encoding and decoding", _lossless),
    Check(
        "specials_unforgeable", "one special token per document, at its start, whatever the text contains", _unforgeable
    ),
)
