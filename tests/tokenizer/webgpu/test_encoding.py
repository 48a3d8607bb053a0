"""Counts, ids, spans and offsets of the GPU are the native ones, bit for bit, however texts are sliced."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from megacpp_assets.compute.tokenizer_device import VARIABLE
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.tokenizer.device import load_encoder
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.train import count_words
from megacpp_assets.tokenizer.webgpu.counting import count_on_gpu
from megacpp_assets.tokenizer.webgpu.encoding import GpuEncoder
from megacpp_assets.tokenizer.webgpu.gpu import Gpu, WorkgroupOrder
from tests.tokenizer.conftest import RECIPE, native_sources, words_in
from tests.tokenizer.webgpu.test_splitting import hard_texts

COLUMNS = ("ids", "char_starts", "char_ends", "offsets")


@pytest.fixture(scope="module")
def on_gpu(encoder: Encoder, gpu: Gpu) -> GpuEncoder:
    return GpuEncoder(encoder.model, gpu)


def require_same(encoder: Encoder, on_gpu: GpuEncoder, texts: list[str]) -> None:
    expected, found = encoder.encode_batch(texts), on_gpu.encode_batch(texts)
    for name in COLUMNS:
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
        assert getattr(found, name).dtype == getattr(expected, name).dtype, name


def require_same_in_slices(encoder: Encoder, gpu: Gpu, texts: list[bytes], size: int) -> None:
    counted = count_on_gpu(texts, RECIPE, gpu, size)
    assert words_in(counted) == words_in(count_words(RECIPE, texts))
    require_same(encoder, GpuEncoder(encoder.model, gpu, size), [text.decode("utf-8", "replace") for text in texts])


def without_blanks(seed: int, size: int) -> bytes:
    """Letters, digits, punctuation and guards: no white space, words of any length up to thousands of bytes."""
    rng = random.Random(seed)
    found = b""
    while len(found) < size:
        kind = rng.choice([b"abst_", b"0123456789.'e", b"+-*/=&", b">-=>", b"#:\\", "\u00e9\u4e2d".encode()])
        found += bytes(rng.choice(kind) for _ in range(int(2 ** rng.uniform(0, 8))))
    return found[:size]


def test_real_code_encodes_as_on_the_cpu(encoder: Encoder, on_gpu: GpuEncoder) -> None:
    require_same(encoder, on_gpu, [data.decode() for data in native_sources().values()])


def test_hard_texts_encode_as_on_the_cpu(encoder: Encoder, on_gpu: GpuEncoder) -> None:
    require_same(encoder, on_gpu, [text.decode("utf-8", "replace") for text in hard_texts(7, 500)])


def test_bytes_that_are_no_text_encode_as_on_the_cpu(encoder: Encoder, on_gpu: GpuEncoder) -> None:
    rng = random.Random(8)
    texts = [bytes(rng.randrange(256) for _ in range(rng.randint(0, 40))) for _ in range(50)]
    found = on_gpu.encode_bytes_batch(texts)
    for text, begin, end in zip(texts, found.offsets[:-1], found.offsets[1:], strict=True):
        assert found.ids[begin:end].tolist() == encoder.encode_bytes(text).tolist()
        assert encoder.decode(found.ids[begin:end]) == text


def test_long_words_are_merged_as_on_the_cpu(encoder: Encoder, on_gpu: GpuEncoder) -> None:
    rng = random.Random(9)
    words = ["".join(rng.choice("abcdest_") for _ in range(length)) for length in (150, 256, 257, 3000)]
    require_same(encoder, on_gpu, ["x", *words, " ".join(words)])


def test_words_of_slices_are_counted_and_encoded_as_on_the_cpu(encoder: Encoder, gpu: Gpu) -> None:
    require_same_in_slices(encoder, gpu, hard_texts(3, 60), size=400)


@pytest.mark.parametrize(
    "text",
    [
        b"#" + b" " * 500 + b"define x",
        b"\\" + b"param" * 100 + b" \\param " * 40,
        b"<BOS>" * 100 + b">\n        " * 30,
        b"1e+" * 200 + b"5",
        b"std" * 99 + b"::" + b"std::" * 60,
        b"+\n  " * 200 + b"x",
        "\u4e2d\U0001f600".encode() * 90,
        without_blanks(1, 2000),
    ],
)
def test_texts_longer_than_a_slice_are_cut_where_it_does_not_show(encoder: Encoder, gpu: Gpu, text: bytes) -> None:
    require_same_in_slices(encoder, gpu, [b"a->b", text, b"", b"end"], size=163)


def test_lone_surrogates_are_rejected_as_on_the_cpu(on_gpu: GpuEncoder) -> None:
    with pytest.raises(SpecError, match="a lone surrogate at character 1"):
        on_gpu.encode_batch(["a\ud800"])


def test_no_texts_and_empty_texts_are_fine(encoder: Encoder, on_gpu: GpuEncoder) -> None:
    require_same(encoder, on_gpu, [])
    require_same(encoder, on_gpu, ["", "x", ""])


def test_arrow_texts_and_bytes_encode_as_on_the_cpu(encoder: Encoder, on_gpu: GpuEncoder) -> None:
    for texts in (pa.array(["int é;", ""]), pa.chunked_array([[b"\xff x"], [b"y"]]), pa.array([], pa.string())):
        assert on_gpu.encode_arrow(texts) == encoder.encode_arrow(texts)


def test_a_published_tokenizer_opens_on_the_gpu(gpu: Gpu, published: Artifact, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "gpu")
    assert isinstance(load_encoder(published.directory), GpuEncoder)


@pytest.mark.campaign
@pytest.mark.parametrize("ten", range(10))
def test_100_orders_of_workgroups_give_the_same_counts_and_ids(encoder: Encoder, ten: int) -> None:
    texts = [*hard_texts(5, 200), without_blanks(2, 5000)]
    rng = random.Random(ten)
    for index in range(10):
        gpu = Gpu(WorkgroupOrder(first=rng.randrange(1000), reverse=bool(index % 2)))
        require_same_in_slices(encoder, gpu, texts, size=3000)
