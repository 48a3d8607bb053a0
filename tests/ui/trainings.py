"""A training that Dagster can start at once, and that nobody waits for the end of."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import psutil

from megacpp_assets.contract.recipe.text import load_recipe
from megacpp_assets.contract.step import CheckResult
from megacpp_assets.pipeline.receipts import Receipt, write_receipt
from megacpp_assets.pipeline.stages import STAGES
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.root import layout
from tests.cli.test_launch import write_recipe
from tests.loader.rows_artifact import DATASET, MIXTURE
from tests.pipeline.pins.pinned import pin_corpus
from tests.training.world import tiny_root
from tests.ui.running import LAUNCH, Ui, status_of, wait_for

TRAINER, WORKER = "megacpp_assets.training.trainer", "megacpp_assets.pipeline.worker"
CHECKPOINTS = f"checkpoints/{DATASET}/{MIXTURE.key}"
EXECUTION = {
    "selector": {
        "repositoryLocationName": "megacpp_assets.definitions",
        "repositoryName": "__repository__",
        "jobName": f"{DATASET}__4k__packed_rows__megatron_bin_idx__trained_checkpoint__job",
        "assetSelection": [{"path": [DATASET, "4k", "trained_checkpoint"]}],
    },
    "runConfigData": {},
    "executionMetadata": {
        "tags": [
            {"key": "dagster/partition", "value": MIXTURE.specialist},
            {"key": "dagster/max_retries", "value": "0"},  # a run that is killed is not started again
        ]
    },
}


def add_training(root: Path) -> Path:
    """`root` with the tiny rows, taken as checked, pinned under a recipe of a million steps."""
    recipe = write_recipe(root.parent, steps=1_000_000, save_every=50, validation_rows=0)
    tiny_root(root)
    taken = {"megatron_bin_idx": layout.megatron_path(DATASET, MIXTURE), "tokenizer": layout.tokenizer_path(DATASET)}
    for stage, path in taken.items():
        artifact = open_artifact(root, path)
        checks = tuple(CheckResult(check.name, True, "", "", True) for check in STAGES[stage].quality.CHECKS)
        write_receipt(artifact, Receipt(artifact.manifest.sha256, seconds=0.0, peak_bytes=0, checks=checks))
    pin_corpus(root, load_recipe(str(recipe)), ["sample-format"], activate=False)
    return root


def launched_training(ui: Ui) -> str:
    return str(ui.graphql(LAUNCH, execution=EXECUTION)["launchRun"]["run"]["runId"])


def newest(root: Path) -> Artifact | None:
    """The newest checkpoint that is whole."""
    sealed = sorted(seal.parent.name for seal in (root / CHECKPOINTS).glob("*/_COMPLETE"))
    return open_artifact(root, f"{CHECKPOINTS}/{sealed[-1]}") if sealed else None


def steps_of(checkpoint: Artifact | None) -> int:
    return int(checkpoint.manifest.stats["steps"]) if checkpoint else 0


def run_that_trains(ui: Ui) -> list[psutil.Process]:
    """The process of the run and all that it started, once its training is there."""
    for process in psutil.Process(ui.process.pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            below = process.children(recursive=True)
            works = any(WORKER in child.cmdline() for child in process.children())
            if works and any(TRAINER in child.cmdline() for child in below):
                return [process, *below]
    return []


def at_work(ui: Ui, root: Path, run_id: str) -> list[psutil.Process]:
    """The processes of the run once it has saved a checkpoint more than there was."""
    before = steps_of(newest(root))
    wait_for(lambda: steps_of(newest(root)) > before or status_of(ui, run_id) == "FAILURE")
    assert steps_of(newest(root)) > before, "the run has failed"
    return list(wait_for(lambda: run_that_trains(ui)))
