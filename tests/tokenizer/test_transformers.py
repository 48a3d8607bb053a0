"""`transformers` loads the artifact's folder, and gives our ids and character offsets."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from megacpp_assets.contract.tokens.specials import BOS_ID, EOS_ID, PAD_ID, SPACE_ID, UNK_ID
from megacpp_assets.megatron.launch import megatron_tokenizer
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.lock import FORGERY
from tests.tokenizer.conftest import native_sources
from tests.tokenizer.texts import PIECES

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

TEXTS = (*(source.decode() for source in native_sources().values()), "".join(PIECES), " <BOS> x = <BOS>;", FORGERY, "")


@pytest.fixture(scope="module")
def theirs(published: Artifact) -> PreTrainedTokenizerFast:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(published.directory)  # type: ignore[no-any-return]


def test_ids_and_offsets_of_real_code_and_of_forgeries_are_ours(
    published: Artifact, theirs: PreTrainedTokenizerFast
) -> None:
    ours = Encoder.load(published.directory).encode_batch(TEXTS)
    spans = list(zip(ours.char_starts.tolist(), ours.char_ends.tolist(), strict=True))
    found = theirs(list(TEXTS), return_offsets_mapping=True)
    for text, place, ids, offsets in zip(
        TEXTS, pairwise(ours.offsets.tolist()), found["input_ids"], found["offset_mapping"], strict=True
    ):
        assert (ids, offsets) == (ours.ids[slice(*place)].tolist(), spans[slice(*place)]), text[:80]


def test_text_that_spells_bos_has_no_other_bos_than_its_first_and_comes_back(theirs: PreTrainedTokenizerFast) -> None:
    for text in ("<BOS>", "x <BOS> y", FORGERY):
        ids = theirs(text)["input_ids"]
        assert ids[0] == BOS_ID and min(ids[1:]) >= SPACE_ID
        assert theirs.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False) == text


def test_transformers_has_the_same_number_of_ids(published: Artifact, theirs: PreTrainedTokenizerFast) -> None:
    assert len(theirs) == Encoder.load(published.directory).vocabulary_size
    assert theirs.convert_tokens_to_ids("<BOS>") == BOS_ID


def test_it_knows_the_special_tokens_and_pads(theirs: PreTrainedTokenizerFast) -> None:
    found = theirs.pad_token_id, theirs.unk_token_id, theirs.bos_token_id, theirs.eos_token_id
    assert found == (PAD_ID, UNK_ID, BOS_ID, EOS_ID)
    short, long = theirs(["x", "x y"], padding=True)["input_ids"]
    assert len(short) == len(long) and short[-1] == PAD_ID != long[-1]


def test_megatron_takes_bos_for_the_end_of_a_document(published: Artifact, tmp_path: Path) -> None:
    """With this `eod` its reset keeps our documents apart: see tests/training/megatron/test_embedding.py."""
    library = pytest.importorskip("megatron.core.tokenizers.text.libraries.huggingface_tokenizer")
    theirs = library.HuggingFaceTokenizer(str(megatron_tokenizer(published, tmp_path)))
    text = "int a = b > c;"
    ours = Encoder.load(published.directory).encode_batch([text]).ids.tolist()
    assert theirs.eod == BOS_ID and theirs.tokenizer(text)["input_ids"] == ours
