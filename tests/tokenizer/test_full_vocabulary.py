"""131,072 ids through the stage itself, on real repositories from the mirror that MEGACPP_GIT_MIRROR names.

MEGACPP_TEST_REPOSITORIES names them as URL@TAG, separated by spaces. They should have 50 MB of code or more: a smaller
corpus has too few pairs to fill the vocabulary.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.repos.catalogue import CatalogueEntry
from megacpp_assets.repos.pins import pin
from megacpp_assets.repos.sources import MIRROR_VARIABLE
from megacpp_assets.repos.stage import PinnedReposSpec
from megacpp_assets.repos.stage import run as fetch
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.lock import pin_of
from megacpp_assets.tokenizer.stage import TokenizerSpec, run, training_texts
from tests.tokenizer.conftest import statistics_of

REPOSITORIES = "MEGACPP_TEST_REPOSITORIES"
SIZE = 131_072


@pytest.mark.campaign
@pytest.mark.skipif(
    not (os.environ.get(MIRROR_VARIABLE) and os.environ.get(REPOSITORIES)),
    reason=f"set {MIRROR_VARIABLE} and {REPOSITORIES} to repositories with 50 MB of code",
)
def test_131072_ids_are_trained_pinned_and_restored_on_real_repositories(tmp_path: Path) -> None:
    raw = []
    for named in os.environ[REPOSITORIES].split():
        url, _, tag = named.rpartition("@")
        entry = CatalogueEntry(url.rpartition("/")[2], url, tag)
        raw.append((fetch(PinnedReposSpec(tmp_path, pin(entry, tag, tmp_path))), pin(entry, tag, tmp_path)))
    spec = TokenizerSpec(
        tmp_path, "real_v1", tuple(each.partition for _, each in raw), TokenizerRecipe(vocabulary_size=SIZE)
    )
    trained = run(spec)
    encoder = Encoder.load(trained.directory)
    assert encoder.vocabulary_size == SIZE
    used = set()
    for text in training_texts([artifact for artifact, _ in raw]):
        ids = encoder.encode_bytes(text)
        used.update(ids.tolist())
        assert encoder.decode(ids[1:]) == text
    assert max(used) > 65_535, "ids beyond 16 bits are used"
    assert statistics_of(trained).words > 0
    restored = run(TokenizerSpec(tmp_path, "real_v1", spec.repos, spec.recipe, pin=pin_of(trained)))
    assert restored.manifest.file("tokenizer.json").sha256 == trained.manifest.file("tokenizer.json").sha256
