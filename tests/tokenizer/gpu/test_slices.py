"""A text longer than a slice is cut where its pieces are: what comes out never shows where slices end."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from megacpp_assets.tokenizer._bpe import Counter
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.gpu.count import count_words
from megacpp_assets.tokenizer.gpu.encode import GpuEncoder
from megacpp_assets.tokenizer.gpu.slices import sliced
from tests.tokenizer.conftest import words_in
from tests.tokenizer.gpu.test_merge import as_dict
from tests.tokenizer.gpu.test_split import HARD, NATIVE, PARALLEL

CPU = torch.device("cpu")


def pieces_in_slices(text: bytes, slice_bytes: int) -> tuple[list[bytes], int]:
    """The pieces of `text`, and the most cells that were split at once."""
    found, most = [], 0
    for part in sliced([text], PARALLEL, CPU, slice_bytes):
        cells = bytes(part.layout.cells.clamp(max=255).to(torch.uint8).tolist())
        pairs = zip(part.pieces.starts.tolist(), part.pieces.lengths.tolist(), strict=True)
        found += [cells[start : start + length] for start, length in pairs]
        most = max(most, len(cells))
    return found, most


def without_blanks(seed: int, size: int) -> bytes:
    """Letters, digits, punctuation and guards: no white space, words of any length up to thousands of bytes."""
    rng = random.Random(seed)
    found = b""
    while len(found) < size:
        kind = rng.choice([b"abst_", b"0123456789.'e", b"+-*/=&", b">-=>", b"#:\\", "\u00e9\u4e2d".encode()])
        found += bytes(rng.choice(kind) for _ in range(int(2 ** rng.uniform(0, 8))))
    return found[:size]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from(HARD), min_size=30, max_size=150).map(b"".join), st.integers(130, 400))
def test_pieces_of_hard_texts_are_the_native_ones_wherever_slices_end(text: bytes, slice_bytes: int) -> None:
    assert pieces_in_slices(text, slice_bytes)[0] == NATIVE.split(text)


@pytest.mark.parametrize(
    "text",
    [
        b"#" + b" " * 500 + b"define x",
        b"#" + b" " * 500 + b"defined x",
        b"\\" + b"param" * 100 + b" \\param " * 40,
        b"<BOS>" * 100 + b">\n        " * 30,
        b"1e+" * 200 + b"5",
        b"std" * 99 + b"::" + b"std::" * 60,
        b"+\n  " * 200 + b"x",
        "\u4e2d\U0001f600".encode() * 90 + b"\xe4\xb8" * 90,
    ],
)
def test_what_looks_far_ahead_is_cut_as_by_the_native_splitter(text: bytes) -> None:
    for slice_bytes in (150, 163, 177):
        assert pieces_in_slices(text, slice_bytes)[0] == NATIVE.split(text)


def test_no_more_than_a_slice_is_split_at_once() -> None:
    found, most = pieces_in_slices(without_blanks(1, 100_000), 2000)
    assert found == NATIVE.split(without_blanks(1, 100_000))
    assert most <= 2001


def woven(seed: int, size: int) -> bytes:
    """Words and punctuation in turns without white space, from few of each, which the interpreter merges in time."""
    rng = random.Random(seed)
    words = [b"std", b"template", b"x", b"end_point", b"1e-5", b"0x1F", "na\u00efve".encode(), b"value"]
    marks = [b"::", b"->", b"(", b"+=", b"<", b">>=", b");", b".", b"#", b"\\"]
    found = b""
    while len(found) < size:
        found += rng.choice(words) + rng.choice(marks)
    return found


def hostile_texts() -> list[bytes]:
    """Without white space: many words, one word of 10^5 bytes, as long a run of punctuation, both; and short ones."""
    letters, symbols = random.Random(2), random.Random(3)
    word = bytes(letters.choice(b"abcdest_") for _ in range(100_000))
    run = bytes(symbols.choice(b"+-*/=&(){};") for _ in range(100_000))
    return [b"x", woven(4, 10_000), b"", b"a->b", word, run, word + b";" + run, b"end"]


def test_counts_of_texts_without_white_space_are_the_native_ones(device: torch.device) -> None:
    native = Counter(NATIVE)
    native.add(hostile_texts())
    assert as_dict(count_words(hostile_texts(), PARALLEL, device, slice_bytes=3000)) == words_in(native)


def test_encodings_of_texts_without_white_space_are_the_native_ones(encoder: Encoder, device: torch.device) -> None:
    texts = [text.decode("utf-8", "replace") for text in hostile_texts()]
    expected, found = encoder.encode_batch(texts), GpuEncoder(encoder.model, device, 4000).encode_batch(texts)
    for name in ("ids", "char_starts", "char_ends", "offsets"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
