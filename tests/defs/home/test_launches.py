"""A run of a partition that does not exist is rejected in one sentence before Dagster stores it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.text import load_recipe
from megacpp_assets.defs.build import build_definitions
from megacpp_assets.defs.home.database import POSTGRES_VARIABLE
from megacpp_assets.defs.home.instance import open_instance
from megacpp_assets.defs.keys import asset_key
from tests.pipeline.pins.pinned import pin_corpus
from tests.postgres import Server, server
from tests.repos.git_tree import make_repository

__all__ = ["server"]

CATALOGUE = '[repo.lib]\nurl = "{lib}"\nref = "v1.0"\nlicense = "MIT"\n'
RECIPE = 'dataset = "mine"\ncatalogue = "./catalogue.toml"\nrepos = ["lib"]\ncurriculum = ["4k"]\n'
SOURCES = "mine__pinned_repos__curated_files__semantic_jsonl__job"
MIXTURES = "mine__4k__packed_rows__megatron_bin_idx__trained_checkpoint__job"


class Launches:
    """A data root whose dataset `mine` pins lib@v1.0, and the runs that Dagster is asked to store there."""

    def __init__(self, root: Path, instance: dg.DagsterInstance) -> None:
        self.root, self.instance = root, instance

    def launch(self, job: str, partition: str | None = None, *stages: str, phase: str = "") -> str:
        """Return the status of the new run, or the sentence by which it is rejected."""
        selection = {asset_key("mine", stage, phase) for stage in stages} or None
        tags = {} if partition is None else {"dagster/partition": partition}
        made = build_definitions(self.root).resolve_job_def(job)
        before = self.instance.get_runs_count()
        try:
            run = self.instance.create_run_for_job(made, tags=tags, asset_selection=selection)
        except SpecError as error:
            assert self.instance.get_runs_count() == before
            return str(error)
        return run.status.value


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make_repository(tmp_path / "lib", {"lib.cc": b"int answer() { return 42; }\n"}, "v1.0")
    (tmp_path / "catalogue.toml").write_text(CATALOGUE.format(lib=tmp_path / "lib"))
    (tmp_path / "mine.toml").write_text(RECIPE)
    (tmp_path / "data").mkdir()
    pin_corpus(tmp_path / "data", load_recipe(str(tmp_path / "mine.toml")), ["lib"])
    return tmp_path / "data"


@pytest.fixture
def launches(root: Path) -> Iterator[Launches]:
    with open_instance(root) as instance:
        instance.add_dynamic_partitions("repo_ref__mine", ["lib@v1.0"])
        yield Launches(root, instance)


def test_a_run_of_an_unknown_reference_is_rejected_and_the_known_one_is_named(launches: Launches) -> None:
    assert launches.launch(SOURCES, "lib@v1.1", "pinned_repos") == (
        "partition of mine/pinned_repos 'lib@v1.1'; did you mean `lib@v1.0`?; found an unknown name; "
        "what to do: choose a partition of the list, or first add the reference to it"
    )
    assert launches.launch(SOURCES, "lib@v1.0", "pinned_repos") == "NOT_STARTED"


def test_a_run_of_an_unknown_specialist_is_rejected_and_the_known_ones_are_named(launches: Launches) -> None:
    assert launches.launch(MIXTURES, "nobody", "packed_rows", phase="4k") == (
        "partition of mine/4k/packed_rows 'nobody'; expected one of base; found an unknown name; "
        "what to do: choose a partition of the list"
    )
    assert launches.launch(MIXTURES, "base", "packed_rows", phase="4k") == "NOT_STARTED"


@pytest.mark.parametrize("stages", [("semantic_jsonl",), ()])
def test_a_run_without_a_partition_is_rejected_where_its_assets_need_one(
    launches: Launches, stages: tuple[str, ...]
) -> None:
    said = launches.launch(SOURCES, None, *stages)
    assert said.endswith(
        "expected a partition; found none; what to do: choose a partition of the list, or first add the reference to it"
    )
    assert launches.launch("mine__tokenizer__job", None, "tokenizer") == "NOT_STARTED"


def test_a_run_of_a_whole_job_is_judged_by_the_assets_of_the_job(launches: Launches) -> None:
    assert "partition of mine/pinned_repos 'other@v9'" in launches.launch(SOURCES, "other@v9")
    assert launches.launch(SOURCES, "lib@v1.0") == "NOT_STARTED"


def test_a_run_of_another_job_is_not_judged(launches: Launches) -> None:
    assert launches.launch("mine__line__job") == launches.launch("quality__job") == "NOT_STARTED"
    assert launches.launch("mine__releases__job", "lib@v1.1") == "NOT_STARTED"


def test_a_run_of_an_unknown_reference_is_rejected_on_a_postgres_server_too(
    root: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(POSTGRES_VARIABLE, server.create("launches"))
    with open_instance(root) as instance:
        instance.add_dynamic_partitions("repo_ref__mine", ["lib@v1.0"])
        launches = Launches(root, instance)
        assert "did you mean `lib@v1.0`?" in launches.launch(SOURCES, "lib@v1.1", "pinned_repos")
        assert launches.launch(SOURCES, "lib@v1.0", "pinned_repos") == "NOT_STARTED"
    server.drop("launches")
