"""Clusters of near-duplicate documents: those that comparing all pairs finds, in any order and in any portions."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from megacpp_assets.compute.shingles import LEAST_RUNS, Shingles, shingles
from megacpp_assets.contract import columns as c
from megacpp_assets.packed.copies import common_runs
from megacpp_assets.packed.copies.duplicates import Clusters, find_clusters

SHARE = 0.7
Document = tuple[str, str]
"""Id and text."""


def _text(draw: random.Random, lines: int) -> list[str]:
    return [f"v{draw.randrange(40)} = f{draw.randrange(9)}(v{draw.randrange(40)});" for _ in range(lines)]


def _documents(seed: int) -> list[list[Document]]:
    """Four repositories: texts of their own, changed and equal copies, and texts too short to be compared."""
    draw = random.Random(seed)
    known = [_text(draw, draw.randrange(1, 40)) for _ in range(12)]
    found: list[list[Document]] = []
    for repo in range(4):
        texts = []
        for _ in range(30):
            lines = list(draw.choice(known)) if draw.random() < 0.7 else _text(draw, draw.randrange(1, 40))
            for _ in range(draw.choice([0, 0, 1, 2, 5])):
                lines[draw.randrange(len(lines))] = _text(draw, 1)[0]
            texts.append("\n".join(lines))
        found.append([(f"{repo}-{number}", text) for number, text in enumerate(texts)])
    return found


def _find(folder: Path, sources: Sequence[Sequence[Document]]) -> Clusters:
    paths = []
    for number, documents in enumerate(sources):
        path = folder / f"{number}.parquet"
        ids, texts = zip(*documents, strict=True)
        columns = {c.REPO: [str(number)] * len(ids), c.DOC_ID: ids, c.FILEPATH: ids, c.TEXT: texts}
        pq.write_table(pa.table(columns), path, row_group_size=7)
        paths.append([path])
    return find_clusters(paths, SHARE)


def _by_all_pairs(sources: Sequence[Sequence[Document]]) -> tuple[list[int], list[bool], list[bool]]:
    """Cluster, exact and near of each document, by comparing each with all documents of earlier repositories."""
    every = [(source, text) for source, documents in enumerate(sources) for _, text in documents]
    runs = [set(shingles(text).tolist()) for _, text in every]
    cluster, exact, near = list(range(len(every))), [False] * len(every), [False] * len(every)

    def join(one: int, other: int) -> None:
        names = cluster[one], cluster[other]
        cluster[:] = [min(names) if name in names else name for name in cluster]

    for later, (source, text) in enumerate(every):
        same = [earlier for earlier in range(later) if every[earlier][1] == text]
        if same and every[same[0]][0] != source:
            exact[later] = True
            join(same[0], later)
    for later, (source, _) in enumerate(every):
        for earlier in range(later):
            sizes = sorted((len(runs[earlier]), len(runs[later])))
            alike = sizes[0] >= max(LEAST_RUNS, SHARE * sizes[1])
            if every[earlier][0] < source and alike and len(runs[earlier] & runs[later]) >= SHARE * sizes[0]:
                near[later] = near[later] or not exact[later]
                join(earlier, later)
    return cluster, exact, near


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("portion", [900, 1 << 18])
def test_clusters_are_those_of_all_pairs_whatever_the_portions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, portion: int
) -> None:
    for name in ("_PAIRS_AT_ONCE", "_PARTITION_RUNS"):
        monkeypatch.setattr(common_runs, name, portion)
    sources = _documents(seed)
    found = _find(tmp_path, sources)
    cluster, exact, near = _by_all_pairs(sources)
    assert (found.exact.tolist(), found.near.tolist()) == (exact, near) and any(exact) and any(near)
    assert found.cluster.tolist() == cluster


@pytest.mark.parametrize("seed", range(3))
def test_shuffled_documents_are_in_the_same_clusters(tmp_path: Path, seed: int) -> None:
    sources = _documents(0)
    shuffled = [random.Random(seed).sample(documents, len(documents)) for documents in sources]
    assert _members(_find(tmp_path, shuffled), shuffled) == _members(_find(tmp_path, sources), sources)


def _members(found: Clusters, sources: Sequence[Sequence[Document]]) -> tuple[set[frozenset[str]], set[str], set[str]]:
    ids = np.array([name for documents in sources for name, _ in documents])
    clusters = {frozenset(ids[found.cluster == name].tolist()) for name in set(found.cluster.tolist())}
    return clusters, set(ids[found.exact].tolist()), set(ids[found.near].tolist())


@pytest.mark.parametrize("count", [2_000, pytest.param(100_000, marks=pytest.mark.campaign)])
def test_a_cluster_of_many_near_duplicates_is_not_compared_pair_by_pair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    lines = _text(random.Random(0), 40)
    copies = [(str(number), "\n".join([*lines, f"int own{number};"])) for number in range(count)]
    read: list[int] = []
    runs = common_runs.CommonRuns.runs

    def counted(self: common_runs.CommonRuns, text: int) -> Shingles:
        read.append(text)
        return runs(self, text)

    monkeypatch.setattr(common_runs.CommonRuns, "runs", counted)
    found = _find(tmp_path, [copies[: count // 2], copies[count // 2 :]])
    assert set(found.cluster.tolist()) == {0} and int(found.near.sum()) == count // 2
    assert len(read) < 4 * len(copies)


def test_no_documents_have_no_clusters() -> None:
    found = find_clusters([[], []], SHARE)
    assert len(found.cluster) == 0 and list(found.lines()) == []
