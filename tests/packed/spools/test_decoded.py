"""Documents decoded once for all mixtures: the second decodes nothing, and no damage of the cache decides a byte."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from megacpp_assets.contract.partition import Mixture
from megacpp_assets.packed.spools import decoded
from megacpp_assets.packed.stage import run
from megacpp_assets.storage.root.layout import decoded_cache_path
from tests.packed.enriched_documents import ABSEIL, DATASET, FMT, Corpus, documents, publish_enriched, small_corpus

BASE, SPECIAL = Mixture("base", "4k"), Mixture("small_cpp", "4k")


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return small_corpus(tmp_path / "root", 12)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders of entries as they are made."""
    made: list[Path] = []
    make = decoded._make

    def make_and_signal(folder: Path, *rest: object) -> None:
        made.append(folder)
        make(folder, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(decoded, "_make", make_and_signal)
    return made


def _folder(corpus: Corpus) -> Path:
    return corpus.root / decoded_cache_path(DATASET, [4096])


def test_all_mixtures_of_a_dataset_take_their_documents_from_one_decoding(corpus: Corpus, made: list[Path]) -> None:
    run(corpus.spec(mixture=BASE))
    special = run(corpus.spec(mixture=SPECIAL, own_repo=ABSEIL.name))
    assert made == [_folder(corpus)]
    alone = small_corpus(corpus.root.parent / "alone", 12)
    assert run(alone.spec(mixture=SPECIAL, own_repo=ABSEIL.name)).manifest == special.manifest


def test_changed_documents_or_rules_replace_the_decoded_entry(corpus: Corpus, made: list[Path]) -> None:
    run(corpus.spec(mixture=BASE))
    run(replace(corpus.spec(mixture=BASE), near_copy=0.5))
    publish_enriched(corpus.root, FMT, [documents(FMT, 5, seed=9)])
    run(corpus.spec(mixture=BASE))
    assert made == [_folder(corpus)] * 3


def _flip(folder: Path) -> None:
    file = max(folder.rglob("*.token_ids"))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize(
    "damage",
    [
        _flip,
        lambda folder: next(folder.rglob("*.offsets")).unlink(),
        lambda folder: (folder / "train" / "left over").write_bytes(b"x"),
        lambda folder: (folder / "sealed.json").unlink(),
        lambda folder: (folder / "sealed.json").write_bytes(b"{"),
    ],
)
def test_a_damaged_or_torn_decoding_is_made_again(
    corpus: Corpus, made: list[Path], damage: Callable[[Path], object]
) -> None:
    run(corpus.spec(mixture=BASE))
    damage(_folder(corpus))
    special = run(corpus.spec(mixture=SPECIAL))
    assert len(made) == 2
    assert run(small_corpus(corpus.root.parent / "alone", 12).spec(mixture=SPECIAL)).manifest == special.manifest


def test_mixtures_that_are_packed_at_once_wait_for_one_decoding(corpus: Corpus, made: list[Path]) -> None:
    specs = [corpus.spec(mixture=Mixture(name, "4k")) for name in ("base", "small_cpp", "other")]
    with ThreadPoolExecutor(3) as pool:
        manifests = [artifact.manifest for artifact in pool.map(run, specs)]
    assert made == [_folder(corpus)]
    alone = small_corpus(corpus.root.parent / "alone", 12)
    assert manifests == [run(replace(spec, root=alone.root)).manifest for spec in specs]
