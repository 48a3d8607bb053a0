"""Invariants of `tokenizer`: locked bytes, registered commit, agreement with HuggingFace, lossless, unforgeable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from megacpp_assets.contract.check import CheckResult
from megacpp_assets.quality.table import Check, Verdict, judged
from megacpp_assets.storage.artifact import Artifact

if TYPE_CHECKING:
    from megacpp_assets.quality.reading.tokenizer_sample import Trained


def check(artifact: Artifact) -> list[CheckResult]:
    """Assert every invariant; results in the order of `CHECKS`. One that does not load fails all but the registry's."""
    from megacpp_assets.quality.reading.tokenizer_sample import Trained

    return judged(CHECKS, Trained(artifact))


def _locked(trained: Trained) -> Verdict:
    return Verdict(trained.encoder is not None, "both")


def _registered(trained: Trained) -> Verdict:
    other = trained.registered()
    return Verdict(not other, other or "the same bytes")


def _size(trained: Trained) -> Verdict:
    expected, found = (
        int(trained.artifact.manifest.config["recipe"]["vocabulary_size"]),
        trained.encoder.vocabulary_size,
    )
    return Verdict(found == expected, f"{found} ids where the recipe asks for {expected}")


def _agrees(trained: Trained) -> Verdict:
    differ = trained.unlike_reference()
    return Verdict(not differ, f"{differ} of {len(trained.sample.texts)} texts differ")


def _lossless(trained: Trained) -> Verdict:
    changed = trained.changed_by_round_trip()
    return Verdict(not changed, f"{changed} of {len(trained.sample.texts)} texts change")


def _unforgeable(trained: Trained) -> Verdict:
    specials, heads = trained.sample.specials()
    count = len(trained.sample.texts)
    found = f"{specials} special tokens, {heads} at the head of one of {count} documents"
    return Verdict(specials == count == heads, found)


CHECKS: Final = (
    Check("lock_matches", "the locked bytes and golden encodings", _locked),
    Check("registry_holds_tokenizer", "the bytes that the registry holds under the lock's commit", _registered),
    Check("vocabulary_size", "as many ids as the recipe asks for", _size),
    Check("reference_agrees", "ids and character spans as HuggingFace tokenizers gives them", _agrees),
    Check("round_trip_lossless", "every text the same, once encoded and decoded", _lossless),
    Check("specials_unforgeable", "one special token a document, at its head, whatever the text spells", _unforgeable),
)
