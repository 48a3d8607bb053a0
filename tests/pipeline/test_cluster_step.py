"""Steps that a worker of a real Dask cluster makes: the manifests of local steps, whatever happens to the worker."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from roots import SMALL_DATASET

from megacpp_assets.compute.executors import dask
from megacpp_assets.compute.executors.dask import DaskPool
from megacpp_assets.compute.executors.select import COMPUTE_VARIABLE
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import EnvironmentLacks, LineageGap, MegacppError, SpecError
from megacpp_assets.contract.manifest import FileEntry, Manifest
from megacpp_assets.pipeline import cluster_step
from megacpp_assets.pipeline.corpus import open_corpus
from megacpp_assets.pipeline.execute import execute
from megacpp_assets.pipeline.steps import Step, step_of
from megacpp_assets.storage.artifact import find_artifact, open_artifact
from tests.compute.batches import AfterKillingOneWorker, Answering
from tests.compute.dask_cluster import Cluster, cluster

ENRICHED, PACKED = ("v6_enriched", "sample-kernel@v1.0.0"), ("packed_rows", "base/4k")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster"), workers=1) as started:
        yield started


@pytest.fixture
def corpus(small_line: Path, tmp_path: Path, running: Cluster, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    """The corpus of the small line in a root of its own. Steps that travel can be made on a worker only."""
    running.grow(1)
    shutil.copytree(small_line, tmp_path / "data", symlinks=True)
    monkeypatch.setenv(COMPUTE_VARIABLE, running.address)
    monkeypatch.setattr(Step, "run", None)
    return open_corpus(tmp_path / "data", SMALL_DATASET)


def without_artifact(corpus: Corpus, stage: str, partition: str) -> tuple[Step, Manifest]:
    """The step with no artifact, and the manifest that it had."""
    step = step_of(corpus, stage, partition)
    artifact = open_artifact(corpus.root, step.target().path)
    shutil.rmtree(artifact.directory)
    return step, artifact.manifest


def on_workers(monkeypatch: pytest.MonkeyPatch, changed: Callable[[Any], Any]) -> None:
    """Have workers run `changed(function)` in place of a function."""
    run = DaskPool.run
    monkeypatch.setattr(
        DaskPool, "run", lambda pool, function, batches, **options: run(pool, changed(function), batches, **options)
    )


def test_a_worker_enriches_and_packs_with_the_manifests_of_this_machine(corpus: Corpus) -> None:
    for stage, partition in (ENRICHED, PACKED):
        step, expected = without_artifact(corpus, stage, partition)
        done = execute(step)
        assert done.receipt.passed
        assert (done.receipt.children_cpu_seconds or 0) > 0.1  # of the worker's process
        assert done.artifact.verify().manifest.to_bytes() == expected.to_bytes()


def test_a_step_whose_worker_is_killed_is_made_by_another(
    corpus: Corpus, running: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running.grow(2)
    on_workers(monkeypatch, lambda function: AfterKillingOneWorker(function, str(tmp_path)))
    step, expected = without_artifact(corpus, *ENRICHED)
    assert execute(step).artifact.manifest.to_bytes() == expected.to_bytes()
    assert running.killed() == 1


def test_a_worker_with_other_software_makes_no_step(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask, "software", lambda: "python 2.7.18")
    step, _ = without_artifact(corpus, *ENRICHED)
    with pytest.raises(EnvironmentLacks, match=r"expected python 2\.7\.18; found python 3.*same versions"):
        execute(step)
    assert find_artifact(corpus.root, step.target().path) is None


def test_an_error_of_a_step_on_a_worker_is_that_of_this_machine(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    rare = dict.fromkeys(("sample-format", "sample-kernel"), 1e-9)
    step = step_of(replace(corpus, recipe=replace(corpus.recipe, specialists={"rare": rare})), PACKED[0], "rare/4k")
    with pytest.raises(SpecError, match="at least one training document") as there:
        execute(step)
    monkeypatch.undo()
    with pytest.raises(SpecError) as here:
        execute(step)
    assert there.value.lines() == here.value.lines() and "\n" in here.value.lines()


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"fingerprint": "0" * 64}, EnvironmentLacks, "same versions and the same compiler"),
        ({"files": (FileEntry("shard", 4, "0" * 64),)}, LineageGap, "shard; expected sha256 00"),
        ({"files": (FileEntry("../shard", 4, "0" * 64),)}, LineageGap, "expected a name below the artifact"),
    ],
)
def test_an_answer_that_a_worker_did_not_make_is_rejected(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], error: type[MegacppError], message: str
) -> None:
    step, manifest = without_artifact(corpus, *ENRICHED)
    answer = [replace(manifest, **changed).to_bytes(), b"{}", b"text"]
    on_workers(monkeypatch, lambda function: Answering(answer))
    with pytest.raises(error, match=message):
        execute(step)
    assert not (corpus.root / step.target().path).exists()


def test_a_step_with_larger_inputs_than_what_travels_is_made_here(
    small_line: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(small_line, tmp_path / "data", symlinks=True)
    monkeypatch.setenv(COMPUTE_VARIABLE, "dask://127.0.0.1:9")  # where no scheduler is
    monkeypatch.setattr(cluster_step, "INPUT_BYTES", 0)
    step, expected = without_artifact(open_corpus(tmp_path / "data", SMALL_DATASET), *ENRICHED)
    assert execute(step).artifact.manifest.to_bytes() == expected.to_bytes()
