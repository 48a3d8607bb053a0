"""Hand-made labels of real files, and how far a painted file agrees with them.

A label file holds facts about public code and never its text: where the file is, and for each span of characters the
category that a reader gave it by the rules of CATEGORIES.md. White space is not judged.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import CATEGORY_ID, STRUCTURE_CATEGORIES
from megacpp_assets.repos.catalogue import CatalogueEntry
from megacpp_assets.repos.pins import pin
from megacpp_assets.repos.stage import PinnedReposSpec
from megacpp_assets.repos.stage import run as fetch
from megacpp_assets.semantic.graph.analysis.analysis import FileFacts, analyse
from megacpp_assets.semantic.parsing.parse import parse_tree
from megacpp_assets.semantic.tree.export import export
from megacpp_assets.storage.git_objects import blob_reader, source_files
from tests.semantic.parsing_trees import IN_PROCESS, InProcess, toolchain

LABELS = Path(__file__).with_name("labelled")
_FILE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class LabelSet:
    """One labelled file. `spans` are (start, end, category id) in characters, half open, ascending."""

    repository: str
    ref: str
    commit: str
    path: str
    blob: str
    spans: tuple[tuple[int, int, int], ...]


def label_sets(folder: str) -> list[LabelSet]:
    """The label files of one folder below `labels`, in order of their names."""
    return [_read(path) for path in sorted((LABELS / folder).glob("*.tsv"))]


def _read(path: Path) -> LabelSet:
    lines = path.read_text(encoding="utf-8").splitlines()
    facts = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# ") and ": " in line)
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    spans = tuple((int(start), int(end), CATEGORY_ID[label]) for start, end, label in rows)
    return LabelSet(facts["repository"], facts["ref"], facts["commit"], facts["path"], facts["blob"], spans)


@dataclass(frozen=True, slots=True)
class Agreement:
    """Characters and spans that are labelled, those that agree, and a line for each span that does not."""

    characters: int
    agreeing_characters: int
    spans: int
    agreeing_spans: int
    disagreements: tuple[str, ...]

    def shares(self) -> tuple[float, float]:
        """Agreement by characters and by spans."""
        return self.agreeing_characters / self.characters, self.agreeing_spans / self.spans


def total(parts: Sequence[Agreement]) -> Agreement:
    return Agreement(
        sum(part.characters for part in parts),
        sum(part.agreeing_characters for part in parts),
        sum(part.spans for part in parts),
        sum(part.agreeing_spans for part in parts),
        tuple(line for part in parts for line in part.disagreements),
    )


def agreement(labels: LabelSet, text: str, painted: NDArray[np.uint8]) -> Agreement:
    """How far the categories `painted` of `text` are those of `labels`; a span agrees when all of it does."""
    judged = wrong = bad = 0
    lines = []
    for start, end, label in labels.spans:
        solid = np.array([not character.isspace() for character in text[start:end]])
        missed = solid & (painted[start:end] != label)
        judged, wrong, bad = judged + int(solid.sum()), wrong + int(missed.sum()), bad + bool(missed.any())
        if missed.any():
            first = start + int(missed.argmax())
            found = ", ".join(STRUCTURE_CATEGORIES[category] for category in np.unique(painted[start:end][missed]))
            place = f"{labels.path}:{text.count(chr(10), 0, first) + 1} (character {first})"
            wanted = STRUCTURE_CATEGORIES[label]
            lines.append(f"{place}: read as {wanted}, painted {found}, {missed.sum()} of {solid.sum()}")
    return Agreement(judged, judged - wrong, len(labels.spans), len(labels.spans) - bad, tuple(lines))


def agreements(root: Path, sets: Sequence[LabelSet]) -> Iterator[Agreement]:
    """Paint the labelled files as the stage does, and compare. Only they are parsed, with their tree around them."""
    repositories: dict[tuple[str, str], list[LabelSet]] = defaultdict(list)
    for labels in sets:
        repositories[labels.repository, labels.ref].append(labels)
    for (url, ref), members in repositories.items():
        for labels, (facts, chars) in zip(members, _painted(root, url, ref, members), strict=True):
            assert facts.file.blob == labels.blob, labels.path
            yield agreement(labels, facts.source.text, chars[c.STRUCTURE_IDS])


def _painted(
    root: Path, url: str, ref: str, members: Sequence[LabelSet]
) -> Iterator[tuple[FileFacts, NDArray[np.void]]]:
    chosen = pin(CatalogueEntry(url.rpartition("/")[2], url, ref), ref, root)
    assert {labels.commit for labels in members} == {chosen.commit}
    raw = fetch(PinnedReposSpec(root, chosen))
    wanted = {labels.path for labels in members}
    with tempfile.TemporaryDirectory(dir=root) as name, blob_reader(raw) as blobs:
        sources = export(Path(name), source_files(raw), blobs, _FILE_BYTES)
        files = [*(file for file, _ in sources.taken), *sources.companions]
        files = [file if file.path in wanted else replace(file, skipped="not labelled") for file in files]
        parsed = parse_tree(Path(name), files, toolchain(), InProcess(), options=IN_PROCESS)
    outcomes = {file.path: file for file in parsed}
    texts = {file.path: (file, source) for file, source in sources.taken}
    for labels in members:
        assert outcomes[labels.path].status == "clean", outcomes[labels.path]
        yield analyse(*texts[labels.path], outcomes[labels.path])
