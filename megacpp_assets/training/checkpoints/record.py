"""The records in a checkpoint: its configuration and the loss of every step. This module does not import torch."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from megacpp_assets.contract.canonical import canonical_json
from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.contract.manifest import Manifest
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.training.inputs import DataIdentity

MODEL: Final = "model"
OPTIMIZER: Final = "optimizer"
INDEX_FILE: Final = "shards.json"
CONFIG_FILE: Final = "config.json"
METRICS_FILE: Final = "metrics.jsonl"


def shard_file(kind: str, number: int) -> str:
    """Return the file name of shard `number` (from 0) of `kind`, which is `MODEL` or `OPTIMIZER`."""
    return f"{kind}_{number:05}.safetensors"


def weights_sha256(manifest: Manifest) -> str:
    """Return the hashes of the weights' shards; "" if the manifest lists none."""
    return " ".join(entry.sha256 for entry in manifest.files if entry.name.startswith(f"{MODEL}_"))


@dataclass(frozen=True, slots=True)
class CheckpointConfig:
    """`config.json`: recipe, data, the model's shape, the step. `torch` is its version without the build suffix."""

    dataset: str
    mixture: str
    step: int
    recipe: Mapping[str, Any]
    model: Mapping[str, Any]
    data: DataIdentity
    torch: str

    def to_bytes(self) -> bytes:
        """Return canonical JSON."""
        return canonical_json(asdict(self))

    @staticmethod
    def from_bytes(data: bytes, where: str) -> CheckpointConfig:
        """Parse a record. `LineageGap` that names `where` if it is malformed."""
        try:
            raw = json.loads(data)
            raw["data"] = DataIdentity(**raw["data"])
            return CheckpointConfig(**raw)
        except (ValueError, KeyError, TypeError) as error:
            raise LineageGap(where, expected="a checkpoint's configuration", found=str(error)) from error


@dataclass(frozen=True, slots=True)
class StepMetrics:
    """Step number from 1, mean loss in nats over the tokens trained on, and the number of those tokens."""

    step: int
    loss: float
    tokens: int

    def to_line(self) -> str:
        """Return one JSON line. The hexadecimal loss is exact; the decimal one is for people."""
        record = {"loss": self.loss, "loss_hex": self.loss.hex(), "step": self.step, "tokens": self.tokens}
        return json.dumps(record, sort_keys=True) + "\n"


def parse_metrics(data: bytes, where: str) -> list[StepMetrics]:
    """Parse a metrics file. `LineageGap` that names `where` if a line is malformed."""
    try:
        records = [json.loads(line) for line in data.splitlines()]
        return [StepMetrics(int(r["step"]), float.fromhex(r["loss_hex"]), int(r["tokens"])) for r in records]
    except (ValueError, KeyError, TypeError) as error:
        raise LineageGap(where, expected="one JSON object a step", found=str(error)) from error


def read_config(checkpoint: Artifact) -> CheckpointConfig:
    """Return the configuration of a published checkpoint."""
    return CheckpointConfig.from_bytes(checkpoint.file(CONFIG_FILE).read_bytes(), f"{checkpoint.path}/{CONFIG_FILE}")


def read_metrics(checkpoint: Artifact) -> list[StepMetrics]:
    """Return the steps that led to a published checkpoint, in order."""
    return parse_metrics(checkpoint.file(METRICS_FILE).read_bytes(), f"{checkpoint.path}/{METRICS_FILE}")


def quarter_losses(losses: Sequence[float]) -> tuple[float, float]:
    """Return the mean loss of the first and of the last quarter of the steps (at least one step each)."""
    quarter = max(1, len(losses) // 4)
    return math.fsum(losses[:quarter]) / quarter, math.fsum(losses[-quarter:]) / quarter


def loss_fell(losses: Sequence[float]) -> bool:
    """Return whether the last quarter of the steps is better than the first; false if a loss is not a number."""
    if not losses:
        return False
    first, last = quarter_losses(losses)
    return last < first
