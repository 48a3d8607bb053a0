"""`semantic_jsonl` on a real repository with the real compiler: documents, tables, equal bytes everywhere."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from megacpp_assets.compute.executors.dask import DaskPool
from megacpp_assets.compute.executors.select import COMPUTE_VARIABLE, WORKERS_VARIABLE
from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import DOCUMENT_TOKENS
from megacpp_assets.contract.schemas import JSONL_KEYS
from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.quality.semantic import check
from megacpp_assets.semantic import stage
from megacpp_assets.semantic.commands.toolchain import Toolchain, find_toolchain
from megacpp_assets.semantic.stage import SemanticJsonlSpec, run
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.git_objects import source_files
from megacpp_assets.storage.jsonl import read_records
from megacpp_assets.storage.work import read_work
from tests.compute.dask_cluster import cluster
from tests.semantic.repositories import FILES, semantic_spec
from tests.storage.records import plain_records


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    return find_toolchain()


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("semantic")


@pytest.fixture(scope="module")
def spec(base: Path, toolchain: Toolchain) -> SemanticJsonlSpec:
    return semantic_spec(base, base / "data", toolchain)


@pytest.fixture(scope="module")
def artifact(spec: SemanticJsonlSpec) -> Artifact:
    return run(spec)


def test_records_have_the_contracts_keys_and_the_pins_provenance(artifact: Artifact, spec: SemanticJsonlSpec) -> None:
    records = list(read_records(artifact, DOCUMENT_TOKENS))
    assert len(records) == artifact.manifest.stats["documents"] > 0
    assert all(tuple(record) == JSONL_KEYS for record in records)
    assert {record[c.COMMIT] for record in records} == {spec.commit}
    assert {record[c.LICENSE] for record in records} == {"Apache-2.0"}


def test_calls_are_resolved_across_files(artifact: Artifact) -> None:
    record = next(
        record for record in read_records(artifact, DOCUMENT_TOKENS) if record[c.CHUNK_BOUNDARIES][-1]["name"] == "main"
    )
    names = [chunk["name"] for chunk in record[c.CHUNK_BOUNDARIES]]
    calls = {(names[e["caller_idx"]], names[e["callee_idx"]], e["confidence"]) for e in record[c.CALL_EDGES]}
    assert calls >= {("main", "shape::area", "exact"), ("shape::area", "shape::times", "exact")}


def test_every_check_passes(artifact: Artifact) -> None:
    assert [result for result in check(artifact) if not result.passed] == []


def test_tables_name_symbols_coverage_and_what_was_left_out(artifact: Artifact) -> None:
    symbols = {row["qualified_name"] for row in pq.read_table(artifact.file("symbols.parquet")).to_pylist()}
    files = {row["filepath"]: row for row in pq.read_table(artifact.file("files.parquet")).to_pylist()}
    skipped = {row["filepath"]: row["reason"] for row in pq.read_table(artifact.file("skipped.parquet")).to_pylist()}
    assert {"shape::Box", "shape::Box::width", "shape::area", "shape::times", "main"} <= symbols
    assert {"shape::area::box", "shape", "SIDE"} <= symbols
    assert files["src/main.cc"]["status"] == "clean" and files["src/main.cc"]["documents"] >= 1
    assert files["src/binary.cc"]["reason"] == skipped["src/binary.cc"] == "binary (NUL byte)"


@pytest.mark.parametrize("workers", [pytest.param("1", marks=pytest.mark.campaign), "2"])
def test_another_folder_and_any_number_of_workers_give_the_same_bytes(
    base: Path, toolchain: Toolchain, artifact: Artifact, monkeypatch: pytest.MonkeyPatch, workers: str
) -> None:
    monkeypatch.setenv(WORKERS_VARIABLE, workers)
    other = run(semantic_spec(base, base / "another" / "and" / "longer" / workers, toolchain))
    assert other.manifest.to_bytes() == artifact.manifest.to_bytes()


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.campaign) for seed in (1, 2))])
def test_the_order_in_which_files_and_folders_are_listed_decides_no_byte(
    base: Path, toolchain: Toolchain, artifact: Artifact, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    shuffle = random.Random(seed).shuffle
    listed, walked = source_files, os.walk
    orders: list[list[str]] = []

    def shuffled(raw: Artifact) -> list[SourceFile]:
        files = listed(raw)
        shuffle(files)
        orders.append([file.path for file in files])
        return files

    def walk(*arguments: Any, **options: Any) -> Iterator[tuple[str, list[str], list[str]]]:
        for folder, folders, names in walked(*arguments, **options):
            shuffle(folders)
            shuffle(names)
            yield folder, folders, names

    spec = semantic_spec(base, base / "shuffled" / str(seed), toolchain)
    monkeypatch.setattr(stage, "source_files", shuffled)
    monkeypatch.setattr(os, "walk", walk)
    assert run(spec).manifest.to_bytes() == artifact.manifest.to_bytes()
    assert orders and orders[0] != sorted(orders[0])


def test_a_dask_cluster_gives_the_same_bytes_as_the_local_pool(
    base: Path, toolchain: Toolchain, artifact: Artifact, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spec = semantic_spec(base, base / "dask", toolchain)
    on_cluster: set[str] = set()
    run_there = DaskPool.run

    def noted(pool: DaskPool, function: Any, *batches: Any, **options: Any) -> Any:
        on_cluster.add(function.__name__)
        return run_there(pool, function, *batches, **options)

    monkeypatch.setattr(DaskPool, "run", noted)
    with cluster(tmp_path, workers=2) as running:
        monkeypatch.setenv(COMPUTE_VARIABLE, running.address)
        there = run(spec)
    assert {"parse_batch", "analyse_lot"} <= on_cluster
    assert there.manifest.to_bytes() == artifact.manifest.to_bytes()
    assert read_work(there) == {"units_parsed": 3, "units_reused": 0}


def test_one_parse_gives_the_documents_of_every_budget(base: Path, toolchain: Toolchain, artifact: Artifact) -> None:
    both = run(semantic_spec(base, base / "budgets", toolchain, (4096, 65_536)))
    assert read_work(both) == read_work(artifact) == {"units_parsed": 3, "units_reused": 0}
    assert plain_records(both, 4096) == plain_records(artifact, 4096)
    budgets = both.manifest.stats["budgets"]
    assert {budget: stats["documents"] for budget, stats in budgets.items()} == {
        str(budget): len(list(read_records(both, budget))) for budget in (4096, 65_536)
    }
    assert both.manifest.stats["documents"] == sum(stats["documents"] for stats in budgets.values())
    assert both.file("skipped.parquet").read_bytes() == artifact.file("skipped.parquet").read_bytes()
    assert [result for result in check(both) if not result.passed] == []


def test_a_second_run_touches_no_file(spec: SemanticJsonlSpec, artifact: Artifact) -> None:
    before = {path: path.stat().st_mtime_ns for path in artifact.directory.rglob("*")}
    run(spec)
    assert {path: path.stat().st_mtime_ns for path in artifact.directory.rglob("*")} == before


def test_a_stage_that_finds_every_unit_known_publishes_the_same_bytes(
    base: Path, toolchain: Toolchain, artifact: Artifact
) -> None:
    root = base / "warm"
    first = run(semantic_spec(base, root, toolchain))
    shutil.rmtree(first.directory)
    again = run(semantic_spec(base, root, toolchain))
    assert again.manifest.to_bytes() == first.manifest.to_bytes() == artifact.manifest.to_bytes()
    assert read_work(again) == {"units_parsed": 0, "units_reused": 3}


EDITS = (
    lambda text: b"// One comment more.\n" + text,
    lambda text: text + b"// One at the end.\n",
    lambda text: text + b"inline int more(int given) { const int own = given; return own; }\n",
    lambda text: text + b"#define LATE(x) (x)\n",
    lambda text: text.replace(b"width", b"breadth"),
    lambda text: text.replace(b"int ", b"long ", 1),
    lambda text: text.rpartition(b"}")[0],
    lambda text: b"",
)


@pytest.mark.parametrize(
    ("seed", "turns"), [(0, 3), *(pytest.param(seed, 4, marks=pytest.mark.campaign) for seed in (0, 1))]
)
def test_after_any_edits_what_is_known_from_before_changes_no_byte(
    base: Path, toolchain: Toolchain, seed: int, turns: int
) -> None:
    rng, files, reused = random.Random(seed), dict(FILES), 0
    for turn in range(turns):
        path = rng.choice(["include/shape.h", "src/shape.cc", "src/main.cc"])
        files[path] = rng.choice(EDITS)(files[path])
        place = base / f"edits {seed} {turns} {turn}"
        known = run(semantic_spec(place, base / f"edited {seed} {turns}", toolchain, files=files))
        fresh = run(semantic_spec(place, place / "alone", toolchain, files=files))
        assert known.manifest.to_bytes() == fresh.manifest.to_bytes()
        reused += int(read_work(known)["units_reused"])
    assert reused > 0
