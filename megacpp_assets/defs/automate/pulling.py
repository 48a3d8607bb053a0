"""A sensor of a data root in a bucket: it pulls what other machines have stored since this process opened the root."""

# No `from __future__ import annotations` here: Dagster reads the annotations of decorated functions as values.
from pathlib import Path

import dagster as dg
from dagster_gcp.gcs import GCSResource

from megacpp_assets.storage.bucket.root import refresh

RESOURCES = {"gcs": GCSResource()}
"""Google's client for Dagster; its project and credentials come from the environment."""
_PULL_SECONDS = 60


def pull_sensor(root: Path) -> dg.SensorDefinition:
    """Return the sensor of `root`, which is the cache of a bucket. It runs unless it is stopped in the UI."""

    @dg.sensor(
        name="bucket_pull",
        minimum_interval_seconds=_PULL_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Pulls corpus.lock, manifests and receipts from the bucket. Data files follow when they are read.",
    )
    def pull(gcs: GCSResource) -> dg.SkipReason:
        changed = refresh(root, gcs.get_client())
        return dg.SkipReason(f"{changed} references changed in the bucket")

    return pull
