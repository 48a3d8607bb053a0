"""Opens the inputs of an artifact, which its manifest names."""

from __future__ import annotations

from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.storage.artifact import Artifact, open_artifact


def inputs_of(artifact: Artifact, stage: str) -> list[Artifact]:
    """Return the inputs of `artifact` that `stage` made, at least one, in the manifest's order.

    Raises `LineageGap` if the manifest names no such input, or if one was replaced since it was used.
    """
    opened = [(reference, open_artifact(artifact.root, reference.path)) for reference in artifact.manifest.inputs]
    of_stage = [(reference, found) for reference, found in opened if found.manifest.stage == stage]
    if not of_stage:
        raise LineageGap(artifact.path, expected=f"an input made by {stage}", found="none", do="rerun its stage")
    for reference, found in of_stage:
        if found.manifest.sha256 != reference.manifest_sha256:
            raise LineageGap(
                reference.path,
                expected=f"manifest {reference.manifest_sha256}",
                found=f"manifest {found.manifest.sha256}",
                do=f"rerun {artifact.manifest.stage} {artifact.manifest.partition}",
            )
    return [found for _, found in of_stage]


def input_of(artifact: Artifact, stage: str) -> Artifact:
    """Return the first input of `artifact` that `stage` made. Raises `LineageGap` like `inputs_of`."""
    return inputs_of(artifact, stage)[0]
