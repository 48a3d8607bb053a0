"""The worker process of a run. It opens the corpus again for each step, because pins may have been added."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from megacpp_assets.compute.executors.select import WORKERS_VARIABLE
from megacpp_assets.compute.gc_disabled import search_for_cycles_rarely
from megacpp_assets.compute.tasks import Task
from megacpp_assets.compute.without_pandas import without_pandas
from megacpp_assets.compute.worker_process import Message, serve
from megacpp_assets.contract.step import Progress
from megacpp_assets.pipeline.cluster_step import travels
from megacpp_assets.pipeline.corpus import open_corpus
from megacpp_assets.pipeline.execute import execute, finished
from megacpp_assets.pipeline.steps import Step, step_of
from megacpp_assets.storage.remote import adopt


def task_of(step: Step, after: frozenset[str], *, retrain: bool) -> Task:
    """Return the task that runs `step`. With `retrain` a tokenizer is trained although one is pinned."""
    payload = {
        "root": str(step.corpus.root),
        "dataset": step.corpus.dataset,
        "stage": step.stage.name,
        "partition": step.partition,
        "retrain": retrain,
    }
    stage = step.stage
    cores = 1 if travels(step) else stage.cores_for(step.corpus.recipe)
    return Task(step.name, payload, after, cores, stage.memory, step.resource)


def run_step(task: Message, progress: Progress) -> dict[str, Any]:
    """Run the step of `task` unless it is finished; return whether it was. Artifact and receipt are on disk."""
    os.environ[WORKERS_VARIABLE] = str(task["cores"])
    corpus = open_corpus(Path(task["root"]), task["dataset"])
    step = step_of(corpus.unpinned() if task["retrain"] else corpus, task["stage"], task["partition"])
    adopt(corpus.root, step.target().path)
    reused = finished(step) is not None
    if not reused:
        execute(step, progress)
    return {"reused": reused}


if __name__ == "__main__":
    search_for_cycles_rarely()
    without_pandas()
    serve(run_step)
