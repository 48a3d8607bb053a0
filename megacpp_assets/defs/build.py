"""Definitions of a data root: plain, explicit, and cheap to load (no torch, no folder scanning)."""

from __future__ import annotations

from pathlib import Path

import dagster as dg

from megacpp_assets.contract.names import MIXTURE_STAGES
from megacpp_assets.defs.assets import build_assets
from megacpp_assets.defs.resources import CorpusResource
from megacpp_assets.storage.lock_file import read_lock

JOBS = {
    "index_repository": ("pinned_repos", "semantic_jsonl"),
    "train_tokenizer": ("tokenizer",),
    "encode_repository": ("tokenized_parquet", "v6_enriched"),
    "build_mixture": MIXTURE_STAGES,
}
"""Job -> the assets it materialises, each job over one kind of partition, in the order that data flows."""


def build_definitions(root: Path, dataset: str = "", *, anew: bool = False) -> dg.Definitions:
    """The graph over the pins of `dataset` (default: the active one) in the `corpus.lock` of `root`.

    With `anew` its tokenizer is trained although one is pinned.
    """
    lock = read_lock(root)
    corpus = lock.datasets.get(dataset or lock.active)
    locked = sorted(pin.partition for pin in corpus.repos) if corpus else []
    return dg.Definitions(
        assets=build_assets(locked),
        jobs=[dg.define_asset_job(name, selection=list(stages)) for name, stages in JOBS.items()],
        resources={"corpus": CorpusResource(root=str(root), dataset=dataset, anew=anew)},
        executor=dg.in_process_executor,
    )
