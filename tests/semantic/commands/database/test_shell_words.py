from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.semantic.commands.database.shell_words import shell_words

ALL = 10_000_000


def slow(command: str) -> list[str] | None:
    try:
        return shlex.split(command)
    except ValueError:
        return None


@given(st.text(st.one_of(st.sampled_from(" \t\r\n'\"\\\\a$#`;"), st.characters(exclude_categories=[])), max_size=40))
def test_the_words_are_those_of_shlex(command: str) -> None:
    assert shell_words(command, ALL) == slow(command)


@given(st.lists(st.text(st.characters(exclude_categories=[]), max_size=12), max_size=8))
def test_what_was_quoted_comes_back(words: list[str]) -> None:
    assert shell_words(shlex.join(words), ALL) == words


@pytest.mark.parametrize("command", ["a 'b", 'a "b', 'a "b\\', "a\\", "'", '"\\"'])
def test_an_open_quote_and_a_last_backslash_are_rejected(command: str) -> None:
    assert slow(command) is None
    assert shell_words(command, ALL) is None


@pytest.mark.parametrize(
    ("command", "expected"),
    [("A" * 4_000_000, ["A" * 4_000_000]), ('"' + "\\a" * 2_000_000 + '"', ["\\a" * 2_000_000]),
     ("\\a" * 2_000_000, ["a" * 2_000_000]), ("''" * 500_000, [""]), ("a " * 500_000, ["a"] * 500_000),
     ('"' + "\\a" * 2_000_000, None), ("'" + "a" * 4_000_000, None), ("''\\" * 300_000, None)],
    ids=["one word", "in quotes", "escaped", "empty quotes", "many words", "open", "open single", "mixed"],
)  # fmt: skip
def test_a_command_of_megabytes_has_its_words(command: str, expected: list[str] | None) -> None:
    """`shlex` takes minutes for some of these."""
    assert shell_words(command, ALL) == expected


@given(st.lists(st.text(max_size=4), max_size=8), st.integers(1, 8))
def test_no_more_words_are_read_than_were_asked_for(words: list[str], limit: int) -> None:
    assert shell_words(shlex.join(words) + " 'open", limit) == (words[:limit] if len(words) >= limit else None)
