"""A job: what to train, described by identities, so that it means the same on every machine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from megacpp_assets.contract.canonical import canonical_json, sha256_bytes
from megacpp_assets.contract.errors import LineageGap, SpecError
from megacpp_assets.contract.partition import Mixture
from megacpp_assets.contract.recipe.training import TrainingRecipe
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.training.spec import VERSION, TrainedCheckpointSpec, input_paths

JOB_FILE: Final = "job.json"
LIVE_METRICS_FILE: Final = "metrics.jsonl"
FAILURE_FILE: Final = "failure.txt"
STORE_FOLDER: Final = "ranks"
"""A folder next to the job file, of mode 0700, where the processes of a group find each other."""


@dataclass(frozen=True, slots=True)
class TrainingJob:
    """A training to run. A job has no path, process or command of the machine that requests the training.

    `root` is the URI of the data root. `inputs` has the sha256 of the manifest of each input. `version` is the version
    of the training stage.
    """

    root: str
    dataset: str
    mixture: Mixture
    recipe: TrainingRecipe
    dataset_version: str
    inputs: Mapping[str, str]
    phase_before: str = ""
    version: str = VERSION

    @staticmethod
    def of(spec: TrainedCheckpointSpec) -> TrainingJob:
        """Return the job that makes the last checkpoint of `spec`. `LineageGap` if an input is missing."""
        return TrainingJob.over(
            spec, {path: open_artifact(spec.root, path).manifest.sha256 for path in input_paths(spec)}
        )

    @staticmethod
    def over(spec: TrainedCheckpointSpec, inputs: Mapping[str, str]) -> TrainingJob:
        """Return the same job for the given `inputs`."""
        root = spec.root.resolve().as_uri()
        return TrainingJob(
            root, spec.dataset, spec.mixture, spec.recipe, spec.dataset_version, inputs, spec.phase_before
        )

    @property
    def name(self) -> str:
        """The name of the job, a hash of its contents: 30 lower-case letters, digits and '-', starting with a
        letter.
        """
        return f"megacpp-{sha256_bytes(self.to_bytes())[:22]}"

    def spec(self) -> TrainedCheckpointSpec:
        """Return the spec of the training in the root, which must be a folder of this machine.

        `LineageGap` if an input differs from the one in the job, `SpecError` if the job was made by another version.
        """
        if self.version != VERSION:
            do = "install the same release of megacpp_assets on both sides"
            raise SpecError(f"job {self.name}", expected=f"version {VERSION} of training", found=self.version, do=do)
        spec = TrainedCheckpointSpec(
            self.folder,
            self.dataset,
            self.mixture,
            self.recipe,
            self.dataset_version,
            phase_before=self.phase_before,
        )
        for path, expected in self.inputs.items():
            found = open_artifact(spec.root, path).manifest.sha256
            if found != expected:
                raise LineageGap(path, expected=f"the manifest {expected} that the job names", found=found)
        return spec

    @property
    def folder(self) -> Path:
        """Return the root as a folder. `SpecError` if its URI is not `file:///`."""
        parts = urlsplit(self.root)
        if parts.scheme != "file" or parts.netloc:
            raise SpecError("root of the job", expected="a file:/// URI", found=self.root)
        return Path(unquote(parts.path))

    def to_bytes(self) -> bytes:
        """Return canonical JSON."""
        return canonical_json(asdict(self))

    @staticmethod
    def from_bytes(data: bytes) -> TrainingJob:
        """Parse the output of `to_bytes`. `SpecError` if it is not a job."""
        try:
            raw = json.loads(data)
            mixture, recipe = Mixture(**raw.pop("mixture")), TrainingRecipe(**raw.pop("recipe"))
            return TrainingJob(mixture=mixture, recipe=recipe, **raw)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise SpecError("job", expected="a job file of this version", found=str(error)) from error
