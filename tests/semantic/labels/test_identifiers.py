from __future__ import annotations

import hashlib
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.semantic.labels.identifiers import identifiers, name_hashes, span_hashes
from megacpp_assets.semantic.labels.symbol_names import symbol_id

_WORDS = st.text(alphabet="abB_1", min_size=1, max_size=6)


@given(st.text(alphabet="abzAZ_19 +($@[`{/:é", max_size=40))
def test_identifiers_are_the_word_runs_that_begin_with_no_digit(text: str) -> None:
    code = text.encode()
    starts, ends = identifiers(code)
    found = [code[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    assert found == [word for word in re.findall(rb"[A-Za-z0-9_$\x80-\xff]+", code) if not word[:1].isdigit()]


@given(st.lists(_WORDS, max_size=12))
def test_equal_spellings_have_equal_hashes_and_others_differ(words: list[str]) -> None:
    hashes = name_hashes(words)[0].tolist()
    assert len(set(hashes)) == len(set(words))
    code = " ".join(words).encode()
    ends = np.cumsum([len(word) + 1 for word in words], dtype=np.int64) - 1
    starts = ends - [len(word) for word in words]
    assert span_hashes(code, starts.astype(np.int64), ends).tolist() == hashes


def _slow_hash(text: bytes) -> int:
    powers = [pow(0x9E3779B97F4A7C15, min(at, (1 << 12) - 1) + 1, 1 << 64) for at in range(len(text))]
    return sum((byte + 1) * power for byte, power in zip(text, powers, strict=True)) % (1 << 64)


@given(st.lists(st.binary(max_size=9), max_size=6))
def test_a_hash_equals_that_of_the_reference(parts: list[bytes]) -> None:
    parts.append(b"x" * 5000)
    ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
    starts = np.concatenate(([0], ends[:-1]))
    assert span_hashes(b"".join(parts), starts, ends).tolist() == [_slow_hash(part) for part in parts]


@pytest.mark.parametrize(("start", "end"), [(-1, 1), (1, 0), (0, 3)])
def test_a_range_outside_the_text_is_rejected(start: int, end: int) -> None:
    with pytest.raises(ValueError, match="outside"):
        span_hashes(b"ab", np.array([start]), np.array([end]))


def test_a_destructor_and_a_templates_constructor_are_spelled_like_their_class() -> None:
    assert len(set(name_hashes(["Box", "~Box", "Box<T>"])[0].tolist())) == 1


@given(
    st.lists(st.sampled_from(["", "~", "~A", "A<~b>", "<", "operator", "operator<", "operator~", "~operator", "é<T>"]))
)
def test_a_name_is_hashed_without_arguments_and_tilde_but_an_operators_is_whole(names: list[str]) -> None:
    hashes, operators = name_hashes(names)
    assert operators.tolist() == [name.startswith("operator") for name in names]
    plain = [name if name.startswith("operator") else name.split("<")[0].lstrip("~") for name in names]
    assert hashes.tolist() == [_slow_hash(name.encode()) for name in plain]


def test_an_id_has_31_bits_and_zero_stands_for_no_name() -> None:
    assert symbol_id("") == 0
    assert symbol_id("a::f") == int(hashlib.md5(b"a::f").hexdigest(), 16) & 0x7FFFFFFF
