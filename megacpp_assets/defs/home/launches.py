"""Which runs Dagster may store: those of partitions that exist. Which keys of partitions: well-formed ones.

Dagster itself accepts any text as the partition of a run. Such a run fails, and then its assets are shown as failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

import dagster as dg

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.defs.dagster_private import PARTITION_NAME_TAG, SqlEventLogStorage, SqlRunStorage
from megacpp_assets.defs.keys import asset_key, repo_partitions, require_partitions
from megacpp_assets.defs.segments import job_name, segments
from megacpp_assets.pipeline.corpus import open_corpus
from megacpp_assets.pipeline.stages import STAGES, Kind
from megacpp_assets.storage.root.lock_file import read_lock

Sets = Callable[[str], Sequence[str]]
"""Returns the keys of one of Dagster's sets of partitions."""
_CHOOSE: Final = "choose a partition of the list"
_OR_ADD: Final = f"{_CHOOSE}, or first add the reference to it"


class CheckedRuns(SqlRunStorage):
    """A table of runs, which rejects runs of partitions that do not exist. It stands before Dagster's class for a
    database, whose first argument is the URL.
    """

    def __init__(self, url: str, root: Path, keys_of: Sets) -> None:
        super().__init__(url)  # type: ignore[call-arg, no-untyped-call]  # the class for a database comes next
        self._root = root
        self._keys_of = keys_of

    def add_run(self, dagster_run: dg.DagsterRun) -> dg.DagsterRun:
        """Store the run. See `require_partition`."""
        require_partition(self._root, dagster_run, self._keys_of)
        return super().add_run(dagster_run)


class CheckedPartitions(SqlEventLogStorage):
    """An event log of the data root `_root`, which rejects malformed partition keys. It stands before Dagster's class
    for a database.
    """

    _root: Path

    def add_dynamic_partitions(self, partitions_def_name: str, partition_keys: Sequence[str]) -> None:
        """Add all or none. See `require_partitions`."""
        require_partitions(self._root, partitions_def_name, partition_keys)
        super().add_dynamic_partitions(partitions_def_name, partition_keys)


def require_partition(root: Path, run: dg.DagsterRun, keys_of: Sets) -> None:
    """Raise `SpecError` for a run that has no partition where its assets need one, or one that they lack.

    Runs of assets and jobs that are not made from a dataset's stages are not judged.
    """
    for dataset in read_lock(root).datasets:
        corpus = open_corpus(root, dataset)
        for key in _assets(corpus, run):
            _require(corpus, key, run, keys_of)


def _assets(corpus: Corpus, run: dg.DagsterRun) -> Iterable[dg.AssetKey]:
    """Return the assets of `corpus` that the run was asked for: a selection, or all assets of its job."""
    if run.asset_selection:
        own = (key for key in run.asset_selection if key.path[0] == corpus.dataset and key.path[-1] in STAGES)
        return sorted(own, key=dg.AssetKey.to_user_string)
    return [
        asset_key(corpus.dataset, stage.name, segment.phase)
        for segment in segments(corpus)
        if job_name(corpus.dataset, segment) == run.job_name
        for stage in segment.stages
    ]


def _require(corpus: Corpus, key: dg.AssetKey, run: dg.DagsterRun, keys_of: Sets) -> None:
    kind = STAGES[key.path[-1]].kind
    if kind is Kind.DATASET:
        return
    known, do = corpus.specialists, _CHOOSE
    if kind is Kind.REPOSITORY:
        known, do = tuple(keys_of(repo_partitions(corpus.dataset).name or "")), _OR_ADD
    partition = run.tags.get(PARTITION_NAME_TAG)
    if partition is not None and partition not in known:
        raise SpecError.unknown(f"partition of {key.to_user_string()}", partition, known, do)
    if not run.is_partitioned:
        raise SpecError(f"run of {key.to_user_string()}", expected="a partition", found="none", do=do)
