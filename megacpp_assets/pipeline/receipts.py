"""Receipts: what a step cost and whether its checks passed. They are facts about this machine, so they stay apart
from the data.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from megacpp_assets.contract.canonical import canonical_json
from megacpp_assets.contract.step import CheckResult
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.atomic import write_any
from megacpp_assets.storage.root.layout import RECEIPTS


@dataclass(frozen=True, slots=True)
class Receipt:
    """The cost and the checks of one step.

    Attributes:
        manifest_sha256: Of the checked artifact.
        seconds: Elapsed seconds.
        peak_bytes: Peak resident bytes of all processes on this machine together.
        cpu_seconds: CPU seconds of the process that ran the step; None in receipts of versions before it was measured.
        children_cpu_seconds: CPU seconds of its child processes that ended in the step, and of the worker of a cluster
            that made it; None likewise.
    """

    manifest_sha256: str
    seconds: float
    peak_bytes: int
    checks: tuple[CheckResult, ...]
    cpu_seconds: float | None = None
    children_cpu_seconds: float | None = None

    @property
    def passed(self) -> bool:
        """Whether every blocking check passed."""
        return not self.failures

    @property
    def check_names(self) -> frozenset[str]:
        """The names of its checks."""
        return frozenset(check.name for check in self.checks)

    @property
    def failures(self) -> tuple[CheckResult, ...]:
        """The blocking checks that did not pass."""
        return tuple(check for check in self.checks if check.blocking and not check.passed)

    @property
    def warnings(self) -> tuple[CheckResult, ...]:
        """The other checks that did not pass."""
        return tuple(check for check in self.checks if not check.blocking and not check.passed)


def write_receipt(artifact: Artifact, receipt: Receipt) -> None:
    """Store the receipt below `receipts/`, outside of the artifact."""
    write_any(_path(artifact.root, artifact.path), canonical_json(asdict(receipt)))


def read_receipt(artifact: Artifact) -> Receipt | None:
    """Return the receipt of exactly this artifact.

    None if the artifact was never checked or has changed since, or if the receipt is malformed.
    """
    try:
        raw = json.loads(_path(artifact.root, artifact.path).read_bytes())
        checks: Sequence[dict[str, object]] = raw.pop("checks")
        receipt = Receipt(checks=tuple(CheckResult(**check) for check in checks), **raw)  # type: ignore[arg-type]
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return receipt if receipt.manifest_sha256 == artifact.manifest.sha256 else None


def _path(root: Path, path: str) -> Path:
    return root / RECEIPTS / f"{path}.json"
