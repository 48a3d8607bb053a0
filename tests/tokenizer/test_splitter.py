"""The native splitter cuts every text into the words of the recipe's regular expression in the pinned wheel."""

from __future__ import annotations

import re
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, pre_tokenizers

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.documents import WHITESPACE_RECIPES
from megacpp_assets.tokenizer.model import make_splitter
from megacpp_assets.tokenizer.vocabulary.fixed import fixed_vocabulary
from megacpp_assets.tokenizer.whitespace import char_classes, recipes, whitespace_recipe
from tests.tokenizer.conftest import native_sources
from tests.tokenizer.texts import PIECES, TEXTS

RECIPES = sorted(recipes())


def native(recipe: str, text: str) -> list[str]:
    whitespace = whitespace_recipe(recipe)
    splitter = make_splitter(whitespace, fixed_vocabulary().guards(whitespace))
    return [piece.decode() for piece in splitter.split(text.encode())]


@cache
def reference(recipe: str) -> tuple[re.Pattern[str], pre_tokenizers.Split]:
    whitespace = whitespace_recipe(recipe)
    guards = sorted(fixed_vocabulary().guards(whitespace), key=len, reverse=True)
    return (
        re.compile("(" + "|".join(map(re.escape, guards)) + ")"),
        pre_tokenizers.Split(Regex(whitespace.pattern), "isolated"),
    )


def slow_twin(recipe: str, text: str) -> list[str]:
    """Guards cut leftmost-longest by Python's `re`, the pieces between them split by HuggingFace itself."""
    guards, split = reference(recipe)
    pieces: list[str] = []
    for place, piece in enumerate(guards.split(text)):
        pieces += [piece] if place % 2 else [word for word, _ in split.pre_tokenize_str(piece)]
    return [piece for piece in pieces if piece]


@pytest.mark.parametrize("recipe", RECIPES)
@settings(max_examples=150, deadline=None)
@given(text=TEXTS)
def test_words_are_those_of_the_regular_expression(recipe: str, text: str) -> None:
    assert native(recipe, text) == slow_twin(recipe, text)


@pytest.mark.parametrize("recipe", RECIPES)
@settings(max_examples=150, deadline=None)
@given(pieces=st.lists(st.sampled_from([piece for piece in PIECES if piece.isascii()]), min_size=20, max_size=90))
def test_words_of_long_ascii_texts_are_those_of_the_regular_expression(recipe: str, pieces: list[str]) -> None:
    text = "".join(pieces)
    assert native(recipe, text) == slow_twin(recipe, text)


@pytest.mark.parametrize("recipe", RECIPES)
def test_words_of_real_code_are_those_of_the_regular_expression(recipe: str) -> None:
    for source in native_sources().values():
        assert native(recipe, source.decode()) == slow_twin(recipe, source.decode())


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_character_class_border_splits_as_in_the_wheel(recipe: str) -> None:
    edges = {code for first, last, _ in char_classes() for code in (first - 1, first, last, last + 1)}
    characters = [chr(code) for code in sorted(edges) if 0 <= code < 0x110000 and not 0xD800 <= code < 0xE000]
    for text in ("".join(characters), "a".join(characters), "1".join(characters), " ".join(characters)):
        assert native(recipe, text) == slow_twin(recipe, text)


def test_a_recipe_may_name_every_way_to_split_and_no_other() -> None:
    assert set(recipes()) == set(WHITESPACE_RECIPES)


def test_stored_character_classes_are_those_of_the_wheel() -> None:
    text = "".join(chr(code) for code in range(0, 0x110000, 17) if not 0xD800 <= code < 0xE000)
    bits = dict.fromkeys(text, 0)
    for first, last, bit in char_classes():
        for code in range(first, last + 1):
            if chr(code) in bits:
                bits[chr(code)] |= bit
    for name, wanted in (("L", {3}), ("M", {2}), ("N", {6})):
        split = pre_tokenizers.Split(Regex(rf"[^\p{{{name}}}]"), "removed")
        found = set("".join(piece for piece, _ in split.pre_tokenize_str(text)))
        assert found == {character for character, bit in bits.items() if bit in wanted}


def test_any_bytes_come_back_in_order() -> None:
    data = (
        bytes(range(256)) * 3 + b"\xf0\x9f\x98" + "é>\udcff".encode("utf-8", "surrogatepass") + b"\xc0\xaf\xed\xa0\x80"
    )
    whitespace = whitespace_recipe("operators_carry_spaces")
    assert b"".join(make_splitter(whitespace, fixed_vocabulary().guards(whitespace)).split(data)) == data


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("std::vector<int>", ["std::", "vector", "<", "int", ">"]),
        ("mystd::x", ["mystd", "::", "x"]),
        ("template<class T>", ["template<", "class", " ", "T", ">"]),
        ("my_template<T>", ["my_template", "<", "T", ">"]),
        ("p->x", ["p", "->", "x"]),
        ("end_point", ["end_point"]),
        ("a == b", ["a", " == ", "b"]),
        ("if (a()) {", ["if", " (", "a", "()) {"]),
        ("x = {", ["x", " = {"]),
        ("a, -b", ["a", ", -", "b"]),
        ("a +  -b", ["a", " + ", " -", "b"]),
        ("a:: *b", ["a", "::", " *", "b"]),
        ("f();\n    g", ["f", "();\n    ", "g"]),
        ("#include <a>", ["#include", " <", "a", ">"]),
        ("#  ifdef X", ["#  ifdef", " ", "X"]),
        ("\\brief x\\n", ["\\brief", " ", "x", "\\n"]),
        ("0x1F'00u+1e-5", ["0x1F'00u", "+", "1e-5"]),
    ],
)
def test_word_bare_recipe_by_example(text: str, words: list[str]) -> None:
    assert native("operators_carry_spaces", text) == words


@pytest.mark.parametrize("length", range(26, 44))
@pytest.mark.parametrize("letter", ["x", "é", "中", "𐍈"])
def test_a_word_that_only_begins_like_a_directive_is_no_directive(letter: str, length: int) -> None:
    text = "#define" + letter * length + " y"
    assert native("operators_carry_spaces", text) == slow_twin("operators_carry_spaces", text)
    assert native("operators_carry_spaces", text)[0] == "#"


def test_leading_space_recipe_gives_a_word_its_space() -> None:
    assert native("leading_space", "int  x = 1;") == ["int", " ", " x", " =", " 1", ";"]


def test_strict_recipe_isolates_whitespace() -> None:
    assert native("strict_runs", "a  ==\tb;\n\n  c") == ["a", "  ", "==", "\t", "b", ";", "\n\n", "  ", "c"]


def test_an_unknown_recipe_names_the_known_ones() -> None:
    with pytest.raises(SpecError, match="strict_runs or operators_carry_spaces or leading_space or general"):
        whitespace_recipe("tabs")


def test_words_of_the_general_split_do_not_depend_on_where_its_windows_end() -> None:
    for filler in ("a", " ", "1", "!", "\n", "é"):
        for tail in ("'s x", "'llama", " \n\n  y", "12345", "!\r\n\n z", "日本", "\t\tw ", "  "):
            for length in (*range(50, 70), 4090, 4095, 4096):
                text = "b" + filler * length + tail
                assert native("general", text) == slow_twin("general", text), (filler, tail, length)


@pytest.mark.parametrize("filler", ["a", "a ", " ", "1", "!", "\n", "é", "x = y; "])
def test_words_of_code_do_not_depend_on_where_its_windows_end(filler: str) -> None:
    tails = (
        "std::x", " std::x", "mystd::", "std:::x", "std::::", "template<< a", "template <", ":::x", "a::b",
        "= \\\n  +", " \\\n  y", "\r\n\r\n +", "\r\r\n", "=\t+", "=  +", "= \n +", "1.5", "1'000'", "1e+5", "1.",
        "12 'c'", "->x", " > 1", "#define X", "\\brief", "日本", "1.日", "a日", "\t\tw ", "  ",
    )  # fmt: skip
    for tail in tails:
        for length in (*range(45, 62), 4085, 4094, 4095):
            text = ("b" + filler * length)[: length + 1] + tail
            expected = slow_twin("operators_carry_spaces", text)
            assert native("operators_carry_spaces", text) == expected, (tail, length)
