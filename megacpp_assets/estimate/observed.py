"""What finished steps of a data root took: one observation a step whose receipt has CPU seconds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.estimate.sizes import Size, pinned_size
from megacpp_assets.lineage.whole import artifact_paths
from megacpp_assets.pipeline.receipts import read_receipt
from megacpp_assets.pipeline.stages import INDEX, SOURCES, STAGES, Kind
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.root.layout import RECEIPTS
from megacpp_assets.storage.work import read_work


@dataclass(frozen=True, slots=True)
class Observation:
    """A finished step: its `features` (`Size.features` for a repository, else one step and a million of what it read)
    and what it took. `serial_seconds` are CPU seconds of its own process, `cpu_seconds` also those of its workers.
    `measured` is the day, in ISO form.
    """

    stage: str
    partition: str
    features: tuple[float, ...]
    cpu_seconds: float
    serial_seconds: float
    peak_bytes: int
    stored_bytes: int
    tokens: int
    measured: str


def pinned_sizes(root: Path) -> dict[str, Size]:
    """Return the size of each pinned repository of the data root, by `NAME@REF`."""
    sizes = (pinned_size(artifact) for artifact in _artifacts(root) if artifact.manifest.stage == SOURCES)
    return {size.name: size for size in sizes}


def observations(root: Path, sizes: Mapping[str, Size]) -> list[Observation]:
    """Return an observation of each finished step that has CPU seconds; `sizes` are those of its repositories.

    A step that found parsed units in the cache is left out: it took less than its text does.
    """
    found = (_observation(artifact, sizes) for artifact in _artifacts(root))
    return [each for each in found if each is not None]


def _observation(artifact: Artifact, sizes: Mapping[str, Size]) -> Observation | None:
    manifest, receipt = artifact.manifest, read_receipt(artifact)
    features = _features(artifact, sizes)
    if receipt is None or receipt.cpu_seconds is None or receipt.children_cpu_seconds is None or features is None:
        return None
    if manifest.stage == INDEX and read_work(artifact).get("units_reused", 1):
        return None
    return Observation(
        manifest.stage,
        manifest.partition,
        features,
        receipt.cpu_seconds + receipt.children_cpu_seconds,
        receipt.cpu_seconds,
        receipt.peak_bytes,
        sum(file.bytes for file in manifest.files),
        int(manifest.stats.get("tokens", 0)),
        _day(artifact),
    )


def _features(artifact: Artifact, sizes: Mapping[str, Size]) -> tuple[float, ...] | None:
    """Return what the costs of the step are a sum of; None for a stage that is not estimated, or of an unknown
    repository.
    """
    manifest = artifact.manifest
    stage = STAGES.get(manifest.stage)
    if stage is None:
        return None
    if stage.kind is Kind.REPOSITORY:
        size = sizes.get(manifest.partition)
        return size.features if size else None
    read = manifest.stats.get("bytes" if stage.kind is Kind.DATASET else "tokens", 0)
    return 1.0, float(read) / 1e6


def _day(artifact: Artifact) -> str:
    written = (artifact.root / RECEIPTS / f"{artifact.path}.json").stat().st_mtime
    return datetime.fromtimestamp(written, UTC).date().isoformat()


def _artifacts(root: Path) -> Iterator[Artifact]:
    """Yield every complete artifact on the disk, by stage and path. A damaged one is skipped."""
    for path in artifact_paths(root):
        with suppress(LineageGap):
            yield open_artifact(root, path)
