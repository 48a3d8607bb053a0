from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.compute.shingles import LEAST_RUNS, TOKENS, Copies, Verbatim, Withheld, shingles

BODY = "int sum(int first, int second) { int total = first + second; return total * 2; }"
TOKEN = re.compile(r"""//[^\n]*|/\*.*?(?:\*/|\Z)|([A-Za-z_]\w*|\d[\w.]*|"(?:\\.|[^"\\\n])*"|\S)""", re.S)
"""What a token is; a comment matches without one."""
texts_of_code = st.lists(
    st.sampled_from(
        ["//", "/*", "*/", "*", "/", '"', "\\", "\n", " ", "a", "_b9", "é", "x٣", "٣", "7.5e", "名", "🙂", "\u2028"]
    )
).map("".join)
words = st.lists(st.sampled_from(["int", "x", "y", "=", "+", ";", "f", "(", ")", "7", '"a b"']), max_size=40)

long_texts = st.lists(st.integers(0, 9), min_size=2, max_size=60).map(lambda numbers: " ".join(map(str, numbers)))


def test_white_space_and_comments_make_no_difference() -> None:
    spread = "int   sum(int first,\n // the second\nint second) {int total=first+second;/* … */return total*2;}"
    assert shingles(spread).tolist() == shingles(BODY).tolist()


def test_a_short_text_has_no_runs() -> None:
    assert shingles("a b c d").tolist() == [] and len(shingles("a b c d e")) == 1


@given(words, st.integers(1, 8))
def test_runs_are_the_windows_of_tokens(tokens: list[str], count: int) -> None:
    windows = {tuple(tokens[start : start + count]) for start in range(len(tokens) - count + 1)}
    assert len(shingles(" ".join(tokens), count)) == len(windows)


@given(texts_of_code, texts_of_code, st.integers(1, 4))
def test_texts_of_the_same_tokens_have_the_same_runs_and_others_have_others(one: str, other: str, count: int) -> None:
    tokens = [token for token in TOKEN.findall(one) if token]
    assert shingles(one, count).tolist() == shingles("\n".join(tokens), count).tolist()
    windows = {tuple(tokens[start : start + count]) for start in range(len(tokens) - count + 1)}
    others = [token for token in TOKEN.findall(other) if token]
    common = windows & {tuple(others[start : start + count]) for start in range(len(others) - count + 1)}
    assert len(shingles(one, count)) == len(windows)
    assert len(set(shingles(one, count).tolist()) & set(shingles(other, count).tolist())) == len(common)


@given(st.lists(words, max_size=6), st.lists(words, max_size=4), st.integers(1, 4))
def test_texts_stand_in_others_when_all_their_runs_do(
    texts: list[list[str]], others: list[list[str]], count: int
) -> None:
    runs = [shingles(" ".join(text), count) for text in texts]
    verbatim = Verbatim(runs)
    for other in others:
        verbatim.see(" ".join(other), count)
    seen = {run for other in others for run in shingles(" ".join(other), count).tolist()}
    assert verbatim.found().tolist() == [len(text) > 0 and set(text.tolist()) <= seen for text in runs]


@given(st.lists(words, max_size=6), st.lists(words, max_size=6), st.integers(1, 4))
def test_no_withheld_text_is_ever_shown_whole(texts: list[list[str]], others: list[list[str]], count: int) -> None:
    runs = [shingles(" ".join(text), count) for text in texts]
    withheld, verbatim = Withheld(runs), Verbatim(runs)
    for other in others:
        completed = withheld.completed_by(shingles(" ".join(other), count))
        if completed is None:
            verbatim.see(" ".join(other), count)
            assert not verbatim.found().any()
        else:
            alone = Verbatim([runs[completed]])
            for shown in others:
                alone.see(" ".join(shown), count)
            assert alone.found().all()


def copied(texts: list[np.ndarray], other: str, share: float) -> list[int]:
    """Compare every text with `other`."""
    runs = set(shingles(other).tolist())
    if len(runs) < LEAST_RUNS:
        return []
    common = [len(runs & set(text.tolist())) for text in texts]
    return [
        number
        for number, text in enumerate(texts)
        if common[number] and common[number] >= share * min(len(text), len(runs))
    ]


@given(st.lists(long_texts, max_size=8), long_texts, st.floats(0.1, 1))
def test_copies_are_those_of_which_the_shorter_has_the_share(texts: list[str], other: str, share: float) -> None:
    runs = [shingles(text) for text in texts]
    assert Copies(runs, share).in_text(other).tolist() == copied(runs, other, share)


@given(
    st.lists(st.lists(st.integers(0, 11), min_size=1, max_size=7), min_size=1, max_size=30),
    st.lists(st.integers(0, 11), min_size=4, max_size=8),
    st.sampled_from([0.1, 0.3, 0.5, 0.7, 0.9, 1.0]),
)
def test_texts_made_of_common_parts_are_copies_if_they_share_enough(
    texts: list[list[int]], other: list[int], share: float
) -> None:
    parts = [f"part{number} = {{ first{number}, second{number} }};" for number in range(12)]
    runs = [shingles(" ".join(parts[number] for number in text)) for text in texts]
    copies = Copies(runs, share)
    for asked in (other, *texts):
        text = " ".join(parts[number] for number in asked)
        assert copies.in_text(text).tolist() == copied(runs, text, share)


def test_a_share_of_nothing_is_rejected() -> None:
    for share in (0.0, -1.0, 1.5, float("nan")):
        with pytest.raises(ValueError, match="share"):
            Copies([shingles(BODY)], share)


def test_a_renamed_variable_is_a_near_duplicate_and_another_function_is_not() -> None:
    copies = Copies([shingles(BODY * 3)], 0.7)
    assert copies.in_text((BODY * 3).replace("total * 2", "total * 3")).tolist() == [0]
    assert copies.in_text("void other(char *text) { while (*text) ++text; } " * 3).tolist() == []
    assert TOKENS == 5
