"""The encoder gives HuggingFace's ids and spans for every text, loses no byte, and forges no special token."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.contract.tokens.encoding import Encoded, TextEncoder
from megacpp_assets.contract.tokens.specials import BOS_ID, SPACE_ID, SPECIAL_NAMES
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.tokenizer.artifact import dump_model
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.lock import FORGERY
from megacpp_assets.tokenizer.train import train
from megacpp_assets.tokenizer.vocabulary.fixed import fixed_vocabulary, special
from megacpp_assets.tokenizer.whitespace import recipes
from tests.tokenizer.conftest import native_sources
from tests.tokenizer.texts import BYTES, PIECES, TEXTS

Pair = tuple[Encoder, Tokenizer]
RECIPES = sorted(recipes())
CODE_RECIPES = [name for name in RECIPES if not recipes()[name].general]


@pytest.fixture(scope="module")
def pairs() -> Callable[[str], Pair]:
    """Our encoder and HuggingFace's, from the same file, by whitespace recipe."""
    made: dict[str, Pair] = {}

    def pair(recipe: str) -> Pair:
        if recipe not in made:
            model = train(native_sources().values(), TokenizerRecipe(7900, recipe)).model
            made[recipe] = Encoder(model), Tokenizer.from_buffer(dump_model(model))
        return made[recipe]

    return pair


def document(encoded: Encoded, index: int) -> tuple[list[int], list[tuple[int, int]]]:
    part = slice(encoded.offsets[index], encoded.offsets[index + 1])
    spans = zip(encoded.char_starts[part].tolist(), encoded.char_ends[part].tolist(), strict=True)
    return encoded.ids[part].tolist(), list(spans)


def assert_same(pair: Pair, texts: list[str]) -> None:
    encoder, reference = pair
    encoded = encoder.encode_batch(texts)
    for index, expected in enumerate(reference.encode_batch(texts)):
        ids, spans = document(encoded, index)
        assert (ids, spans) == (expected.ids, expected.offsets), texts[index]
        assert encoder.decode(ids) == texts[index].encode()
        assert [place for place, token in enumerate(ids) if token < SPACE_ID] == [0]


@pytest.mark.parametrize("recipe", RECIPES)
@settings(max_examples=100, deadline=None)
@given(texts=st.lists(TEXTS, min_size=1, max_size=4))
def test_ids_and_spans_are_those_of_the_reference(pairs: Callable[[str], Pair], recipe: str, texts: list[str]) -> None:
    assert_same(pairs(recipe), texts)


@pytest.mark.parametrize("recipe", RECIPES)
def test_real_code_and_every_hard_piece_encode_as_in_the_reference(pairs: Callable[[str], Pair], recipe: str) -> None:
    assert_same(pairs(recipe), [source.decode() for source in native_sources().values()])
    assert_same(pairs(recipe), [left + right for left in PIECES for right in PIECES])


def test_code_points_of_every_plane_encode_as_in_the_reference(pairs: Callable[[str], Pair]) -> None:
    characters = [chr(code) for code in range(0, 0x110000, 23) if not 0xD800 <= code < 0xE000]
    assert_same(pairs("operators_carry_spaces"), ["".join(characters[i::40]) for i in range(40)])


@settings(max_examples=200, deadline=None)
@given(data=BYTES)
def test_any_bytes_are_lossless_and_hold_no_special_token(pairs: Callable[[str], Pair], data: bytes) -> None:
    encoder, _ = pairs("operators_carry_spaces")
    ids = encoder.encode_bytes(data)
    assert encoder.decode(ids) == data
    assert ids[0] == BOS_ID and (ids[1:] >= SPACE_ID).all()


@given(text=TEXTS)
def test_bytes_of_valid_text_have_the_ids_of_the_text(pairs: Callable[[str], Pair], text: str) -> None:
    encoder, _ = pairs("operators_carry_spaces")
    assert encoder.encode_bytes(text.encode()).tolist() == encoder.encode_batch([text]).ids.tolist()


def test_stray_bytes_are_their_byte_tokens(encoder: Encoder) -> None:
    ids = encoder.encode_bytes(b"int\xff\xc3(\xed\xa0\x80")
    byte = fixed_vocabulary().ids
    assert ids.tolist()[:4] == [BOS_ID, byte[b"int"], byte[b"\xff"], byte[b"\xc3"]]
    assert ids.tolist()[-3:] == [byte[b"\xed"], byte[b"\xa0"], byte[b"\x80"]]


@pytest.mark.parametrize("text", [FORGERY, *(special(name) for name in SPECIAL_NAMES)])
def test_text_cannot_forge_a_special_token(pairs: Callable[[str], Pair], text: str) -> None:
    for recipe in RECIPES:
        assert_same(pairs(recipe), [text, f"x{text}y", text + text])


@pytest.mark.parametrize("text", ["std::", "->", "::", "constexpr", "template<", "#include"])
@pytest.mark.parametrize("context", ["{}", "({})", "\n{}\n", "x = 1;\n    {} y", "{}x"])
def test_named_strings_are_single_tokens_alone_or_with_spaces(
    pairs: Callable[[str], Pair], text: str, context: str
) -> None:
    if context == "{}x" and text[-1].isalpha():
        return
    for recipe in CODE_RECIPES:
        encoder, _ = pairs(recipe)
        ids = encoder.encode_batch([context.format(text)]).ids.tolist()
        assert text.encode() in [encoder.decode([index]).strip(b" ") for index in ids]


@pytest.mark.parametrize("text", ["end_point", "intx", "mystd", "xconstexpr", "printf_", "forbidden"])
def test_no_fixed_word_lies_inside_an_identifier(pairs: Callable[[str], Pair], text: str) -> None:
    words = {fixed_vocabulary().ids[word] for word in fixed_vocabulary().words()}
    for recipe in CODE_RECIPES:
        assert not words & set(pairs(recipe)[0].encode_batch([text]).ids.tolist())


def test_one_document_begins_with_one_bos_whose_span_is_empty(encoder: Encoder) -> None:
    encoded = encoder.encode_batch(["", "int", ""])
    assert encoded.offsets.tolist() == [0, 1, 3, 4]
    assert encoded.ids[encoded.offsets[:-1]].tolist() == [BOS_ID] * 3
    assert (encoded.char_starts[0], encoded.char_ends[0]) == (0, 0)
    assert (encoded.ids.dtype, encoded.char_starts.dtype, encoded.offsets.dtype) == (np.uint32, np.int32, np.int64)
    assert encoder.encode_batch([]).offsets.tolist() == [0]


def test_threads_do_not_change_the_result(encoder: Encoder) -> None:
    sources = ["é", *(source.decode() for source in native_sources().values()), ""]
    texts = sources * (1 + 2**20 // sum(map(len, sources)))  # each thread takes shares of 256 KB
    one, four = encoder.encode_batch(texts), Encoder(encoder.model, threads=4).encode_batch(texts)
    for name in ("ids", "char_starts", "char_ends", "offsets"):
        assert (getattr(one, name) == getattr(four, name)).all()


def test_threads_share_words_while_their_tables_grow_and_the_result_stays(encoder: Encoder) -> None:
    random = Random(7)

    def word() -> str:  # short words and long ones are in tables of their own, the longest in none
        return "".join(random.choices("abcdefgh_0123é", k=random.choice([2, 6, 14, 16, 40, 70, 300])))

    words = [word() for _ in range(3000)]
    texts = [" ".join(random.choices(words, k=2000)) for _ in range(60)]
    one, four = Encoder(encoder.model), Encoder(encoder.model, threads=4)
    for batch in (texts[:50], texts[10:], texts[:1], texts):
        expected, found = one.encode_batch(batch), four.encode_batch(batch)
        for name in ("ids", "char_starts", "char_ends", "offsets"):
            assert (getattr(expected, name) == getattr(found, name)).all()


def test_threads_write_texts_of_more_tokens_than_code_has(encoder: Encoder) -> None:
    texts = ["\x01\x02\x03\x04" * 10_000] * 40  # a byte a token
    one, four = encoder.encode_batch(texts), Encoder(encoder.model, threads=4).encode_batch(texts)
    assert len(one.ids) == 40 * 40_001
    for name in ("ids", "char_starts", "char_ends", "offsets"):
        assert (getattr(one, name) == getattr(four, name)).all()


def test_arrow_in_gives_what_python_strings_give(encoder: Encoder) -> None:
    texts = ["int é;", "", "std::vector<int> v;", "\n"]
    expected = encoder.encode_batch(texts)
    sliced = pa.array(["x", *texts, "y"]).slice(1, 4)
    for array in (
        pa.array(texts),
        pa.array(texts, pa.large_string()),
        pa.array([text.encode() for text in texts]),
        pa.array([text.encode() for text in texts], pa.large_binary()),
        pa.chunked_array([texts[:1], texts[1:]]),
        sliced,
    ):
        found = encoder.encode_arrow(array)
        for name in ("ids", "char_starts", "char_ends"):
            assert getattr(found, name).to_pylist() == [
                getattr(expected, name)[begin:end].tolist() for begin, end in pairwise(expected.offsets.tolist())
            ]
        assert [found.ids.type, found.char_starts.type] == [pa.list_(pa.uint32()), pa.list_(pa.int32())]


@pytest.mark.parametrize("empty", [pa.array([], pa.string()), pa.chunked_array([], pa.binary())])
def test_an_arrow_array_of_no_texts_gives_no_lists(encoder: Encoder, empty: pa.Array) -> None:
    found = encoder.encode_arrow(empty)
    assert (len(found.ids), len(found.char_starts), len(found.char_ends)) == (0, 0, 0)


@settings(max_examples=100, deadline=None)
@given(texts=st.lists(BYTES, max_size=4))
def test_arrow_bytes_are_lossless_and_have_the_ids_of_the_bytes(encoder: Encoder, texts: list[bytes]) -> None:
    found = encoder.encode_arrow(pa.array(texts, pa.binary()))
    assert found.ids.to_pylist() == [encoder.encode_bytes(text).tolist() for text in texts]
    assert [encoder.decode(ids) for ids in found.ids.to_pylist()] == texts


def test_a_stray_byte_in_arrow_is_one_character_of_one_token(encoder: Encoder) -> None:
    found = encoder.encode_arrow(pa.array([b"\xff", b"int\xfe"], pa.binary()))
    byte = fixed_vocabulary().ids
    assert found.ids.to_pylist() == [[BOS_ID, byte[b"\xff"]], [BOS_ID, byte[b"int"], byte[b"\xfe"]]]
    assert (found.char_starts.to_pylist(), found.char_ends.to_pylist()) == ([[0, 0], [0, 0, 3]], [[0, 1], [0, 3, 4]])


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (pa.array(["a", None]), "no nulls"),
        (pa.array([b"a", None]), "no nulls"),
        (pa.array([1, 2]), "strings or of bytes; found int64"),
        (pa.array(["a"]).dictionary_encode(), "strings or of bytes; found dictionary"),
    ],
)
def test_an_arrow_array_with_nulls_or_of_another_type_is_rejected(
    encoder: Encoder, texts: pa.Array, message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        encoder.encode_arrow(texts)


def test_more_tokens_than_arrow_lists_can_hold_are_rejected_not_wrapped() -> None:
    nothing = np.empty(0, dtype=np.uint32)
    encoded = Encoded(nothing, nothing.view(np.int32), nothing.view(np.int32), np.array([0, 2**31]))
    with pytest.raises(SpecError, match="at most 2147483647 tokens; found 2147483648"):
        encoded.lists()


def test_a_lone_surrogate_is_rejected_with_its_place(encoder: Encoder) -> None:
    with pytest.raises(SpecError, match="lone surrogate at character 2"):
        encoder.encode_batch(["ok", "ab\ud800"])


@pytest.mark.parametrize(
    ("ids", "found"),
    [
        ([7700], "7700"),
        ([133, -1], "-1"),
        (np.array([2**32 + 133]), str(2**32 + 133)),
        (np.array([2**64 - 1], dtype=np.uint64), str(2**64 - 1)),
        ([133, 2**70], str(2**70)),
        ([-1, 2**63], "-1"),
        ([133, 133.7], "133.7"),
        (np.array([133.0]), "133.0"),
        ([None], "None"),
        (["133"], "'133'"),
        ([[133]], "[133]"),
        ([[133], [133, 133]], "[133]"),
        (np.array([True]), "True"),
    ],
)
def test_an_invalid_id_is_rejected_by_name(encoder: Encoder, ids: Any, found: str) -> None:
    with pytest.raises(SpecError, match=rf"below 7700; found .*{re.escape(found)}"):
        encoder.decode(ids)


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.uint32, np.int64, np.uint64])
def test_ids_of_any_integer_type_decode_alike(encoder: Encoder, kind: type[np.integer[Any]]) -> None:
    assert encoder.decode(np.array([0, 133, 100], dtype=kind)) == encoder.decode([0, 133, 100]) != b""
    assert encoder.decode(np.array([133, 0, 100], dtype=kind)[::2]) == encoder.decode([133, 100])
    assert encoder.decode([]) == encoder.decode(np.array([], dtype=kind)) == b""


def test_a_long_word_and_a_long_line_encode_as_in_the_reference(pairs: Callable[[str], Pair]) -> None:
    for text in ("abcdefghij" * 5_000, "=" * 9_000, " " * 9_000 + "x", "1" * 9_000, "é" * 9_000):
        assert_same(pairs("operators_carry_spaces"), [text])


@settings(max_examples=50, deadline=None)
@given(words=st.lists(st.text("abcdefghij", min_size=1, max_size=150), min_size=1, max_size=40))
def test_unknown_words_side_by_side_encode_as_in_the_reference(pairs: Callable[[str], Pair], words: list[str]) -> None:
    encoder, reference = pairs(RECIPES[0])
    assert_same((Encoder(encoder.model), reference), [" ".join(words * 2)])


def test_words_of_every_length_encode_as_in_the_reference(pairs: Callable[[str], Pair]) -> None:
    random = Random(3)
    words = ["".join(random.choices("abcdeABC_019é", k=length)) for length in range(1, 300) for _ in range(2)]
    assert_same(pairs("operators_carry_spaces"), [" ".join(f"w{word}" for word in words), *words])


def test_a_megabyte_without_whitespace_is_lossless(encoder: Encoder) -> None:
    data = b"std_string_view_2" * (1_000_000 // 17)
    assert encoder.decode(encoder.encode_bytes(data)) == data


def test_a_pickled_encoder_is_loaded_again_from_its_directory(published: Artifact) -> None:
    encoder = Encoder.load(published.directory)
    again: TextEncoder = pickle.loads(pickle.dumps(encoder))
    assert again.encode_arrow(pa.array(["int x;"])).ids.to_pylist() == [encoder.encode_batch(["int x;"]).ids.tolist()]


def test_an_encoder_without_a_directory_is_not_pickled(encoder: Encoder) -> None:
    with pytest.raises(TypeError, match="loaded from a directory"):
        pickle.dumps(encoder)
