"""Stage `curated_files`: from a pinned commit to tables of its C and C++ files, their secrets and benchmark items.

The first table has licence, copies, quality and decision of each file. Nothing is changed or removed here: the tables
say what the index leaves out and replaces, by which rule and why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.recipe.curation import CurationRecipe, hashed_file
from megacpp_assets.contract.recipe.whole import as_config
from megacpp_assets.contract.sources.curated import (
    ANSWERS,
    ANSWERS_FILE,
    DECISIONS,
    DECISIONS_FILE,
    FINDS,
    FINDS_FILE,
    SIGNATURES,
    SIGNATURES_FILE,
)
from megacpp_assets.contract.step import Progress, silent
from megacpp_assets.curation.benchmarks import load_benchmarks
from megacpp_assets.curation.copies_list import SharedCopy, digest, load_copies, of_repository
from megacpp_assets.curation.decisions import (
    answer_rows,
    benchmark_totals,
    decisions,
    find_rows,
    score_totals,
    shared_totals,
    totals,
)
from megacpp_assets.curation.licensing.licences import Licences, repository_license, too_large_licence_files
from megacpp_assets.curation.licensing.scancode import classify, detector_identity
from megacpp_assets.curation.scorer import opened_scorer, scorer_config
from megacpp_assets.curation.survey import Survey
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.caching.cache import Cache
from megacpp_assets.storage.git_objects import blob_reader, source_files
from megacpp_assets.storage.parquet import RowGroupWriter
from megacpp_assets.storage.publish import Publication, Target, publish
from megacpp_assets.storage.root.layout import curated_path, licences_cache_path, raw_path

VERSION = "10"


@dataclass(frozen=True, slots=True)
class CuratedFilesSpec:
    """A pinned repository of a dataset, its licence, and the recipe's rules. `file_bytes` is the largest file that
    is read.
    """

    root: Path
    dataset: str
    repo: RepoRef
    license: str
    recipe: CurationRecipe = field(default_factory=CurationRecipe)
    file_bytes: int = 4_000_000


def spec(corpus: Corpus, partition: str) -> CuratedFilesSpec:
    """Return what the partition `NAME@REF` of `corpus` is made from."""
    pin, recipe = corpus.pin(partition), corpus.recipe
    return CuratedFilesSpec(
        corpus.root, corpus.dataset, pin.partition, pin.license, recipe.curation, recipe.semantic.file_bytes
    )


def target(spec: CuratedFilesSpec) -> Target:
    """Return the target of one repository. `EnvironmentLacks` if the recipe's licence detector is not installed."""
    return Target(
        root=spec.root,
        path=curated_path(spec.dataset, spec.repo),
        stage="curated_files",
        partition=spec.repo.key,
        version=VERSION,
        config={
            **as_config(spec.recipe),
            "shared_copies": digest(_shared(spec)),
            "benchmarks": [hashed_file(line, "benchmarks")[0] for line in spec.recipe.benchmarks],
            **scorer_config(spec.recipe),
            "license": spec.license,
            "file_bytes": spec.file_bytes,
            "detector": detector_identity(spec.recipe.license_detector),
        },
        inputs=(raw_path(spec.repo),),
    )


def run(spec: CuratedFilesSpec, progress: Progress = silent) -> Artifact:
    """Judge every file. A current artifact is returned unchanged. Raises what `publish`, `classify`
    and `opened_scorer` raise, and `SpecError` for a scorer that fails.
    """
    work = target(spec)

    def produce(publication: Publication, inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
        files = source_files(inputs[0])
        licences = Licences(repository_license(files, spec.license))
        benchmarks = load_benchmarks(spec.recipe.benchmarks)
        with opened_scorer(spec.recipe) as scorer, blob_reader(inputs[0]) as blobs:
            survey = Survey(licences, benchmarks, spec.recipe.benchmark_share, scorer)
            survey.read(files, blobs, spec.file_bytes, progress)
            near = survey.near_copies(blobs, spec.recipe.near_copy)
        detector = str(work.config["detector"])
        ask = partial(classify, identity=detector, cache=Cache(spec.root / licences_cache_path()))
        licences.classify(detector, ask)
        shared = _shared(spec)
        rows = decisions(survey, near, shared, spec.recipe)
        finds = find_rows(survey, spec.recipe)
        _write(publication, DECISIONS_FILE, DECISIONS, rows)
        answers = answer_rows(survey, spec.recipe)
        _write(publication, FINDS_FILE, FINDS, finds)
        _write(publication, ANSWERS_FILE, ANSWERS, answers)
        _write(publication, SIGNATURES_FILE, SIGNATURES, survey.signature_rows())
        return {
            **totals(rows, finds, licences),
            "licence_files_too_large": too_large_licence_files(files),
            **score_totals(rows, spec.recipe.least_score),
            **shared_totals(rows, shared),
            **benchmark_totals(rows, answers, survey.benchmarks),
        }

    return publish(work, produce)


def _shared(spec: CuratedFilesSpec) -> list[SharedCopy]:
    """Return the lines about this repository of the recipe's lists of copies across repositories."""
    lists = (hashed_file(line, "shared_copies") for line in spec.recipe.shared_copies)
    return [copy for sha256, path in lists for copy in of_repository(load_copies(sha256, path), spec.repo.name)]


def _write(publication: Publication, name: str, schema: pa.Schema, rows: Sequence[Mapping[str, Any]]) -> None:
    with publication.file(name) as pending:
        with RowGroupWriter(pending.path, schema) as writer:
            writer.write(pa.Table.from_pylist(list(rows), schema=schema))
        pending.rows = len(rows)
