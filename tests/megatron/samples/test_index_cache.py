"""Our cached index maps against those of megatron-core: the same files, used by either side."""

from __future__ import annotations

import argparse
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from megacpp_assets.contract.errors import IndexCorrupt, SpecError
from megacpp_assets.megatron.pair.reader import open_bin_idx
from megacpp_assets.megatron.samples.blend import BlendedSamples, open_blend
from megacpp_assets.megatron.samples.index_cache import IndexCache, tokenizer_identifiers
from tests.megatron.core_samples import SEED, Tokenizer, megatron_samples
from tests.megatron.pairs import write_pair

DATASETS = 50


def cache_in(folder: Path, **how: bool) -> IndexCache:
    return IndexCache(folder, Tokenizer.unique_identifiers, **how)


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def samples_of(opened: BlendedSamples) -> list[list[int]]:
    return [opened[number].tolist() for number in range(len(opened))]


def random_blend(folder: Path, random: np.random.Generator) -> list[tuple[float, Path]]:
    blend = []
    for number in range(random.integers(1, 4)):
        prefix = folder / f"x{number}"
        write_pair(prefix, random.integers(1, random.integers(2, 200), random.integers(60, 120)).tolist())
        blend.append((float(random.uniform(0.1, 3)), prefix))
    return blend


def test_stored_maps_of_random_datasets_are_megatrons_byte_for_byte(tmp_path: Path, one_rank: None) -> None:
    for seed in range(DATASETS):
        random = np.random.default_rng(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        blend = random_blend(folder, random)
        tokens, split = int(random.integers(1, 80)), ["80,12,8", "100", "50,50", None][seed % 4]
        counts = random.integers(1, 400, 3).tolist()
        megatron_samples(folder / "theirs", blend, True, tokens, counts, split)
        ours = cache_in(folder / "ours")
        for part in range(3 if split == "80,12,8" else 2 if split == "50,50" else 1):
            open_blend(
                blend, row_tokens=tokens, samples=counts[part], seed=SEED, split=split, part=part, cache=ours
            )  # fmt: skip
        assert files_of(ours.folder) == files_of(folder / "theirs"), f"dataset {seed}"
        shutil.rmtree(folder)


@pytest.fixture
def blend(tmp_path: Path) -> list[tuple[float, Path]]:
    write_pair(tmp_path / "x0", [30, 9, 70, 4] * 20)
    write_pair(tmp_path / "x1", [11, 50] * 30)
    return [(0.7, tmp_path / "x0"), (0.3, tmp_path / "x1")]


def opened(blend: list[tuple[float, Path]], cache: IndexCache | None, samples: int = 90) -> BlendedSamples:
    return open_blend(blend, row_tokens=32, samples=samples, seed=SEED, split=None, cache=cache)


def test_megatron_starts_fast_from_our_maps(tmp_path: Path, one_rank: None, blend: list[tuple[float, Path]]) -> None:
    ours = opened(blend, cache_in(tmp_path / "cache"))
    how = {"fast_cache_load": True, "defer_npy_index_mmap": True}
    theirs = megatron_samples(tmp_path / "cache", blend, True, 32, [90, 0, 0], None, **how)[0]
    assert len(theirs) == len(ours)
    assert [ours[n][:-1].tolist() for n in range(len(ours))] == [theirs[n]["tokens"].tolist() for n in range(len(ours))]


def test_fast_deferred_and_counted_starts_give_the_same_samples(
    tmp_path: Path, blend: list[tuple[float, Path]]
) -> None:
    expected = samples_of(opened(blend, None))
    assert samples_of(opened(blend, cache_in(tmp_path / "cache"))) == expected
    pairs = {str(prefix): open_bin_idx(prefix) for _, prefix in blend}
    counts = {prefix: (pair.header.sequences, pair.header.boundaries) for prefix, pair in pairs.items()}
    for how in ({"fast_load": True}, {"defer_maps": True}, {"fast_load": True, "defer_maps": True}):
        cache = IndexCache(tmp_path / "cache", Tokenizer.unique_identifiers, **how, sequences=counts)
        assert samples_of(opened(blend, cache)) == expected
    with pytest.raises(SpecError, match="sequence counts; expected an entry"):
        opened(blend, IndexCache(tmp_path / "cache", {}, sequences={"elsewhere": (1, 2)}))


def test_maps_are_built_once_for_all_that_ask_at_the_same_time(tmp_path: Path) -> None:
    cache, builds = cache_in(tmp_path / "cache"), []

    def build() -> dict[str, np.ndarray]:
        builds.append(1)
        return {"dataset_index": np.arange(3)}

    description = {"class": "BlendedDataset", "split": "train"}
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(cache.maps, description, {"dataset_index": 3}, build) for _ in range(8)]
        assert all(list(each.result()["dataset_index"][:]) == [0, 1, 2] for each in asked)
    assert len(builds) == 1


def test_maps_of_other_data_under_the_same_hash_are_rejected(tmp_path: Path, blend: list[tuple[float, Path]]) -> None:
    opened(blend, cache_in(tmp_path / "cache"))
    write_pair(tmp_path / "x1", [12, 49] * 30)
    with pytest.raises(IndexCorrupt, match="expected index maps of these files; found maps of other data"):
        opened(blend, cache_in(tmp_path / "cache"))


@pytest.mark.parametrize("how", [{"fast_load": True}, {"defer_maps": True}])
def test_missing_and_damaged_maps_are_named(
    tmp_path: Path, blend: list[tuple[float, Path]], how: dict[str, bool]
) -> None:
    with pytest.raises(SpecError, match="expected a stored index map; found no such file"):
        samples_of(opened(blend, cache_in(tmp_path / "cache", **how)))
    opened(blend, cache_in(tmp_path / "cache"))
    for path in (tmp_path / "cache").glob("*.npy"):
        path.write_bytes(b"not an array")
    with pytest.raises(IndexCorrupt, match=r"expected a \.npy file"):
        samples_of(opened(blend, cache_in(tmp_path / "cache", **how)))


def test_identifiers_are_those_of_megatrons_tokenizer(tmp_path: Path, indexed_dataset: object) -> None:
    from megatron.core.tokenizers.text.utils.build_tokenizer import build_tokenizer
    from tokenizers import Tokenizer as Fast
    from tokenizers.models import WordLevel

    Fast(WordLevel({"<BOS>": 0, "x": 1}, unk_token="x")).save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    arguments = argparse.Namespace(
        tokenizer_type="HuggingFaceTokenizer", tokenizer_model=str(tmp_path), vocab_file=None, merge_file=None,
        tokenizer_special_tokens=None, tokenizer_hf_use_fast=False, trust_remote_code=False,
        tokenizer_hf_include_special_tokens=False, tokenizer_metadata=None,
    )  # fmt: skip
    theirs = build_tokenizer(arguments).unique_identifiers
    assert list(theirs.items()) == list(tokenizer_identifiers(tmp_path).items())
