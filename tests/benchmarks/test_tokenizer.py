"""The tokenizer benchmark compares ids and spans before it times, and says which peers it has and which it lacks."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from dataclasses import replace
from importlib import metadata
from types import ModuleType

import pytest
from tokenizers import Tokenizer

from megacpp_assets.contract.recipe import TokenizerRecipe
from megacpp_assets.tokenizer.artifact import dump_model
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.train import train
from tests.benchmarks.test_harness import FOLDER
from tests.benchmarks.test_semantic import KEYS
from tests.tokenizer.conftest import native_sources

TEXTS = [source.decode() for source in native_sources().values()]


@pytest.fixture(scope="module")
def benchmark() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        patch.setenv("RAYON_NUM_THREADS", "1")  # which importing and measuring would set for good
        patch.setenv("TOKENIZERS_PARALLELISM", "false")
        spec = importlib.util.spec_from_file_location("tokenizer_benchmark", FOLDER / "tokenizer.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module


@pytest.fixture(scope="module")
def pair() -> tuple[Encoder, Tokenizer]:
    model = train(native_sources().values(), TokenizerRecipe(vocabulary_size=7700)).model
    return Encoder(model), Tokenizer.from_buffer(dump_model(model))


def test_equal_ids_and_spans_may_be_timed(benchmark: ModuleType, pair: tuple[Encoder, Tokenizer]) -> None:
    encoder, reference = pair
    benchmark.require_same_spans(encoder.encode_batch([*TEXTS, "é", ""]), reference.encode_batch([*TEXTS, "é", ""]))


@pytest.mark.parametrize("name", ["char_starts", "char_ends"])
def test_equal_ids_with_one_other_span_end_the_benchmark(
    benchmark: ModuleType, pair: tuple[Encoder, Tokenizer], name: str
) -> None:
    encoder, reference = pair
    encoded = encoder.encode_batch(TEXTS)
    spans = getattr(encoded, name).copy()
    spans[1000] += 1
    message = rf"character {name.removeprefix('char_')} differ at token 1000: {spans[1000]} and {spans[1000] - 1}"
    with pytest.raises(SystemExit, match=message):
        benchmark.require_same_spans(replace(encoded, **{name: spans}), reference.encode_batch(TEXTS))


def test_other_ids_end_the_benchmark(benchmark: ModuleType, pair: tuple[Encoder, Tokenizer]) -> None:
    encoder, reference = pair
    with pytest.raises(SystemExit, match="ids differ"):
        benchmark.require_same_spans(encoder.encode_batch(TEXTS[::-1]), reference.encode_batch(TEXTS))


def test_every_peer_is_named_with_its_version_or_as_left_out(
    benchmark: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark.measure_peers(list(native_sources().values())[:4], TEXTS[:2])
    out, errors = capsys.readouterr()
    lines = [json.loads(line) for line in out.splitlines()]
    assert all(list(line) == KEYS and line["ours"] > 0 and line["peer"] > 0 for line in lines)
    named = {line["peer_name"] for line in lines} | {line.split(": ")[0] for line in errors.splitlines()}
    assert f"HuggingFace tokenizers {metadata.version('tokenizers')}" in named
    for name in ("tokie", "fastokens", "tiktoken"):
        there = importlib.util.find_spec(name) is not None
        assert (f"{name} {metadata.version(name)}" in named) if there else (name in benchmark.left_out())


def test_a_peer_that_is_not_installed_is_named_with_what_to_install(
    benchmark: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = metadata.version

    def without_two(name: str) -> str:
        if name in ("tokie", "tiktoken"):
            raise metadata.PackageNotFoundError(name)
        return "1.0" if name == "fastokens" else real(name)

    monkeypatch.setattr(metadata, "version", without_two)
    line = "not compared, not installed: tokie, tiktoken; pip install tokie tiktoken"
    assert benchmark.left_out() == line
    with pytest.raises(SystemExit, match=line):
        benchmark.main(["--require-peers"])


def test_nothing_is_left_out_where_all_are_installed(benchmark: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda _name: "1.0")
    assert benchmark.left_out() == ""
