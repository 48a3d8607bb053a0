"""The splitter on the GPU cuts any bytes into the pieces of the native one."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.tokenizer.vocabulary.fixed import fixed_vocabulary
from megacpp_assets.tokenizer.webgpu.gpu import Gpu
from megacpp_assets.tokenizer.webgpu.pool import Pool
from megacpp_assets.tokenizer.webgpu.splitting import PIECE_WORDS, Splitter
from megacpp_assets.tokenizer.whitespace import whitespace_recipe
from tests.tokenizer.conftest import native_sources
from tests.tokenizer.test_trainer import WHITESPACE
from tests.tokenizer.texts import BYTES, PIECES

HARD = [piece.encode() for piece in PIECES] + [bytes([byte]) for byte in range(256)]
HARD += [b"9e", b"E+", b".e+5", b"'", b" \\\n", b"\n \t", b" +", b"+ ", b"std", b"template", b"<", b"# ", b"include"]
_BOS = 2


@pytest.fixture(scope="module")
def splitter(gpu: Gpu) -> Splitter:
    return Splitter(gpu, Pool(gpu), WHITESPACE, fixed_vocabulary().guards(WHITESPACE))


def hard_texts(seed: int, number: int) -> list[bytes]:
    rng = random.Random(seed)
    return [b"".join(rng.choice(HARD) for _ in range(rng.randint(0, 40))) for _ in range(number)]


def require_same(gpu: Gpu, splitter: Splitter, texts: list[bytes]) -> None:
    split = splitter.split(texts)
    found: list[list[bytes]] = []
    for start, end, kind, _ in gpu.read(split.pieces, PIECE_WORDS * split.count).reshape(-1, PIECE_WORDS).tolist():
        if kind == _BOS:
            found.append([])
        else:
            found[-1].append(split.data[start:end].tobytes())
    assert found == [splitter.native.split(text) for text in texts]


@settings(max_examples=30, deadline=None)
@given(texts=st.lists(BYTES, min_size=1, max_size=4))
def test_pieces_of_any_bytes_are_those_of_the_native_splitter(gpu: Gpu, splitter: Splitter, texts: list[bytes]) -> None:
    require_same(gpu, splitter, texts)


def test_three_thousand_hard_texts_at_once_are_cut_as_by_the_native_splitter(gpu: Gpu, splitter: Splitter) -> None:
    require_same(gpu, splitter, hard_texts(4, 3000))


def test_real_code_is_cut_as_by_the_native_splitter(gpu: Gpu, splitter: Splitter) -> None:
    require_same(gpu, splitter, list(native_sources().values()))


def test_runs_across_many_blocks_are_cut_as_by_the_native_splitter(gpu: Gpu, splitter: Splitter) -> None:
    runs = [b"a" * 70_000, b"(" * 70_000, b" " * 3000, b"\n" + b" " * 2000 + b"+", b"\n  " * 2000, b"1e+" * 900 + b"5"]
    require_same(gpu, splitter, [b" ".join(runs), b"->" * 3000, b"<BOS>" * 500 + b">"])


def test_another_recipe_is_rejected(gpu: Gpu) -> None:
    with pytest.raises(SpecError, match="operators_carry_spaces"):
        Splitter(gpu, Pool(gpu), whitespace_recipe("strict_runs"), {})
