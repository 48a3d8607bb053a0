"""Counts of the work of the run that made an artifact. They are next to its receipt and not part of the artifact."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from megacpp_assets.contract.canonical import canonical_json
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.atomic import write_any
from megacpp_assets.storage.root.layout import RECEIPTS

_MANIFEST = "manifest_sha256"

WORK_SUFFIX: Final = ".work"
"""The end of the names of these records among the receipts, before ".json"."""


def write_work(artifact: Artifact, counts: Mapping[str, int | str]) -> None:
    """Store `counts` of the run that made `artifact`."""
    file = artifact.root / RECEIPTS / f"{artifact.path}{WORK_SUFFIX}.json"
    write_any(file, canonical_json({**counts, _MANIFEST: artifact.manifest.sha256}))


def read_work(artifact: Artifact) -> dict[str, Any]:
    """Return the counts of the run that made exactly this artifact; empty if they are missing or malformed."""
    file = artifact.root / RECEIPTS / f"{artifact.path}{WORK_SUFFIX}.json"
    try:
        counts: dict[str, Any] = json.loads(file.read_bytes())
        return counts if counts.pop(_MANIFEST, None) == artifact.manifest.sha256 else {}
    except (FileNotFoundError, ValueError, TypeError, AttributeError):
        return {}
