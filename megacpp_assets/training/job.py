"""The job: what to train, said in identities, so that it means the same wherever it runs."""

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
"""Beside the job file, of mode 0700: here the processes of a group find each other."""


@dataclass(frozen=True, slots=True)
class Job:
    """`root` is the URI of the data root, `inputs` has the sha256 of the manifest of each artifact that is read, and
    `version` is that of the training code.

    Nothing here is a place, a process or a command of the machine that asks for the training.
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
    def of(spec: TrainedCheckpointSpec) -> Job:
        """The job that makes `spec`'s last checkpoint. `LineageGap` for an input that is missing."""
        return Job.over(spec, {path: open_artifact(spec.root, path).manifest.sha256 for path in input_paths(spec)})

    @staticmethod
    def over(spec: TrainedCheckpointSpec, inputs: Mapping[str, str]) -> Job:
        """The same, of `inputs` as they are given."""
        root = spec.root.resolve().as_uri()
        return Job(root, spec.dataset, spec.mixture, spec.recipe, spec.dataset_version, inputs, spec.phase_before)

    @property
    def name(self) -> str:
        """The same for the same job, another for another: 30 lower-case letters, digits and '-', from a letter on."""
        return f"megacpp-{sha256_bytes(self.to_bytes())[:22]}"

    def spec(self) -> TrainedCheckpointSpec:
        """What to train in the root, which must be a folder of this machine. `LineageGap` if an input is another's,
        `SpecError` if the job was made for other code.
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
        """The root as a folder. `SpecError` for a root elsewhere."""
        parts = urlsplit(self.root)
        if parts.scheme != "file" or parts.netloc:
            raise SpecError("root of the job", expected="a file:/// URI", found=self.root)
        return Path(unquote(parts.path))

    def to_bytes(self) -> bytes:
        """Canonical JSON."""
        return canonical_json(asdict(self))

    @staticmethod
    def from_bytes(data: bytes) -> Job:
        """Inverse of `to_bytes`. `SpecError` for what is no job."""
        try:
            raw = json.loads(data)
            mixture, recipe = Mixture(**raw.pop("mixture")), TrainingRecipe(**raw.pop("recipe"))
            return Job(mixture=mixture, recipe=recipe, **raw)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise SpecError("job", expected="a job file of this version", found=str(error)) from error
