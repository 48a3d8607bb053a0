from __future__ import annotations

import hashlib
import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.semantic.identifiers import identifiers, name_hashes, span_hashes
from megacpp_assets.semantic.symbol_names import symbol_id

_WORDS = st.text(alphabet="abB_1", min_size=1, max_size=6)


@given(st.text(alphabet="ab_1 +($é", max_size=40))
def test_identifiers_are_the_word_runs_that_begin_with_no_digit(text: str) -> None:
    code = text.encode()
    starts, ends = identifiers(code)
    found = [code[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    assert found == [word for word in re.findall(rb"[A-Za-z0-9_$\x80-\xff]+", code) if not word[:1].isdigit()]


@given(st.lists(_WORDS, max_size=12))
def test_equal_spellings_have_equal_hashes_and_others_differ(words: list[str]) -> None:
    hashes = name_hashes(words).tolist()
    assert len(set(hashes)) == len(set(words))
    code = " ".join(words).encode()
    ends = np.cumsum([len(word) + 1 for word in words], dtype=np.int64) - 1
    starts = ends - [len(word) for word in words]
    assert span_hashes(np.frombuffer(code, dtype=np.uint8), starts.astype(np.int64), ends).tolist() == hashes


def test_a_destructor_and_a_templates_constructor_are_spelled_like_their_class() -> None:
    assert len(set(name_hashes(["Box", "~Box", "Box<T>"]).tolist())) == 1


def test_an_id_has_31_bits_and_zero_stands_for_no_name() -> None:
    assert symbol_id("") == 0
    assert symbol_id("a::f") == int(hashlib.md5(b"a::f").hexdigest(), 16) & 0x7FFFFFFF
