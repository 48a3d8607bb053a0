"""The job file: all that a training process is told, and the commands that start it."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from megacpp_assets.contract.canonical import canonical_json
from megacpp_assets.contract.partition import Mixture
from megacpp_assets.contract.recipe import TrainingRecipe
from megacpp_assets.training.process import Owner
from megacpp_assets.training.spec import TrainedCheckpointSpec

JOB_FILE: Final = "job.json"
LIVE_METRICS_FILE: Final = "metrics.jsonl"
FAILURE_FILE: Final = "failure.txt"
STORE_FOLDER: Final = "ranks"
"""Beside the job file, of mode 0700: here the processes of a group find each other."""
_TRAINER: Final = "megacpp_assets.training.trainer"
_GROUP: Final = "megacpp_assets.training.group"


@dataclass(frozen=True, slots=True)
class Job:
    """`spec` is what to train, `owner` the process without which there is no reason to go on."""

    spec: TrainedCheckpointSpec
    owner: Owner

    def write(self, directory: Path) -> Path:
        """Store the job in `directory` and return its file."""
        spec = self.spec
        raw = {
            "root": str(spec.root),
            "dataset": spec.dataset,
            "mixture": asdict(spec.mixture),
            "recipe": asdict(spec.recipe),
            "dataset_version": spec.dataset_version,
            "owner": asdict(self.owner),
        }
        file = directory / JOB_FILE
        file.write_bytes(canonical_json(raw))
        return file

    @staticmethod
    def read(file: Path) -> Job:
        """Inverse of `write`."""
        raw = json.loads(file.read_bytes())
        mixture, recipe = Mixture(**raw["mixture"]), TrainingRecipe(**raw["recipe"])
        spec = TrainedCheckpointSpec(Path(raw["root"]), raw["dataset"], mixture, recipe, raw["dataset_version"])
        return Job(spec, Owner(**raw["owner"]))


def command(spec: TrainedCheckpointSpec, job_file: Path) -> list[str]:
    """What starts the job on this machine: its one training process, or the group of several."""
    if spec.recipe.processes == 1:
        return rank_command(job_file, 0)
    return [sys.executable, "-m", _GROUP, "--job", str(job_file)]


def rank_command(job_file: Path, rank: int, parent: int | None = None) -> list[str]:
    """What starts training process `rank` (from 0) of the job; `parent` is the process that is about to start it."""
    tie = [] if parent is None else ["--parent", str(parent)]
    return [sys.executable, "-m", _TRAINER, "--job", str(job_file), "--rank", str(rank), *tie]
