"""Inputs that break tokenizers: each gives HuggingFace's ids or a clear error, in memory that its words account for.

MEGACPP_FULL_TESTS=1 makes the one-line text 1 GB instead of 16 MB, and compares 10 MB with HuggingFace instead of 0.5.
"""

from __future__ import annotations

import os
import random
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tokenizers import Tokenizer

from megacpp_assets.contract.errors import MegacppError
from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.tokenizer._bpe import Encoder as NativeEncoder
from megacpp_assets.tokenizer.artifact import dump_model
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.model import FIRST_ORDINARY_ID, make_encoder, make_splitter
from megacpp_assets.tokenizer.stage import TokenizerSpec, run
from megacpp_assets.tokenizer.train import count_words, train
from tests.tokenizer.conftest import RECIPE, REPO, publish_raw

FULL = os.environ.get("MEGACPP_FULL_TESTS") == "1"
LINE_BYTES = 1_000_000_000 if FULL else 16_000_000
TEN_MB = 10_000_000
REFERENCE_BYTES = TEN_MB if FULL else TEN_MB // 20
"""As much as HuggingFace encodes in a second or two; it needs fifteen for ten megabytes of one word."""


def reference_ids(encoder: Encoder, text: bytes) -> NDArray[np.uint32]:
    """HuggingFace's ids, from the file of the same model."""
    reference = Tokenizer.from_buffer(dump_model(encoder.model))
    return np.array(reference.encode(text.decode()).ids, dtype=np.uint32)


def assert_encodes(encoder: Encoder, piece: bytes) -> None:
    """Ten megabytes of `piece` come back; as many as the reference can take have its ids."""
    whole, part = piece * (TEN_MB // len(piece)), piece * (REFERENCE_BYTES // len(piece))
    assert encoder.decode(encoder.encode_bytes(whole)) == whole
    assert np.array_equal(encoder.encode_bytes(part), reference_ids(encoder, part))


def test_ten_megabytes_of_one_word_train_and_encode_as_in_the_reference(encoder: Encoder) -> None:
    word = b"abcd_efgh1"
    model = train([word * (TEN_MB // len(word))], TokenizerRecipe(vocabulary_size=7264)).model
    assert_encodes(Encoder(model), word)
    assert_encodes(encoder, word)


def test_ten_megabytes_without_whitespace_encode_as_in_the_reference(encoder: Encoder) -> None:
    line = b"x=f(y1,z);if(a->b[0]!='c'){d::e<g>h;}"
    assert_encodes(encoder, line)
    once, often = (encoder.encode_bytes(line * count)[1:] for count in (1, TEN_MB // len(line)))
    assert np.array_equal(often, np.tile(once, TEN_MB // len(line)))


def test_a_text_of_one_line_is_counted_by_its_words_not_its_size() -> None:
    part = b"int value = other + 17; " * 41_667
    text = part * (LINE_BYTES // len(part))
    counter = count_words(RECIPE, [text], threads=2)
    assert counter.words % (LINE_BYTES // len(part)) == 0
    assert counter.unique < 20 and counter.bytes == len(text)


def test_nul_bytes_are_bytes_like_any_other(encoder: Encoder) -> None:
    text = b"int\0main\0\0(\0) {}\n" * 5_000
    model = train([text], TokenizerRecipe(vocabulary_size=7300)).model
    for tokenizer in (encoder, Encoder(model)):
        assert tokenizer.decode(tokenizer.encode_bytes(text)) == text
        assert np.array_equal(tokenizer.encode_bytes(text), reference_ids(tokenizer, text))


def test_bytes_of_no_encoding_are_kept(encoder: Encoder) -> None:
    text = random.Random(3).randbytes(200_000)
    ids = encoder.encode_bytes(text)
    assert encoder.decode(ids) == text
    assert np.all(ids[1:] >= FIRST_ORDINARY_ID)


def test_the_text_in_bytes_of_no_encoding_has_the_ids_of_the_reference(encoder: Encoder) -> None:
    for errors in ("ignore", "replace"):
        text = random.Random(3).randbytes(100_000).decode(errors=errors).encode()
        assert np.array_equal(encoder.encode_bytes(text), reference_ids(encoder, text))


def test_a_corpus_whose_objects_cannot_be_read_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    raw: Artifact = publish_raw(tmp_path, {"a.cpp": b"int main() { return 0; }\n", "b.cpp": b"int other;\n"})
    objects = next(path for path in raw.directory.rglob("objects") if path.is_dir())
    shutil.rmtree(next(path for path in objects.iterdir() if len(path.name) == 2))
    with pytest.raises(MegacppError):
        run(TokenizerSpec(tmp_path, "demo_v1", (REPO,), RECIPE))
    assert not (tmp_path / "tokenizer" / "demo_v1" / "_COMPLETE").exists()


@pytest.mark.parametrize(
    ("merges", "found"),
    [
        (np.zeros((2**20 - 1, 3), dtype=np.uint32), "fewer than 4,194,304 ids and 1,048,575 merges"),
        (np.full((1, 3), 2**31, dtype=np.uint32), "a merge has an id that is not in the vocabulary"),
    ],
)
def test_merges_that_the_encoder_cannot_hold_are_rejected(
    encoder: Encoder, merges: NDArray[np.uint32], found: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(found)):
        make_encoder(replace(encoder.model, merges=merges))


def native(encoder: Encoder, **changed: Any) -> NativeEncoder:
    """The native encoder of the same words without merges, with some arguments `changed`."""
    model, no_ids = encoder.model, np.empty(0, dtype=np.uint32)
    arguments = {
        "splitter": make_splitter(model.whitespace, model.guards),
        "tokens": model.token_bytes(),
        "reachable": model.reachable(),
        "left": no_ids,
        "right": no_ids,
        "product": no_ids,
        "guard_ids": list(model.guards.values()),
        "bos": 0,
        "first_ordinary": FIRST_ORDINARY_ID,
    }
    return NativeEncoder(**{**arguments, **changed})


@pytest.mark.parametrize("threads", [1, 3])
def test_two_ids_for_one_string_are_rejected_with_any_number_of_threads(encoder: Encoder, threads: int) -> None:
    """An error of one of the threads that fill the tables reaches the caller."""
    tokens, reachable = encoder.model.token_bytes(), encoder.model.reachable()
    tokens[-1] = tokens[reachable[0]]
    with pytest.raises(ValueError, match="two ids for one string"):
        native(encoder, tokens=tokens, reachable=sorted({*reachable, len(tokens) - 1}), threads=threads)


def test_guards_without_an_id_of_the_vocabulary_are_rejected(encoder: Encoder) -> None:
    ids = list(encoder.model.guards.values())
    with pytest.raises(ValueError, match="as many ids as guards"):
        native(encoder, guard_ids=ids[1:])
    with pytest.raises(ValueError, match="a guard has an id that is not in the vocabulary"):
        native(encoder, guard_ids=[*ids[1:], len(encoder.model.keys)])


def test_a_guard_of_more_than_fifteen_bytes_is_rejected(encoder: Encoder) -> None:
    splitter = make_splitter(encoder.model.whitespace, {">" * 16: 50})
    with pytest.raises(ValueError, match="at most 15 bytes"):
        native(encoder, splitter=splitter, guard_ids=[50])


def test_no_number_of_guards_takes_the_place_of_a_word(encoder: Encoder) -> None:
    """Guards and words are in one table, which has room for both."""
    model = encoder.model
    tokens = model.token_bytes()
    word = tokens.index(b"int")
    few = [number for number in model.reachable() if len(tokens[number]) == 1 or number == word]
    for count in (1, 1500, 1900, 2500):
        guards = {f"<g{number}>": 50 for number in range(count)}
        splitter = make_splitter(model.whitespace, guards)
        made = native(encoder, splitter=splitter, guard_ids=list(guards.values()), reachable=few)
        assert made.encode_ids(["int"])[0].tolist() == [0, word]


def test_results_stay_as_they_are_while_memory_of_freed_ones_is_used_again(encoder: Encoder) -> None:
    texts = [f"value_{number} = {number};\n" for number in range(200_000)]
    kept = encoder.encode_batch(texts)
    ids, ends = kept.ids.copy(), kept.char_ends.copy()
    assert ids.nbytes > 4_194_304  # as much as the kernel keeps
    encoder.encode_batch(texts[::-1])  # freed at once
    other = encoder.encode_batch(["(){}" * 500_000])
    assert np.array_equal(kept.ids, ids) and np.array_equal(kept.char_ends, ends)
    assert encoder.decode(other.ids) == b"(){}" * 500_000
