"""A tokenizer that was trained on the device is the one that the CPU trains; another device is never taken instead."""

from __future__ import annotations

import pytest
import torch

from megacpp_assets.compute.tokenizer_device import VARIABLE
from megacpp_assets.contract.errors import EnvironmentLacks, SpecError
from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.tokenizer.artifact import dump_model
from megacpp_assets.tokenizer.device import count_texts, load_encoder, train_counted
from megacpp_assets.tokenizer.gpu.device import CUDA, open_device
from megacpp_assets.tokenizer.gpu.encode import GpuEncoder
from megacpp_assets.tokenizer.train import train
from tests.tokenizer.conftest import native_sources, words_in

RECIPE = TokenizerRecipe(vocabulary_size=7210)
TEXTS = [data[:1200] for data in list(native_sources().values())[:2]]


def test_the_whole_tokenizer_is_that_of_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "interpreter")
    expected, found = train(TEXTS, RECIPE), train_counted(count_texts(TEXTS, RECIPE), RECIPE)
    assert dump_model(found.model) == dump_model(expected.model)
    assert words_in(found.counter) == words_in(expected.counter)
    assert (found.last_count, found.largest_count) == (expected.last_count, expected.largest_count)
    assert found.forbidden_pairs == expected.forbidden_pairs


def test_an_empty_corpus_is_refused_there_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "interpreter")
    with pytest.raises(SpecError, match="at least one word"):
        train_counted(count_texts([b""], RECIPE), RECIPE)


def test_a_published_tokenizer_opens_on_the_chosen_device(published: Artifact, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "interpreter")
    assert isinstance(load_encoder(published.directory), GpuEncoder)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_an_error_that_says_what_to_set() -> None:
    with pytest.raises(EnvironmentLacks, match="MEGACPP_TOKENIZER_DEVICE=cpu"):
        open_device(CUDA)


def test_an_unknown_device_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "tpu")
    with pytest.raises(SpecError, match="cpu or cuda"):
        count_texts([b"x"], RECIPE)
