"""The device of the environment opens with as many threads as there are workers."""

from __future__ import annotations

import pickle

import pytest

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.tokenizer.device import load_encoder
from megacpp_assets.tokenizer.encoder import Encoder


@pytest.mark.parametrize("workers", [1, 3])
def test_an_encoder_has_a_thread_for_each_worker_and_keeps_them_when_pickled(
    published: Artifact, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    monkeypatch.setenv("MEGACPP_WORKERS", str(workers))
    encoder = load_encoder(published.directory)
    assert isinstance(encoder, Encoder) and encoder.threads == workers
    monkeypatch.delenv("MEGACPP_WORKERS")
    assert pickle.loads(pickle.dumps(encoder)).threads == workers


def test_a_number_of_workers_that_is_none_is_refused(published: Artifact, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEGACPP_WORKERS", "all")
    with pytest.raises(SpecError, match="MEGACPP_WORKERS"):
        load_encoder(published.directory)
