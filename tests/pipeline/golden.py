"""What each stage made of the small sample, as one hash beside the stage's `VERSION`.

After a deliberate change of bytes raise the stage's `VERSION`, then write the new hashes:
`python tests/pipeline/golden.py --write` (it runs the small sample in a temporary folder).
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from roots import run_small

from megacpp_assets.contract.canonical import canonical_json, sha256_bytes
from megacpp_assets.contract.columns import MANIFEST_FILE
from megacpp_assets.contract.recipe.text import load_recipe
from megacpp_assets.contract.sources.source_file import OBJECTS
from megacpp_assets.pipeline.stages import stages_of
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.training.checkpoints.record import MODEL
from megacpp_assets.training.checkpoints.shards import Shards

STAGES = stages_of(load_recipe("sample"))
GOLDEN = Path(__file__).with_name("golden.json")

Golden = dict[str, dict[str, str]]


def golden_of(root: Path) -> Golden:
    """Stage -> its `VERSION` and the hash of what it left in `root`."""
    made: dict[str, list[list[object]]] = {stage.name: [] for stage in STAGES}
    for artifact in _artifacts(root):
        made[artifact.manifest.stage] += [[artifact.path, *fact] for fact in _facts(artifact)]
    return {
        stage.name: {
            "version": stage.implementation.VERSION,
            "sha256": sha256_bytes(canonical_json(sorted(made[stage.name]))),
        }
        for stage in STAGES
    }


def same_versions(before: Golden, made: Golden) -> list[str]:
    """Return the stages whose bytes changed although their `VERSION` and those of the stages before them did not."""
    found: list[str] = []
    for stage, new in made.items():
        old = before.get(stage, new)
        if old["version"] != new["version"]:
            break
        found += [stage] if old["sha256"] != new["sha256"] else []
    return found


def _artifacts(root: Path) -> Iterator[Artifact]:
    for manifest in sorted(root.rglob(MANIFEST_FILE)):
        yield open_artifact(root, manifest.parent.relative_to(root).as_posix())


def _facts(artifact: Artifact) -> Iterator[list[object]]:
    """Everything that code decides: git packs as its release likes, and a CPU rounds as its instructions do."""
    if artifact.manifest.stage == "trained_checkpoint":
        yield from ([name, list(whole.shape)] for name, whole in sorted(Shards(artifact).tensors(MODEL).items()))
        return
    for entry in artifact.manifest.files:
        if not entry.name.startswith(f"{OBJECTS}/"):
            yield [entry.name, entry.sha256]


if __name__ == "__main__" and sys.argv[1:] == ["--write"]:
    with tempfile.TemporaryDirectory() as folder:
        run_small(Path(folder) / "data")
        made = golden_of(Path(folder) / "data")
        if GOLDEN.exists() and (same := same_versions(json.loads(GOLDEN.read_text()), made)):
            do = f"raise the VERSION of each, or delete {GOLDEN.name} if the sample changed"
            sys.exit(f"error: other bytes with the same VERSION: {', '.join(same)}; what to do: {do}")
        GOLDEN.write_text(json.dumps(made, indent=2) + "\n")
