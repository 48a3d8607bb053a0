"""OpenLineage run events of a chain: one completed run per artifact, sources first."""

from __future__ import annotations

import os
import uuid
from datetime import UTC, datetime
from typing import Final

from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import (
    dataset_version_dataset,
    job_type_job,
    output_statistics_output_dataset,
    processing_engine_run,
    tags_run,
)
from openlineage.client.serde import Serde

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.lineage.export.facts import Chain, Link

NAMESPACE: Final = "megacpp_assets"
PRODUCER: Final = "https://pypi.org/project/megacpp-assets"
TIME_VARIABLE: Final = "SOURCE_DATE_EPOCH"
"""Environment variable: time of the events in seconds since 1970, default 0.

Manifests hold no time, so that equal work gives equal bytes.
"""
_RUNS: Final = uuid.uuid5(uuid.NAMESPACE_URL, PRODUCER)


def run_events(chain: Chain) -> bytes:
    """Return one JSON line per artifact; each comes after its inputs. Equal chains give equal bytes."""
    when = _when()
    return "".join(f"{Serde.to_json(_event(chain, link, when))}\n" for link in chain.links).encode()


def _event(chain: Chain, link: Link, when: str) -> RunEvent:
    manifest = link.manifest
    engine = processing_engine_run.ProcessingEngineRunFacet(
        version=manifest.version or "unknown", name=manifest.stage, producer=PRODUCER
    )
    tag_values = {
        "manifest_sha256": link.sha256,
        "fingerprint": manifest.fingerprint,
        "checkpoint": chain.checkpoint.path,
    }
    if chain.tokenizer_commit:
        tag_values["tokenizer_commit"] = chain.tokenizer_commit
    tags = [tags_run.TagsRunFacetFields(key=key, value=value, source=NAMESPACE) for key, value in tag_values.items()]
    run = {"processing_engine": engine, "tags": tags_run.TagsRunFacet(tags=tags, producer=PRODUCER)}
    kind = job_type_job.JobTypeJobFacet(
        processingType="BATCH", integration="MEGACPP", jobType="STAGE", producer=PRODUCER
    )
    return RunEvent(
        eventTime=when,
        producer=PRODUCER,
        eventType=RunState.COMPLETE,
        run=Run(runId=str(uuid.uuid5(_RUNS, link.sha256)), facets=run),
        job=Job(namespace=NAMESPACE, name=f"{manifest.stage}.{link.path}", facets={"jobType": kind}),
        inputs=[_input(entry.path, entry.manifest_sha256) for entry in manifest.inputs],
        outputs=[_output(link)],
    )


def _input(path: str, sha256: str) -> InputDataset:
    version = dataset_version_dataset.DatasetVersionDatasetFacet(datasetVersion=sha256, producer=PRODUCER)
    return InputDataset(NAMESPACE, path, facets={"version": version})


def _output(link: Link) -> OutputDataset:
    version = dataset_version_dataset.DatasetVersionDatasetFacet(datasetVersion=link.sha256, producer=PRODUCER)
    counts = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
        rowCount=link.rows, size=link.bytes, fileCount=len(link.manifest.files), producer=PRODUCER
    )
    return OutputDataset(NAMESPACE, link.path, {"outputStatistics": counts}, facets={"version": version})


def _when() -> str:
    seconds = os.environ.get(TIME_VARIABLE, "0")
    if not seconds.isascii() or not seconds.isdigit() or len(seconds) > 11:
        raise SpecError(TIME_VARIABLE, expected="seconds since 1970", found=repr(seconds), do=f"unset {TIME_VARIABLE}")
    return datetime.fromtimestamp(int(seconds), UTC).isoformat().replace("+00:00", "Z")
