"""The fixed vocabulary: pinned ids, one id per string, a token for every byte, no string that a guard could betray."""

from __future__ import annotations

import re

import pytest

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.tokens.specials import FIXED_IDS, NEWLINE_ID, SPACE_ID, SPECIAL_NAMES
from megacpp_assets.tokenizer.byte_level import CHARACTERS, is_spelled, spell, unspell
from megacpp_assets.tokenizer.vocabulary.fixed import FixedStrings, _add, fixed_vocabulary, special

FIXED = fixed_vocabulary()


@pytest.mark.parametrize(
    ("text", "index"),
    [("auto", 64), ("int", 133), ("co_await", 170), ("cudaMalloc", 5349), ("__GNUC__", 5380), ("TEST", 5400),
     (" ", SPACE_ID), ("\n", NEWLINE_ID)],
)  # fmt: skip
def test_published_ids_are_kept(text: str, index: int) -> None:
    assert FIXED.ids[text.encode()] == index


@pytest.mark.parametrize("text", ["std::", "->", "::", "constexpr", "template<", "#include"])
def test_named_strings_have_an_id(text: str) -> None:
    assert text.encode() in FIXED.ids


def test_every_band_has_the_ids_of_the_contract() -> None:
    starts = {group.name: group.first for group in FIXED.groups}
    bands = {"keywords_c": (64, 320), "operators_single": (320, 640), "directives": (640, 800), "integers": (800, 1200)}
    bands |= {"punctuation": (1200, 1500), "traits": (1500, 4500), "posix": (4500, 5300), "cuda": (5300, 6000)}
    for name, (first, end) in bands.items():
        assert first <= starts[name] < end
    assert all(len(group.why) > 10 for group in FIXED.groups)


def test_one_string_has_one_id_and_every_byte_has_a_token() -> None:
    keys = FIXED.keys()
    assert len(keys) == len(set(keys)) == FIXED_IDS
    assert len(set(FIXED.ids.values())) == len(FIXED.ids)
    assert {bytes([byte]) for byte in range(256)} <= FIXED.ids.keys()


def test_every_special_token_holds_the_character_that_guards_cut_away() -> None:
    assert all(">" in special(name) for name in SPECIAL_NAMES)
    assert ">" in [text for group in FIXED.groups if group.guard == "always" for text in group.tokens]


def test_no_guard_begins_or_ends_like_an_identifier() -> None:
    guards = [text for group in FIXED.groups if group.guard for text in group.tokens]
    assert not [text for text in guards if re.search(r"\w", text)]


def test_reserved_ids_cannot_be_written_as_text() -> None:
    fillers = [key for key in FIXED.keys() if "RESERVED" in key]
    assert fillers and not any(is_spelled(key) for key in fillers)


@pytest.mark.parametrize("text", ["int", ""])
def test_a_string_given_twice_or_empty_is_rejected(text: str) -> None:
    with pytest.raises(SpecError, match="one id per string"):
        _add(FixedStrings("again", 6200, 6300, "a test", (text,)), dict(FIXED.ids))


def test_a_string_with_the_guard_character_must_be_a_guard() -> None:
    with pytest.raises(SpecError, match="in guards alone"):
        _add(FixedStrings("arrow", 6200, 6300, "a test", ("==>",)), dict(FIXED.ids))


def test_byte_level_spelling_is_the_reference_alphabet_and_has_an_inverse() -> None:
    from tokenizers import pre_tokenizers

    assert sorted(CHARACTERS) == sorted(pre_tokenizers.ByteLevel.alphabet())
    assert unspell(spell(bytes(range(256)))) == bytes(range(256))
    assert spell("é x\n".encode()) == "Ã©ĠxĊ"
