"""The assets of one dataset, made from the table of stages. Their bodies let the pipeline run the selected steps."""

# No `from __future__ import annotations` here: Dagster reads the annotations of asset bodies as values.
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace

import dagster as dg

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import MegacppError
from megacpp_assets.defs.dagster_private import SYSTEM_METADATA_KEY_SOURCE_ASSET_OBSERVATION as _RECORDED_BEFORE
from megacpp_assets.defs.keys import asset_key, parents, plain_name, repo_partitions
from megacpp_assets.defs.owners import OWNERS
from megacpp_assets.defs.segments import Segment
from megacpp_assets.pipeline.corpus import open_corpus
from megacpp_assets.pipeline.stages import COMPARED, Kind, Stage
from megacpp_assets.quality.shared import release


def build_asset(corpus: Corpus, segment: Segment) -> dg.AssetsDefinition:
    """Return the assets of `segment` with their checks."""
    root, dataset = corpus.root, corpus.dataset
    partitioned = segment.stages[0].kind is not Kind.DATASET

    @dg.multi_asset(
        name=f"{plain_name(dataset)}__{segment.name}",
        specs=[_spec(corpus, stage, segment.phase) for stage in segment.stages],
        check_specs=[check for stage in segment.stages for check in _checks(corpus, stage, segment.phase)],
        partitions_def=_partitions(corpus, segment.stages[0].kind),
        can_subset=True,
        backfill_policy=dg.BackfillPolicy.single_run(),
    )
    def body(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult]:  # type: ignore[type-arg]
        from megacpp_assets.defs.body import run_selected

        try:
            partitions: Sequence[str | None] = context.partition_keys if partitioned else [None]
            every = [asset_key(dataset, stage.name, segment.phase) for stage in segment.stages]
            keys = [key for key in every if key in context.selected_asset_keys]
            run_selected(open_corpus(root, dataset), keys, partitions, context)
        except MegacppError as error:
            raise dg.Failure(str(error), allow_retries=False) from None
        # Every step is recorded by now. Where a body yields no output, Dagster would skip the bodies that depend on it
        # and report success.
        yield from (dg.MaterializeResult(key, metadata={_RECORDED_BEFORE: True}) for key in keys)

    return body


def _spec(corpus: Corpus, stage: Stage, phase: str) -> dg.AssetSpec:
    return dg.AssetSpec(
        asset_key(corpus.dataset, stage.name, phase),
        deps=[_dependency(corpus, stage, key, upstream) for key, upstream in parents(corpus, stage, phase)],
        group_name=stage.group,
        kinds=set(stage.kinds),
        owners=OWNERS,
        description=stage.description,
    )


def _dependency(corpus: Corpus, stage: Stage, key: dg.AssetKey, upstream: Stage) -> dg.AssetDep:
    """A mixture depends on exactly the pinned partitions, so that data of an old tag never enters a new mixture."""
    if upstream.kind is Kind.REPOSITORY and stage.kind is not Kind.REPOSITORY and corpus.repo_refs:
        locked = [repo.key for repo in corpus.repo_refs]
        return dg.AssetDep(key, partition_mapping=dg.SpecificPartitionsPartitionMapping(locked))
    return dg.AssetDep(key)


def _checks(corpus: Corpus, stage: Stage, phase: str) -> Iterator[dg.AssetCheckSpec]:
    promotion = [replace(check, blocking=False) for check in release.CHECKS] if stage.name == COMPARED else []
    for check in (*stage.quality.CHECKS, *promotion):
        with warnings.catch_warnings():
            # Dagster marks partitioned checks as a preview and warns; a user cannot act on the warning.
            warnings.simplefilter("ignore", dg.PreviewWarning)
            yield dg.AssetCheckSpec(
                check.name,
                asset=asset_key(corpus.dataset, stage.name, phase),
                description=check.expected,
                blocking=check.blocking,
                partitions_def=_partitions(corpus, stage.kind),
            )


def _partitions(corpus: Corpus, kind: Kind) -> dg.PartitionsDefinition | None:  # type: ignore[type-arg]
    if kind is Kind.REPOSITORY:
        return repo_partitions(corpus.dataset)
    return dg.StaticPartitionsDefinition(list(corpus.specialists)) if kind is Kind.MIXTURE else None
