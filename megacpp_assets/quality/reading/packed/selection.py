"""Computes from sources and recipe which documents a mixture takes, and how often, to compare with its rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.document_sets import DocumentSet, named_set, order_of
from megacpp_assets.contract.names import TRAIN_SPLIT, VALID_SPLIT
from megacpp_assets.packed.blend import origins, shards_of_split
from megacpp_assets.packed.copies.definitions import Definitions, find_definitions
from megacpp_assets.packed.copies.duplicates import Clusters, find_clusters
from megacpp_assets.packed.copies.left_out import left_out
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.parquet import batches
from megacpp_assets.storage.ragged import list_lengths

_BLOCK_DOCUMENTS = 256


def budgets_of(packed: Artifact, split: str) -> tuple[DocumentSet, ...]:
    """Return the document sets of `split`: the mixture's own, and in training the blended ones in their fixed order."""
    own, blend = int(packed.manifest.config["document_tokens"]), packed.manifest.config["blend"]
    return (own, *sorted(map(named_set, blend), key=order_of)) if split == TRAIN_SPLIT else (own,)


def mean_times_taken(packed: Artifact, source: Artifact, split: str) -> list[float]:
    """Return, for each document set of `split`, how often the mixture takes a document of `source` on average.

    The validation split takes each document once.
    """
    if split != TRAIN_SPLIT:
        return [1.0]
    repo, config = source.manifest.partition.partition("@")[0], packed.manifest.config
    weight = float(config["weights"].get(repo, 1.0))
    return [weight * float(config["blend"].get(str(budget), 1.0)) for budget in budgets_of(packed, split)]


def left_out_by_source(packed: Artifact, inputs: Sequence[Artifact], split: str) -> list[NDArray[np.bool_]]:
    """Return one mask per source: True for each document of `split` that the mixture leaves out.

    In training these are the excluded documents. In both splits they are the documents that are too long for a row, if
    the recipe writes these to a file.
    """
    left, files = excluded_by_source(packed, inputs, split)
    if packed.manifest.config["packing"]["overflow"] != "file":
        return left
    return [flags | too_long(packed, paths) for flags, paths in zip(left, files, strict=True)]


def excluded_by_source(
    packed: Artifact, inputs: Sequence[Artifact], split: str
) -> tuple[list[NDArray[np.bool_]], list[list[Path]]]:
    """Return (one mask per source, files of each source) of `split`: True for each document that may not train.

    These are near-duplicates of held-out documents, documents that another document set has too, and copies across
    repositories of documents, or of all definitions of a document, if the recipe removes them.
    """
    left, files = near_duplicates(packed, inputs, split)
    if split == TRAIN_SPLIT and packed.manifest.config["blend"]:
        again = [origins(source, budgets_of(packed, split)).again for source in inputs]
        left = [flags | repeated for flags, repeated in zip(left, again, strict=True)]
    for name, found in (("duplicates", clusters_of), ("definitions", definitions_of)):
        action = packed.manifest.config[name]
        if split == TRAIN_SPLIT and action not in ("ignore", "report"):
            removed = found(packed, files).removed(action)
            ends = np.cumsum([len(flags) for flags in left])[:-1]
            left = [flags | repeated for flags, repeated in zip(left, np.split(removed, ends), strict=True)]
    return left, files


def too_long(packed: Artifact, paths: Sequence[Path]) -> NDArray[np.bool_]:
    """Return the documents of the files `paths` that have more tokens or more chunks than a row can hold."""
    tokens, chunks = (int(packed.manifest.config[key]) for key in ("row_tokens", "max_chunks"))
    parts = [np.zeros(0, dtype=np.bool_)]
    for path in paths:
        for batch in batches(path, _BLOCK_DOCUMENTS, [c.ACTUAL_TOKEN_COUNT, c.TOKEN_CHUNK_STARTS_COLUMN]):
            is_long = batch.column(c.ACTUAL_TOKEN_COUNT).to_numpy() > tokens
            parts.append(is_long | (list_lengths(batch.column(c.TOKEN_CHUNK_STARTS_COLUMN)) > chunks))
    return np.concatenate(parts)


def near_duplicates(
    packed: Artifact, inputs: Sequence[Artifact], split: str
) -> tuple[list[NDArray[np.bool_]], list[list[Path]]]:
    """Return (one mask per source, files of each source) of `split`.

    A mask is True for each document that is left out of training as a near-duplicate of a held-out document. Validation
    leaves out none.
    """
    budgets = budgets_of(packed, TRAIN_SPLIT)
    trained, held = (
        [shards_of_split(source, budgets, side) for source in inputs] for side in (TRAIN_SPLIT, VALID_SPLIT)
    )
    if split == TRAIN_SPLIT:
        return left_out(trained, held, float(packed.manifest.config["near_copy"])), trained
    rows = [sum(pq.read_metadata(path).num_rows for path in files) for files in held]
    return [np.zeros(count, dtype=np.bool_) for count in rows], held


def clusters_of(packed: Artifact, files: Sequence[Sequence[Path]]) -> Clusters:
    """Return the clusters of near-duplicates among the documents of `files`, one sequence of files per source."""
    return find_clusters(files, float(packed.manifest.config["near_copy"]), _projects(packed))


def definitions_of(packed: Artifact, files: Sequence[Sequence[Path]]) -> Definitions:
    """Return the clusters of near-duplicates among the definitions of the documents of `files`."""
    return find_definitions(files, float(packed.manifest.config["near_copy"]), _projects(packed))


def _projects(packed: Artifact) -> list[str]:
    names = [key.partition("@")[0] for key in packed.manifest.config["repos"]]
    return [packed.manifest.config["projects"].get(name, name) for name in names]
