"""What Dagster's own event log says was materialized; the audit compares manifests with it."""

from __future__ import annotations

import dagster as dg

from megacpp_assets.defs.keys import key_of
from megacpp_assets.defs.metadata import EARLIER_METADATA, MANIFEST_METADATA
from megacpp_assets.lineage.audit import EventLog

_PAGE = 1000


def event_log(instance: dg.DagsterInstance) -> EventLog:
    """A function (dataset, stage, partition) -> manifest hashes of every materialization recorded for it."""

    def recorded(dataset: str, stage: str, partition: str) -> set[str]:
        key, shown = key_of(dataset, stage, partition)
        records_filter = dg.AssetRecordsFilter(asset_key=key, asset_partitions=[shown] if shown else None)
        hashes: set[str] = set()
        cursor: str | None = None
        while True:
            page = instance.fetch_materializations(records_filter, limit=_PAGE, cursor=cursor)
            for record in page.records:
                hashes |= _hashes(record.asset_materialization)
            if not page.has_more:
                return hashes
            cursor = page.cursor

    return recorded


def _hashes(materialization: dg.AssetMaterialization | None) -> set[str]:
    if materialization is None:
        return set()
    found: set[str] = set()
    for name in (MANIFEST_METADATA, EARLIER_METADATA):
        value = materialization.metadata.get(name)
        if value is not None:
            found |= set(str(value.value).split())
    return found
