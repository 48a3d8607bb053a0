"""Private names of Dagster that we need because it has no public ones. No other module of `defs` imports
`dagster._…`.

Check this list when Dagster is upgraded.
"""

from __future__ import annotations

# Dagster compares these to say that an asset is out of date. It writes the tags for assets that emit their own events.
from dagster._core.definitions.data_version import (
    DATA_VERSION_IS_USER_PROVIDED_TAG,
    NULL_EVENT_POINTER,
    get_input_data_version_tag,
    get_input_event_pointer_tag,
)

# With this metadata Dagster does not record an output as a second materialization.
from dagster._core.definitions.source_asset import SYSTEM_METADATA_KEY_SOURCE_ASSET_OBSERVATION

# Contents of events, for runs and steps that write to the event log themselves.
from dagster._core.events import (
    AssetMaterializationPlannedData,
    AssetObservationData,
    ComputeLogsCaptureData,
    StepMaterializationData,
)
from dagster._core.execution.plan.objects import StepFailureData, StepSuccessData

# The code location of a run: without it the UI finds neither the run's job nor its place on the timeline.
from dagster._core.remote_origin import (
    ManagedGrpcPythonEnvCodeLocationOrigin,
    RemoteJobOrigin,
    RemoteRepositoryOrigin,
)
from dagster._core.storage.base_storage import DagsterStorage
from dagster._core.storage.compute_log_manager import CapturedLogContext, ComputeIOType
from dagster._core.storage.event_log import SqlEventLogStorage, SqliteEventLogStorage
from dagster._core.storage.event_log.sqlite.sqlite_event_log import INDEX_SHARD_NAME
from dagster._core.storage.local_compute_log_manager import LocalComputeLogManager
from dagster._core.storage.runs import SqliteRunStorage, SqlRunStorage
from dagster._core.storage.sqlite_storage import DagsterSqliteStorage
from dagster._core.storage.tags import BACKFILL_ID_TAG, MAX_RETRIES_TAG, PARTITION_NAME_TAG, WILL_RETRY_TAG
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._serdes import ConfigurableClassData
from dagster_shared.error import SerializableErrorInfo

__all__ = [
    "BACKFILL_ID_TAG",
    "DATA_VERSION_IS_USER_PROVIDED_TAG",
    "INDEX_SHARD_NAME",
    "MAX_RETRIES_TAG",
    "NULL_EVENT_POINTER",
    "PARTITION_NAME_TAG",
    "SYSTEM_METADATA_KEY_SOURCE_ASSET_OBSERVATION",
    "WILL_RETRY_TAG",
    "AssetMaterializationPlannedData",
    "AssetObservationData",
    "CapturedLogContext",
    "ComputeIOType",
    "ComputeLogsCaptureData",
    "ConfigurableClassData",
    "DagsterSqliteStorage",
    "DagsterStorage",
    "LoadableTargetOrigin",
    "LocalComputeLogManager",
    "ManagedGrpcPythonEnvCodeLocationOrigin",
    "RemoteJobOrigin",
    "RemoteRepositoryOrigin",
    "SerializableErrorInfo",
    "SqlEventLogStorage",
    "SqlRunStorage",
    "SqliteEventLogStorage",
    "SqliteRunStorage",
    "StepFailureData",
    "StepMaterializationData",
    "StepSuccessData",
    "get_input_data_version_tag",
    "get_input_event_pointer_tag",
]
