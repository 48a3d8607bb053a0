"""The data-parallel splitter cuts any bytes into the pieces of the native one."""

from __future__ import annotations

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.tokenizer.gpu.layout import lay_out
from megacpp_assets.tokenizer.gpu.split import Splitter
from megacpp_assets.tokenizer.model import make_splitter
from megacpp_assets.tokenizer.vocabulary.fixed import fixed_vocabulary
from megacpp_assets.tokenizer.whitespace import whitespace_recipe
from tests.tokenizer.conftest import native_sources
from tests.tokenizer.texts import BYTES, PIECES

WHITESPACE = whitespace_recipe("operators_carry_spaces")
GUARDS = fixed_vocabulary().guards(WHITESPACE)
NATIVE = make_splitter(WHITESPACE, GUARDS)
PARALLEL = Splitter(WHITESPACE, GUARDS, torch.device("cpu"))
HARD = [piece.encode() for piece in PIECES] + [bytes([byte]) for byte in range(256)]
HARD += [b"9e", b"E+", b".e+5", b"'", b" \\\n", b"\n \t", b" +", b"+ ", b"std", b"template", b"<", b"# ", b"include"]


def pieces_of(texts: list[bytes]) -> list[list[bytes]]:
    layout = lay_out(texts, torch.device("cpu"))
    pieces = PARALLEL.split(layout)
    owners = torch.searchsorted(layout.starts, pieces.starts, right=True) - 1
    found: list[list[bytes]] = [[] for _ in texts]
    for owner, start, length in zip(owners.tolist(), pieces.starts.tolist(), pieces.lengths.tolist(), strict=True):
        found[owner].append(bytes(layout.cells[start : start + length].tolist()))
    return found


@settings(max_examples=60, deadline=None)
@given(st.lists(BYTES, min_size=1, max_size=4))
def test_pieces_of_any_bytes_are_those_of_the_native_splitter(texts: list[bytes]) -> None:
    assert pieces_of(texts) == [NATIVE.split(text) for text in texts]


def test_three_thousand_hard_texts_at_once_are_cut_as_by_the_native_splitter() -> None:
    rng = random.Random(4)
    texts = [b"".join(rng.choice(HARD) for _ in range(rng.randint(0, 40))) for _ in range(3000)]
    assert pieces_of(texts) == [NATIVE.split(text) for text in texts]


def test_real_code_is_cut_as_by_the_native_splitter() -> None:
    texts = list(native_sources().values())
    assert pieces_of(texts) == [NATIVE.split(text) for text in texts]


def test_a_long_run_costs_no_more_than_its_length() -> None:
    text = b"a" * 1_000_000 + b" " + b"(" * 1_000_000
    assert [len(piece) for piece in pieces_of([text])[0]] == [1_000_000, 1_000_001]


def test_another_recipe_is_refused() -> None:
    with pytest.raises(SpecError, match="operators_carry_spaces"):
        Splitter(whitespace_recipe("strict_runs"), {}, torch.device("cpu"))
