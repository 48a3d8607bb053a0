"""A backfill that Dagster's UI started, whose daemon is killed again and again: each partition is made exactly once.

    PYTHONPATH=. python tests/ui/kill_backfill.py --partitions 100 --kills 20 --work DIR [--postgres]

with SQLite, or with a Postgres server that is started for it. It prints how long the backfill took under the kills, and
how long one over the same partitions, now complete, takes.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import dagster as dg
import psutil
import pytest

from megacpp_assets.contract.recipe.text import load_recipe
from megacpp_assets.defs.home.database import POSTGRES_VARIABLE
from megacpp_assets.defs.home.instance import open_instance
from megacpp_assets.ui.services import DAEMON_MODULE
from tests.pipeline.pins.pinned import pin_corpus
from tests.postgres import Server, postgres
from tests.repos.git_tree import commit, make_repository
from tests.ui.running import Ui, running_ui

STAGES = ("pinned_repos", "curated_files", "semantic_jsonl")
_SOURCE = b"int answer%d(int a) {\n" + b"  a += 1;\n" * 40 + b"  return a;\n}\n"
_RECIPE = """
dataset = "mine"
catalogue = "./catalogue.toml"
repos = ["lib"]
curriculum = ["4k"]

[semantic]
parsed_documents = 0
"""
_STEADY_SECONDS = 12
"""A daemon that ends sooner is taken for one that cannot run."""
_LAUNCH = """mutation Launch($params: LaunchBackfillParams!) {
  launchPartitionBackfill(backfillParams: $params) { __typename
    ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
_STATUS = """query Status($id: String!) { partitionBackfillOrError(backfillId: $id) {
  ... on PartitionBackfill { status error { message } } } }"""


def make_root(folder: Path, releases: int) -> Path:
    """A data root whose dataset `mine` reads the first of so many releases of a tiny repository; Dagster knows all."""
    upstream = folder / "lib"
    make_repository(upstream, {"lib.cc": _SOURCE % 0}, "v1.0")
    for number in range(1, releases):
        commit(upstream, {"lib.cc": _SOURCE % number}, f"v1.{number}")
    (folder / "catalogue.toml").write_text(f'[repo.lib]\nurl = "{upstream}"\nref = "v1.0"\nlicense = "MIT"\n')
    recipe = folder / "mine.toml"
    recipe.write_text(_RECIPE)
    root = folder / "data"
    root.mkdir()
    pin_corpus(root, load_recipe(str(recipe)), ["lib"])
    with open_instance(root) as instance:
        instance.add_dynamic_partitions("repo_ref__mine", partitions(releases))
    return root


def partitions(releases: int) -> list[str]:
    """The keys of the root's partitions."""
    return [f"lib@v1.{number}" for number in range(releases)]


def launch(ui: Ui, keys: list[str]) -> str:
    """Start a backfill of `STAGES` over the partitions `keys`, as the dialog does; its id."""
    assets = [{"path": ["mine", stage]} for stage in STAGES]
    started = ui.graphql(_LAUNCH, params={"assetSelection": assets, "partitionNames": keys})["launchPartitionBackfill"]
    assert "backfillId" in started, started
    return str(started["backfillId"])


def status(ui: Ui, backfill: str) -> str:
    """Dagster's word for where the backfill is."""
    found = ui.graphql(_STATUS, id=backfill)["partitionBackfillOrError"]
    assert not found.get("error"), found
    return str(found["status"])


def daemon_of(ui: Ui) -> psutil.Process | None:
    """The process that runs backfills; None between its end and the start of the next one."""
    for child in psutil.Process(ui.process.pid).children():
        with suppress(psutil.NoSuchProcess):  # one that ended, and was not waited for yet
            if DAEMON_MODULE in child.cmdline():
                return child
    return None


def wait_for_end(ui: Ui, backfill: str, kills: int, seed: int = 0) -> tuple[str, int]:
    """The status in which the backfill ended, and how often its daemon was killed before."""
    draw, killed, age = random.Random(seed), 0, float(_STEADY_SECONDS)
    while (now := status(ui, backfill)) in ("REQUESTED", "CANCELING", "COMPLETED", "FAILING"):
        daemon = daemon_of(ui) if killed < kills else None
        if daemon and time.time() - daemon.create_time() >= age:
            daemon.kill()
            killed, age = killed + 1, _STEADY_SECONDS + draw.uniform(0, 4)
        time.sleep(0.5)
    return now, killed


def materializations(root: Path) -> Counter[tuple[str, str]]:
    """(stage, partition) -> how often Dagster recorded it."""
    found: Counter[tuple[str, str]] = Counter()
    with open_instance(root) as instance:
        for stage in STAGES:
            records = instance.fetch_materializations(dg.AssetKey(["mine", stage]), limit=10_000).records
            found.update((stage, str(record.partition_key)) for record in records)
    return found


@contextmanager
def database(*, on_postgres: bool) -> Iterator[Server | None]:
    """Let Dagster keep its database on a new server within the block, if asked for."""
    if not on_postgres:
        yield None
        return
    with postgres() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv(POSTGRES_VARIABLE, server.create("dagster"))
        yield server


def main() -> None:
    """The command of the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", type=int, default=100)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--postgres", action="store_true")
    asked = parser.parse_args()
    asked.work.mkdir(parents=True)
    with database(on_postgres=asked.postgres):
        _measure(asked)


def _measure(asked: argparse.Namespace) -> None:
    root, keys = make_root(asked.work, asked.partitions), partitions(asked.partitions)
    with running_ui(root) as ui:
        began = time.monotonic()
        ended, killed = wait_for_end(ui, launch(ui, keys), asked.kills)
        first = time.monotonic() - began
        once = materializations(root) == Counter((stage, key) for stage in STAGES for key in keys)
        began = time.monotonic()
        again, _ = wait_for_end(ui, launch(ui, keys), 0)
        second = time.monotonic() - began
    result = {
        "database": "postgres" if asked.postgres else "sqlite",
        "partitions": len(keys),
        "kills": killed,
        "status": ended,
        "each_once": once,
        "seconds": round(first, 1),
    }
    print(json.dumps(result | {"again": again, "seconds_when_complete": round(second, 1)}))


if __name__ == "__main__":
    main()
