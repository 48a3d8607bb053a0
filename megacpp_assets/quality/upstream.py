"""Walking from an artifact to the ones it was made from, by its own manifest."""

from __future__ import annotations

from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.storage.artifact import Artifact, open_artifact


def inputs_of(artifact: Artifact, stage: str) -> list[Artifact]:
    """The inputs of `artifact` that `stage` made, in the manifest's order.

    `LineageGap` if there is none, or one is no longer the one that was used.
    """
    opened = [(reference, open_artifact(artifact.root, reference.path)) for reference in artifact.manifest.inputs]
    made = [(reference, found) for reference, found in opened if found.manifest.stage == stage]
    if not made:
        raise LineageGap(artifact.path, expected=f"an input made by {stage}", found="none", do="rerun its stage")
    for reference, found in made:
        if found.manifest.sha256 != reference.manifest_sha256:
            raise LineageGap(
                reference.path,
                expected=f"manifest {reference.manifest_sha256}",
                found=f"manifest {found.manifest.sha256}",
                do=f"rerun {artifact.manifest.stage} {artifact.manifest.partition}",
            )
    return [found for _, found in made]


def input_of(artifact: Artifact, stage: str) -> Artifact:
    """The first input of `artifact` that `stage` made; `LineageGap` as for `inputs_of`."""
    return inputs_of(artifact, stage)[0]
