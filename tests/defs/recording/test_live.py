"""A training that runs, as Dagster sees it: its newest metrics, and each attempt that has ended."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import dagster as dg
from dagster import DagsterRun

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.lock.corpus_lock import CorpusLock
from megacpp_assets.contract.recipe.launch import LaunchRecipe
from megacpp_assets.contract.recipe.text import load_recipe
from megacpp_assets.contract.recipe.whole import Recipe
from megacpp_assets.defs.keys import key_of
from megacpp_assets.defs.recording.live import Live
from megacpp_assets.defs.recording.records import DagsterRecords
from megacpp_assets.launch.client import records
from megacpp_assets.launch.client.progress import StepRate
from megacpp_assets.launch.launcher import AttemptOrder
from megacpp_assets.pipeline.steps import Step, step_of
from megacpp_assets.trained.stage import scratch_folder, spec
from megacpp_assets.training.checkpoints.record import StepMetrics
from megacpp_assets.training.job import TrainingJob
from tests.loader.rows_artifact import DATASET
from tests.training.world import tiny_recipe, tiny_root


def tiny_step(root: Path) -> Step:
    recipe: Recipe = replace(load_recipe("sample"), dataset=DATASET, training=tiny_recipe())
    return step_of(Corpus(root, CorpusLock(DATASET, ""), recipe), "trained_checkpoint", "base/4k")


def seen(instance: dg.DagsterInstance) -> list[tuple[str | None, dict[str, object]]]:
    """Description and metadata of each observation of the training, oldest first."""
    key, _ = key_of(DATASET, "trained_checkpoint", "base/4k")
    found = instance.fetch_observations(key, limit=100, ascending=True).records
    events = [each.asset_observation for each in found]
    return [(each.description, {k: v.value for k, v in each.metadata.items()}) for each in events if each]


def test_metrics_and_attempts_are_observed_while_it_trains(tmp_path: Path) -> None:
    root, secret = tiny_root(tmp_path / "root"), "canary-1234"
    step = tiny_step(root)
    asked = spec(step.corpus, step.partition)
    job, launch = TrainingJob.of(asked), LaunchRecipe("kubernetes", settings={"secret": secret}, exchange="gs://b/x")
    records.begin(root, AttemptOrder(job, 1, root.as_uri()), launch)
    metrics = scratch_folder(asked) / "metrics.jsonl"
    metrics.parent.mkdir(parents=True)
    with dg.DagsterInstance.ephemeral() as instance:
        run = instance.add_run(DagsterRun(job_name="job"))
        recorded = DagsterRecords(instance, run, live=Live(pause=0.0))
        recorded.progressed(step)
        assert seen(instance) == [], "nothing was written yet"
        metrics.write_text(StepMetrics(1, 2.5, 100).to_line() + StepMetrics(2, 2.25, 90).to_line() + '{"half a li')
        recorded.progressed(step)
        assert seen(instance) == [("step 2 of 12", {"step": 2, "loss (nats)": 2.25, "tokens of the step": 90})]
        records.end(root, f"{job.name}-1", "preempted: its node was taken away", StepRate(2, 0.5, 100.0, 3.0))
        recorded.progressed(step)
        recorded.progressed(step)
        attempts = [each for each in seen(instance) if "attempt" in str(each[0])]
        figures = {"run": f"{job.name}-1", "launcher": "kubernetes", "tokens a second": 200.0}
        assert attempts == [("attempt 1: preempted: its node was taken away", figures)]
        assert secret not in repr(seen(instance))


def test_no_more_is_observed_than_one_step_in_a_while_and_no_attempt_of_an_earlier_run(tmp_path: Path) -> None:
    root = tiny_root(tmp_path / "root")
    step = tiny_step(root)
    asked = spec(step.corpus, step.partition)
    order = AttemptOrder(TrainingJob.of(asked), 1, root.as_uri())
    records.begin(root, order, LaunchRecipe())
    records.end(root, order.name, "succeeded")
    metrics = scratch_folder(asked) / "metrics.jsonl"
    metrics.parent.mkdir(parents=True)
    live = Live(_since=(root / records.FOLDER / f"{order.name}.json").stat().st_mtime + 1)
    for number in range(1, 4):
        metrics.write_text("".join(StepMetrics(each, 1.0, 1).to_line() for each in range(1, number + 1)))
        assert len(list(live.progressed(step))) == (number == 1)
