"""Dagster's sensor of a data root in a bucket: it pulls what another machine has stored."""

from __future__ import annotations

import dagster as dg

from megacpp_assets.defs.build import build_definitions
from megacpp_assets.storage.artifact import find_artifact, open_artifact
from tests.storage.bucket.conftest import Shared
from tests.storage.bucket.test_root import store_result
from tests.storage.test_publish import RESULT


def test_the_sensor_pulls_what_another_machine_stored(shared: Shared) -> None:
    root = shared.machine("ui")
    made = store_result(shared.machine("worker"))
    definitions = build_definitions(root)
    (sensor,) = definitions.sensors or ()
    assert isinstance(sensor, dg.SensorDefinition) and find_artifact(root, RESULT) is None
    with dg.DagsterInstance.ephemeral() as instance:
        with dg.build_sensor_context(instance, resources=dict(definitions.resources or {})) as context:
            found = sensor(context)
    assert isinstance(found, dg.SkipReason) and found.skip_message == "2 references changed in the bucket"
    assert open_artifact(root, RESULT).manifest == made.manifest
