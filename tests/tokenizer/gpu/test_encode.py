"""Encoding on the device gives the native encoder's ids, spans and offsets, bit for bit."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
import torch

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.gpu.encode import GpuEncoder
from tests.tokenizer.conftest import native_sources
from tests.tokenizer.gpu.test_split import HARD


@pytest.fixture(scope="module")
def on_device(encoder: Encoder, device: torch.device) -> GpuEncoder:
    return GpuEncoder(encoder.model, device, slice_bytes=20_000)


def require_same(encoder: Encoder, on_device: GpuEncoder, texts: list[str]) -> None:
    expected, found = encoder.encode_batch(texts), on_device.encode_batch(texts)
    for name in ("ids", "char_starts", "char_ends", "offsets"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
        assert getattr(found, name).dtype == getattr(expected, name).dtype, name


def test_real_code_encodes_as_on_the_cpu(encoder: Encoder, on_device: GpuEncoder) -> None:
    require_same(encoder, on_device, [data[:1500].decode() for data in native_sources().values()][:2])


def test_hard_texts_encode_as_on_the_cpu(encoder: Encoder, on_device: GpuEncoder) -> None:
    rng = random.Random(7)
    texts = [b"".join(rng.choice(HARD) for _ in range(rng.randint(0, 30))) for _ in range(200)]
    require_same(encoder, on_device, [text.decode("utf-8", "replace") for text in texts])


def test_bytes_that_are_no_text_encode_as_on_the_cpu(encoder: Encoder, on_device: GpuEncoder) -> None:
    rng = random.Random(8)
    texts = [bytes(rng.randrange(256) for _ in range(rng.randint(0, 40))) for _ in range(50)]
    found = on_device.encode_bytes_batch(texts)
    for text, begin, end in zip(texts, found.offsets[:-1], found.offsets[1:], strict=True):
        assert found.ids[begin:end].tolist() == encoder.encode_bytes(text).tolist()
        assert encoder.decode(found.ids[begin:end]) == text


def test_a_long_word_is_merged_as_on_the_cpu(encoder: Encoder, on_device: GpuEncoder) -> None:
    rng = random.Random(9)
    require_same(encoder, on_device, ["".join(rng.choice("abcdest_") for _ in range(150))])


def test_lone_surrogates_are_refused_as_on_the_cpu(on_device: GpuEncoder) -> None:
    with pytest.raises(SpecError, match="a lone surrogate at character 1"):
        on_device.encode_batch(["a\ud800"])


def test_no_texts_and_empty_texts_are_fine(encoder: Encoder, on_device: GpuEncoder) -> None:
    require_same(encoder, on_device, [])
    require_same(encoder, on_device, ["", "x", ""])


def test_arrow_texts_and_bytes_encode_as_on_the_cpu(encoder: Encoder, on_device: GpuEncoder) -> None:
    for texts in (pa.array(["int é;", ""]), pa.chunked_array([[b"\xff x"], [b"y"]]), pa.array([], pa.string())):
        assert on_device.encode_arrow(texts) == encoder.encode_arrow(texts)
