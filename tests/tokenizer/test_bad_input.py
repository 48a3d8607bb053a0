"""Inputs that break tokenizers: each gives the right ids or a clear error, in memory that its words account for.

MEGACPP_FULL_TESTS=1 makes the one-line text 1 GB instead of 16 MB.
"""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import numpy as np
import pytest

from megacpp_assets.contract.errors import MegacppError
from megacpp_assets.contract.recipe import TokenizerRecipe
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.model import FIRST_ORDINARY_ID
from megacpp_assets.tokenizer.stage import TokenizerSpec, run
from megacpp_assets.tokenizer.train import count_words, train
from tests.tokenizer.conftest import RECIPE, REPO, publish_raw

LINE_BYTES = 1_000_000_000 if os.environ.get("MEGACPP_FULL_TESTS") == "1" else 16_000_000
TEN_MB = 10_000_000


def test_ten_megabytes_of_one_word_train_and_encode(encoder: Encoder) -> None:
    text = ("abcd_efgh1" * (TEN_MB // 10)).encode()
    model = train([text], TokenizerRecipe(vocabulary_size=7264)).model
    assert Encoder(model).decode(Encoder(model).encode_bytes(text)) == text
    assert encoder.decode(encoder.encode_bytes(text)) == text


def test_ten_megabytes_without_whitespace_encode_as_their_words_do(encoder: Encoder) -> None:
    line = b"x=f(y1,z);if(a->b[0]!='c'){d::e<g>h;}"
    ids = encoder.encode_bytes(line * (TEN_MB // len(line)))
    assert encoder.decode(ids) == line * (TEN_MB // len(line))
    assert len(ids) <= 1 + len(encoder.encode_bytes(line)) * (TEN_MB // len(line))


def test_a_text_of_one_line_is_counted_by_its_words_not_its_size() -> None:
    part = b"int value = other + 17; " * 41_667
    text = part * (LINE_BYTES // len(part))
    counter = count_words(RECIPE, [text], threads=2)
    assert counter.words % (LINE_BYTES // len(part)) == 0
    assert counter.unique < 20 and counter.bytes == len(text)


def test_nul_bytes_are_bytes_like_any_other(encoder: Encoder) -> None:
    text = b"int\0main\0\0(\0) {}\n" * 100
    model = train([text], TokenizerRecipe(vocabulary_size=7300)).model
    for tokenizer in (encoder, Encoder(model)):
        assert tokenizer.decode(tokenizer.encode_bytes(text)) == text


def test_bytes_of_no_encoding_are_kept(encoder: Encoder) -> None:
    text = random.Random(3).randbytes(200_000)
    ids = encoder.encode_bytes(text)
    assert encoder.decode(ids) == text
    assert np.all(ids[1:] >= FIRST_ORDINARY_ID)


def test_a_corpus_whose_objects_cannot_be_read_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    raw: Artifact = publish_raw(tmp_path, {"a.cpp": b"int main() { return 0; }\n", "b.cpp": b"int other;\n"})
    objects = next(path for path in raw.directory.rglob("objects") if path.is_dir())
    shutil.rmtree(next(path for path in objects.iterdir() if len(path.name) == 2))
    with pytest.raises(MegacppError):
        run(TokenizerSpec(tmp_path, "demo_v1", (REPO,), RECIPE))
    assert not (tmp_path / "tokenizer" / "demo_v1" / "_COMPLETE").exists()
