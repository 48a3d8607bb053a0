"""Labels that a person gave by reading, against what the stage paints."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest

from megacpp_assets.contract.names import STRUCTURE_CATEGORIES
from megacpp_assets.repos.sample import make_sample_repositories
from megacpp_assets.repos.sources import MIRROR_VARIABLE
from tests.semantic.label_sets import LABELS, Agreement, agreements, label_sets, total

AGREEMENT = 0.98
SPANS = {"sample": 150, "public": 600}
needs_mirror = pytest.mark.skipif(
    MIRROR_VARIABLE not in os.environ,
    reason=f"needs fmt and googletest: set {MIRROR_VARIABLE} to a mirror such as /srv/git/{{owner}}/{{name}}, "
    "or to https://github.com/{owner}/{name} to fetch them",
)


def _demand(found: Agreement, least: float) -> None:
    characters, spans = found.shares()
    print(f"{found.spans} spans, {found.characters} characters: {spans:.2%} and {characters:.2%} agree")
    print("\n".join(found.disagreements))
    assert min(characters, spans) >= least, "\n".join(found.disagreements)


def test_the_sample_is_painted_as_a_reader_labels_it(tmp_path: Path) -> None:
    make_sample_repositories(tmp_path)
    _demand(total(list(agreements(tmp_path, label_sets("sample")))), AGREEMENT)


@needs_mirror
def test_public_code_is_painted_as_a_reader_labels_it(tmp_path: Path) -> None:
    _demand(total(list(agreements(tmp_path, label_sets("public")))), AGREEMENT)


@pytest.mark.parametrize("folder", ["sample", "public"])
def test_labels_are_enough_and_cover_every_category(folder: str) -> None:
    sets = label_sets(folder)
    spans = [span for labels in sets for span in labels.spans]
    assert len(sets) >= 4 and len(spans) >= SPANS[folder]
    assert {category for _, _, category in spans} == set(range(len(STRUCTURE_CATEGORIES)))


def test_label_files_hold_places_and_labels_and_no_text() -> None:
    for path in LABELS.rglob("*.tsv"):
        rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line[0] != "#"]
        spans = [(int(start), int(end)) for start, end, _ in rows]
        assert all(start < end for start, end in spans)
        assert all(end <= start for (_, end), (start, _) in pairwise(spans))
        assert {label for _, _, label in rows} <= set(STRUCTURE_CATEGORIES)
