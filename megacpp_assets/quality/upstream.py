"""Walking from an artifact to the ones it was made from, by its own manifest."""

from __future__ import annotations

from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.storage.artifact import Artifact, open_artifact


def input_of(artifact: Artifact, stage: str) -> Artifact:
    """The input of `artifact` that `stage` made; `LineageGap` if there is none, or it is no longer the one used."""
    for reference in artifact.manifest.inputs:
        found = open_artifact(artifact.root, reference.path)
        if found.manifest.stage != stage:
            continue
        if found.manifest.sha256 != reference.manifest_sha256:
            raise LineageGap(
                reference.path,
                expected=f"manifest {reference.manifest_sha256}",
                found=f"manifest {found.manifest.sha256}",
                do=f"rerun {artifact.manifest.stage} {artifact.manifest.partition}",
            )
        return found
    raise LineageGap(artifact.path, expected=f"an input made by {stage}", found="none")
