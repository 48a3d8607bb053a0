"""The sensor of releases and the nightly runs: a new release arrives once, and no run starts unasked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.storage.partition_status_cache import AssetPartitionStatus

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import LineageGap, SpecError
from megacpp_assets.contract.recipe.text import load_recipe
from megacpp_assets.defs.automate.automation import AUTOMATE_VARIABLE
from megacpp_assets.defs.build import build_definitions
from megacpp_assets.defs.home.instance import open_instance
from megacpp_assets.defs.keys import repo_partitions
from megacpp_assets.pipeline.corpus import open_corpus
from megacpp_assets.pipeline.pins.pinning import move_pin
from megacpp_assets.pipeline.steps import RunPlan
from tests.pipeline.pins.pinned import pin_corpus
from tests.pipeline.roots import megacpp_here
from tests.repos.git_tree import commit, git, make_repository

SOURCE = b"int answer(int a) {\n" + b"  a += 1;\n" * 40 + b"  return a;\n}\n"
MORE = SOURCE.replace(b"answer", b"more").replace(b"a += 1", b"a *= 3")
CATALOGUE = """
[repo.lib]
url = "{lib}"
ref = "v1.0"
license = "MIT"
[repo.other]
url = "{other}"
ref = "v1.0"
license = "MIT"
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A data root whose dataset `mine` pins lib@v1.0 and other@v1.0; nothing is made yet."""
    places = {name: tmp_path / name for name in ("lib", "other")}
    for place in places.values():
        make_repository(place, {"lib.cc": SOURCE}, "v1.0")
    (tmp_path / "catalogue.toml").write_text(CATALOGUE.format(**places))
    recipe = tmp_path / "mine.toml"
    recipe.write_text(
        'dataset = "mine"\ncatalogue = "./catalogue.toml"\nrepos = ["lib", "other"]\ncurriculum = ["4k"]\n'
        "[semantic]\nparsed_documents = 0\n"
    )
    data = tmp_path / "data"
    data.mkdir()
    pin_corpus(data, load_recipe(str(recipe)), ["lib", "other"])
    return data


class Ticks:
    """The sensor's ticks, each with the cursor that the one before left."""

    def __init__(self, root: Path, instance: dg.DagsterInstance) -> None:
        self.root, self.instance, self.cursor = root, instance, ""

    def tick(self) -> dg.SensorResult:
        """One evaluation; what it asks of Dagster is done."""
        definitions = build_definitions(self.root)
        context = dg.build_sensor_context(
            instance=self.instance, cursor=self.cursor, repository_def=definitions.get_repository_def()
        )
        with context:
            (sensor,) = definitions.sensors or ()
            result = sensor(context)
        assert isinstance(result, dg.SensorResult)
        self.cursor = result.cursor or ""
        for request in result.dynamic_partitions_requests or ():
            self.instance.add_dynamic_partitions(request.partitions_def_name, request.partition_keys)
        return result

    def requested(self) -> list[str]:
        """The partitions that the next round of both repositories requests."""
        results = [self.tick() for _ in range(2)]
        return [request.partition_key for result in results for request in result.run_requests or ()]


@pytest.fixture
def ticks(root: Path) -> Iterator[Ticks]:
    with open_instance(root) as instance:
        yield Ticks(root, instance)


def test_a_release_that_arrives_is_pinned_and_requested_once(ticks: Ticks, tmp_path: Path) -> None:
    assert not ticks.requested()
    new = commit(tmp_path / "lib", {"more.cc": MORE}, "v1.1")
    assert ticks.requested() == ["lib@v1.1"] and not ticks.requested()
    lock = open_corpus(ticks.root).lock
    assert [(pin.partition.key, pin.commit) for pin in lock.beside] == [("lib@v1.1", new)]
    assert lock.pin("lib").ref == "v1.0"
    assert repo_partitions("mine").get_partition_keys(dynamic_partitions_store=ticks.instance) == ["lib@v1.1"]


def test_a_tick_that_was_cut_off_before_dagster_heard_of_it_asks_again_under_the_same_key(
    ticks: Ticks, tmp_path: Path
) -> None:
    ticks.requested()
    new = commit(tmp_path / "lib", {"more.cc": MORE}, "v1.1")
    before = ticks.cursor
    keys = []
    for _ in range(2):
        ticks.cursor = before
        keys.append([request.run_key for request in ticks.tick().run_requests or ()])
    assert keys == [[f"lib@v1.1 {new}"]] * 2


def test_a_release_whose_last_run_was_cancelled_is_requested_once_more(ticks: Ticks, tmp_path: Path) -> None:
    git(tmp_path / "lib", "tag", "v1.1")
    assert ticks.requested() == ["lib@v1.1"]
    job = build_definitions(ticks.root).resolve_job_def("mine__releases__job")
    asked, other = (
        ticks.instance.create_run_for_job(job, tags={"dagster/partition": f"lib@{tag}"}) for tag in ("v1.1", "v1.0")
    )
    assert not ticks.requested(), "its run waits"
    for run in (asked, other):
        ticks.instance.report_run_canceled(run)
    again = [request for _ in range(2) for request in ticks.tick().run_requests or ()]
    assert [request.run_key.rpartition(" ")[2] for request in again if request.run_key] == [asked.run_id]
    ticks.instance.create_run_for_job(job, tags={"dagster/partition": "lib@v1.1"})
    assert not ticks.requested()


def test_releases_before_the_one_that_mixtures_read_and_candidates_are_not_requested(
    ticks: Ticks, tmp_path: Path
) -> None:
    for tag in ("v0.9", "v1.1-rc1", "nightly", "v1.10", "v1.9"):
        git(tmp_path / "lib", "tag", tag)
    assert ticks.requested() == ["lib@v1.9", "lib@v1.10"]


def test_many_releases_come_a_few_at_a_time(ticks: Ticks, tmp_path: Path) -> None:
    for number in range(1, 7):
        git(tmp_path / "lib", "tag", f"v1.{number}")
    assert [ticks.requested() for _ in range(3)] == [
        [f"lib@v1.{number}" for number in (1, 2, 3, 4)],
        ["lib@v1.5", "lib@v1.6"],
        [],
    ]


def test_a_tag_that_moved_is_reported_once_on_its_partition_and_never_made_again(ticks: Ticks, tmp_path: Path) -> None:
    pinned = open_corpus(ticks.root).pin("lib@v1.0").commit
    moved = commit(tmp_path / "lib", {"lib.cc": SOURCE + b"// other\n"}, "v1.0")
    results = [ticks.tick() for _ in range(4)]
    (event,) = [event for result in results for event in result.asset_events]
    assert (event.asset_key.to_user_string(), event.partition) == ("mine/pinned_repos", "lib@v1.0")
    assert pinned in event.description and moved in event.description
    assert not [request for result in results for request in result.run_requests or ()]
    assert open_corpus(ticks.root).pin("lib@v1.0").commit == pinned


def test_a_source_that_is_gone_is_reported_and_the_others_are_still_asked(ticks: Ticks, tmp_path: Path) -> None:
    (tmp_path / "lib").rename(tmp_path / "gone")
    git(tmp_path / "other", "tag", "v1.1")
    results = [ticks.tick() for _ in range(2)]
    assert [bool(result.skip_reason) for result in results] == [True, False]
    assert "correct the path in the command or in the catalogue" in str(results[0].skip_reason)
    assert [request.partition_key for request in results[1].run_requests or ()] == ["other@v1.1"]


@pytest.mark.parametrize("cursor", ["", "null", "{}", '{"asked": 1, "seen": []}', "1970-01-01T00:00:00"])
def test_any_cursor_that_a_person_sets_is_a_beginning(ticks: Ticks, tmp_path: Path, cursor: str) -> None:
    git(tmp_path / "lib", "tag", "v1.1")
    ticks.cursor = cursor
    assert ticks.requested() == ["lib@v1.1"]


def test_two_daemons_that_tick_at_once_pin_once_and_request_under_one_key(root: Path, tmp_path: Path) -> None:
    git(tmp_path / "lib", "tag", "v1.1")
    with open_instance(root) as instance:
        keys = [[request.run_key for request in Ticks(root, instance).tick().run_requests or ()] for _ in range(2)]
    assert keys[0] == keys[1] and len(keys[0]) == 1
    assert len(open_corpus(root).lock.beside) == 1


def test_nothing_starts_by_itself_unless_it_was_asked_to(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def running() -> set[str]:
        definitions = build_definitions(root)
        parts = [*(definitions.sensors or ()), *(definitions.schedules or ())]
        return {part.name for part in parts if part.default_status.value == "RUNNING"}

    assert not running()
    monkeypatch.setenv(AUTOMATE_VARIABLE, "1")
    assert running() == {"mine__releases", "mine__tips", "mine__backfill"}


def _run(root: Path, job: str, **words: Any) -> dg.ExecuteInProcessResult:
    with open_instance(root) as instance:
        found = build_definitions(root).resolve_job_def(job)
        return found.execute_in_process(instance=instance, raise_on_error=False, **words)


def test_the_tips_run_pins_what_a_branch_names_now_and_makes_it_beside(root: Path, tmp_path: Path) -> None:
    before = move_pin(open_corpus(root), "lib@tip").lock.pin("lib")
    new = commit(tmp_path / "lib", {"more.cc": MORE}, "v1.1")
    done = _run(root, "mine__tips__job")
    assert done.success, [event.message for event in done.all_events if event.is_failure]
    lock = open_corpus(root).lock
    assert lock.pin("lib") == before
    assert f"lib@tip-{new[:12]}" in {pin.partition.key for pin in lock.beside}
    assert (root / "enriched" / "mine" / f"lib@tip-{new[:12]}" / "_COMPLETE").is_file()


@pytest.mark.parametrize("failing", [["references", "mixtures"], ["mixtures"]])
def test_the_run_that_rebuilds_fails_with_its_first_error_and_logs_the_one_that_follows(
    root: Path, monkeypatch: pytest.MonkeyPatch, failing: list[str]
) -> None:
    def run_plan(corpus: Corpus, plan: RunPlan, *rest: object) -> None:
        if (asked := "references" if plan.refs else "mixtures") in failing:
            raise LineageGap(asked, expected="an input", found="none")

    monkeypatch.setattr("megacpp_assets.defs.automate.nightly.run_plan", run_plan)
    done = _run(root, "mine__backfill__job")
    (failure,) = [event for event in done.all_events if event.is_step_failure]
    data = failure.step_failure_data.user_failure_data
    assert data is not None and data.description == f"{failing[0]}; expected an input; found none"
    with open_instance(root) as instance:
        logged = [each.user_message for each in instance.all_logs(done.run_id) if not each.is_dagster_event]
    assert [text for text in logged if "an input" in text] == [
        f"{each}; expected an input; found none" for each in failing[1:]
    ]


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("lib@../../etc", "expected NAME@REF of letters"),
        ("--upload-pack=x@v1", "expected NAME@REF of letters"),
        ("lib@v1,v2", "expected NAME@REF of letters"),
        ("lib@v1\u0007", r"\x07"),
        ("lib@'v1'", "expected NAME@REF of letters"),
        ("https://user:secret@host/lib@v1", "expected NAME@REF of letters"),
        ("stranger@v1", "a pin of stranger"),
    ],
)
def test_a_malformed_partition_is_rejected_in_one_sentence_before_dagster_keeps_it(
    root: Path, key: str, said: str
) -> None:
    with open_instance(root) as instance:
        with pytest.raises(SpecError) as refused:
            instance.add_dynamic_partitions("repo_ref__mine", ["lib@v1.0", key])
        assert said in str(refused.value) and "secret" not in str(refused.value)
        assert instance.get_dynamic_partitions("repo_ref__mine") == []
        instance.add_dynamic_partitions("of_somebody_else", ["any, text"])
    assert not [file for file in root.rglob("*") if file.is_file() and b"user:secret@host" in file.read_bytes()]


def test_a_reference_that_its_source_lacks_is_rejected_before_dagster_keeps_it(root: Path) -> None:
    with open_instance(root) as instance:
        with pytest.raises(SpecError, match=r"lib@v9; expected a tag, .*; found tags v1.0; what to do: name one"):
            instance.add_dynamic_partitions("repo_ref__mine", ["lib@v1.0", "lib@v9"])
        assert instance.get_dynamic_partitions("repo_ref__mine") == []


def test_a_reference_is_added_while_its_source_does_not_answer(root: Path, tmp_path: Path) -> None:
    (tmp_path / "lib").rename(tmp_path / "elsewhere")
    with open_instance(root) as instance:
        instance.add_dynamic_partitions("repo_ref__mine", ["lib@v9"])
        assert instance.get_dynamic_partitions("repo_ref__mine") == ["lib@v9"]


def test_a_reference_that_was_deleted_after_it_was_added_gets_one_sentence_and_the_lock_stays(
    root: Path, tmp_path: Path
) -> None:
    before = (root / "corpus.lock").read_bytes()
    git(tmp_path / "lib", "tag", "v9")
    with open_instance(root) as instance:
        instance.add_dynamic_partitions("repo_ref__mine", ["lib@v9"])
    git(tmp_path / "lib", "tag", "--delete", "v9")
    done = _run(root, "mine__pinned_repos__curated_files__semantic_jsonl__job", partition_key="lib@v9")
    (failure,) = [event for event in done.all_events if event.is_step_failure]
    data = failure.step_failure_data.user_failure_data
    assert data is not None and "lib@v9; expected a tag" in str(data.description)
    assert (root / "corpus.lock").read_bytes() == before
    with open_instance(root) as instance:
        assert instance.get_dynamic_partitions("repo_ref__mine") == []


def test_a_wrong_mixture_in_the_launchpad_is_rejected_before_any_stage_runs(root: Path) -> None:
    config = {"resources": {"asked": {"config": {"mixtures": ["bas/4k"]}}}}
    done = _run(root, "mine__line__job", run_config=config)
    first = next(event for event in done.all_events if event.is_step_failure)
    data = first.step_failure_data.user_failure_data
    assert first.step_key == "pinned_repos" and data is not None and "did you mean `base`?" in str(data.description)
    assert not (root / "cpp_raw").exists()


def test_a_branch_added_in_the_ui_is_not_made_under_a_name_that_moves(root: Path, tmp_path: Path) -> None:
    with open_instance(root) as instance:
        instance.add_dynamic_partitions("repo_ref__mine", ["lib@main"])
    done = _run(root, "mine__pinned_repos__curated_files__semantic_jsonl__job", partition_key="lib@main")
    (failure,) = [event for event in done.all_events if event.is_step_failure]
    stays = f"lib@tip-{git(tmp_path / 'lib', 'rev-parse', 'HEAD')[:12]}"
    data = failure.step_failure_data.user_failure_data
    assert data is not None and f"materialize the partition {stays}" in str(data.description)
    with open_instance(root) as instance:
        assert stays in instance.get_dynamic_partitions("repo_ref__mine")


def _status(root: Path, partition: str) -> AssetPartitionStatus | None:
    """Dagster's word for the partition of the first stage, from which its page takes the colour."""
    with open_instance(root) as instance:
        key = dg.AssetKey(["mine", "pinned_repos"])
        found = instance.get_status_by_partition(key, [partition], repo_partitions("mine"))
    return (found or {})[partition]


def _observations(root: Path) -> list[str]:
    with open_instance(root) as instance:
        records = instance.fetch_observations(dg.AssetKey(["mine", "pinned_repos"]), limit=10).records
    return [str(record.asset_observation.description) for record in records if record.asset_observation]


@pytest.mark.parametrize("asked", ["in the UI", pytest.param("by the command", marks=pytest.mark.campaign)])
def test_what_its_checks_rejected_is_not_shown_as_materialized_and_says_why(
    root: Path, tmp_path: Path, asked: str
) -> None:
    (tmp_path / "lib" / "lib.cc").unlink()
    commit(tmp_path / "lib", {"README": b"gone\n"}, "v1.1")
    with open_instance(root) as instance:
        instance.add_dynamic_partitions("repo_ref__mine", ["lib@v1.0", "lib@v1.1"])
    for tag in ("v1.0", "v1.1"):
        if asked == "in the UI":
            job = "mine__pinned_repos__curated_files__semantic_jsonl__job"
            first = [dg.AssetKey(["mine", "pinned_repos"])]
            done = _run(root, job, partition_key=f"lib@{tag}", asset_selection=first).success
        else:
            done = megacpp_here(root, "run", "--refs", f"lib@{tag}", "--until", "pinned_repos").returncode == 0
        assert done is (tag == "v1.0")
    assert _status(root, "lib@v1.0") is AssetPartitionStatus.MATERIALIZED
    assert _status(root, "lib@v1.1") is AssetPartitionStatus.FAILED
    assert _observations(root) == [
        "built, but its checks failed: has_sources: expected at least one C or C++ file, found 0 of 1 entries"
    ]


def test_the_cursor_says_what_was_dealt_with(ticks: Ticks, tmp_path: Path) -> None:
    new = commit(tmp_path / "lib", {"more.cc": MORE}, "v1.1")
    ticks.tick()
    assert json.loads(ticks.cursor) == {"asked": "lib", "seen": {"lib@v1.1": new}}


def test_the_run_that_the_sensor_requests_makes_every_stage_of_the_release(ticks: Ticks, tmp_path: Path) -> None:
    commit(tmp_path / "lib", {"more.cc": MORE}, "v1.1")
    (request,) = ticks.tick().run_requests or ()
    job = build_definitions(ticks.root).resolve_job_def("mine__releases__job")
    assert job.execute_in_process(instance=ticks.instance, partition_key=request.partition_key).success
    for folder in ("jsonl", "parquet", "enriched"):
        assert (ticks.root / folder / "mine" / "lib@v1.1" / "_COMPLETE").is_file()
