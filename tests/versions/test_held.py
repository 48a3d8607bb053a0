"""A definition that moves between a held-out file and one that trains: no document that trains shows it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import orjson

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import TRAIN_SPLIT
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.recipe.history import HistoryRecipe
from megacpp_assets.contract.sources.source_file import OBJECTS
from megacpp_assets.curation.benchmark_sets import Item
from megacpp_assets.curation.benchmarks import benchmarks_of
from megacpp_assets.storage.git_objects import blob_reader
from megacpp_assets.versions.build import VersionBuilder
from megacpp_assets.versions.files import FileVersions
from megacpp_assets.versions.held import held_of
from megacpp_assets.versions.judge import ANSWER, HELD_COPY, Barred, ChangeRules
from megacpp_assets.versions.records import LineOrigin, names_of
from megacpp_assets.windows import build as windows
from megacpp_assets.windows.functions import ParsedBlobs
from megacpp_assets.windows.graph import TreeGraph
from tests.commits.repository import history_of, listed, make_history
from tests.tokenized.word_encoder import WordEncoder

MOVED = b"".join(
    [
        b"LIB_API long moved(long count) {\n  long sum = 0;\n",
        *(b"  sum += count * %d + weight_%d(sum);\n" % (number, number) for number in range(9)),
        b"  return sum;\n}\n",
    ]
)
OWN = b"int own(int value) { return value + one(); }\nint one() { return 1; }\n"
COMMITS = [
    ("Start", {"held.cc": MOVED + b"long other() { return moved(2); }\n", "train.cc": OWN}),
    ("Move it", {"held.cc": b"long other() { return moved(2); }\n", "train.cc": OWN + MOVED}),
    ("Change what it stands beside", {"train.cc": OWN.replace(b"value +", b"value -") + MOVED}),
]
VERSIONS = ("v2_simple", "v3_simple")


def _validates(names: Sequence[str]) -> bool:
    return "held.cc" in names


def test_no_version_trains_on_a_definition_that_a_held_out_file_has_had(tmp_path: Path) -> None:
    make_history(tmp_path / "lib", COMMITS)
    artifact = history_of(tmp_path / "lib", tmp_path / "data", HistoryRecipe())
    found = listed(artifact)[::-1]
    records: dict[str, list[dict[str, object]]] = defaultdict(list)

    def emit(name: str, line: bytes) -> None:
        records[name].append(orjson.loads(line))

    origin, recipe = LineOrigin(RepoRef("lib", "v1"), lambda names: "MIT", _validates), HistoryRecipe(drift=1.0)
    with blob_reader(artifact) as blobs:
        files = FileVersions(blobs, recipe.file_bytes)
        changes = (change for commit in found for change in commit.changes if _validates(names_of(change)))
        held = [blob for change in changes for blob in change.sides]
        judge = ChangeRules("lib", recipe, files, held=held_of(map(files.get, filter(None, held)), _validates, 0.7))
        documents = VersionBuilder(VERSIONS, origin, judge)
        documents.build(found, emit, lambda _: None)
        graph, sets = TreeGraph(ParsedBlobs(files)), windows.Sets({"v4_4096": 4096}, WordEncoder())
        made = windows.WindowBuilder(artifact.folder(OBJECTS), sets, origin, judge, graph)
        made.build(found, emit, lambda _: None)
    trains = Counter(
        name for name, found in records.items() for record in found
        if record[c.SPLIT] == TRAIN_SPLIT and "weight_5" in str(record[c.TEXT])
    )  # fmt: skip
    assert trains == {}
    assert sum("weight_5" in str(record[c.TEXT]) for record in records["v2_simple"]) == 1  # it validates
    assert documents.left_out["v2_simple"][HELD_COPY] == 2
    assert documents.left_out["v3_simple"][HELD_COPY] == 1
    assert made.left_out["v4_4096"][HELD_COPY] == 1
    # What stands beside it in that file still trains where it is shown alone.
    assert any("value - one" in str(record[c.TEXT]) for record in records["v3_simple"] + records["v4_4096"])


def test_a_change_with_a_benchmark_answer_is_in_no_version(tmp_path: Path) -> None:
    make_history(tmp_path / "lib", COMMITS)
    artifact = history_of(tmp_path / "lib", tmp_path / "data", HistoryRecipe())
    lines: list[bytes] = []
    benchmarks = benchmarks_of([Item("evalx:5", (MOVED.decode(),))])
    with blob_reader(artifact) as blobs:
        files = FileVersions(blobs, HistoryRecipe().file_bytes)
        judge = ChangeRules("lib", HistoryRecipe(), files, Barred(benchmarks=benchmarks, share=0.6))
        origin = LineOrigin(RepoRef("lib", "v1"), lambda names: "MIT", _validates)
        documents = VersionBuilder(VERSIONS, origin, judge)
        documents.build(listed(artifact)[::-1], lambda name, line: lines.append(line), lambda _: None)
    assert documents.left_out["v2_simple"][ANSWER] == 3
    assert not any(b"weight_5" in line for line in lines)
