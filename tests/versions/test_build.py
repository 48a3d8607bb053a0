"""Documents of commits: a v3 document gives both sides of its file back, whatever the file is like."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import INSERTED_OP, REMOVED_OP
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.recipe.history import HistoryRecipe
from megacpp_assets.contract.sources.commit import Change, Commit
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.git_objects import blob_reader
from megacpp_assets.tokenized.records import documents_table
from megacpp_assets.versions.build import VersionBuilder
from megacpp_assets.versions.files import FileVersions
from megacpp_assets.versions.judge import ChangeRules, word_of
from megacpp_assets.versions.records import LineOrigin
from megacpp_assets.versions.text.unrender import other_side, unrender
from tests.commits.repository import history_of, listed, make_history

RANDOM_COMMITS = 60
LINES = [
    b"int f();",
    b"",
    b"// Removed: not by us",
    b"  return 1;\t",
    'auto s = "\u00e9\U0001f600";'.encode(),
    b"@@ -1 +1 @@",
    b"-- x",
    b"\\ No newline at end of file",
    b"#define M \\",
    b"diff --git a/a b/b",
]
ENDS = [b"\n", b"\r\n"]


def _random_file(rng: random.Random, before: bytes | None) -> bytes:
    """A file that shares runs of lines with the one before; the last line may have no end."""
    lines = before.splitlines(keepends=True) if before else []
    for _ in range(rng.randint(1, 5)):
        place = rng.randint(0, len(lines))
        new = [rng.choice(LINES) + rng.choice(ENDS) for _ in range(rng.randint(0, 4))]
        lines[place : place + rng.randint(0, 3)] = new
    data = b"".join(lines) or b"int x;\n"
    return data[:-1] if rng.random() < 0.3 and len(data) > 2 else data


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    rng, commits, data = random.Random(7), [], None
    for number in range(RANDOM_COMMITS):
        data = _random_file(rng, data)
        commits.append((f"Change {number} */ of f", {"f.cpp": data, "g.cpp": data[: len(data) // 2] + b"\n//\n"}))
    commits.append(("One side is not UTF-8", {"f.cpp": data + b"// \xff\n"}))
    commits.append(("CRLF flips", {"g.cpp": b"int a;\r\nint b;\r\n"}))
    commits.append(("Line ends only", {"g.cpp": b"int a;\nint b;\n"}))
    commits.append(("Replace all", {"g.cpp": b"int c;\r\nint d;\n"}))
    commits.append(("Large", {"h.cpp": b"int large;\n" * 20_000}))
    commits.append(("Delete g", {"g.cpp": None}))
    directory = tmp_path_factory.mktemp("upstream") / "lib"
    make_history(directory, commits)
    return history_of(directory, tmp_path_factory.mktemp("data"), HistoryRecipe())


class Built:
    """Records by version, and what was left out."""

    def __init__(self, artifact: Artifact, recipe: HistoryRecipe, *versions: str) -> None:
        self.records: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        self.commits = listed(artifact)[::-1]
        origin = LineOrigin(RepoRef("lib", "v1"), lambda names: "MIT", lambda names: "h.cpp" in names)
        with blob_reader(artifact) as blobs:
            self.files = FileVersions(blobs, recipe.file_bytes)
            builder = VersionBuilder(versions, origin, ChangeRules("lib", recipe, self.files))
            builder.build(
                self.commits, lambda name, line: self.records[name].append(orjson.loads(line)), lambda _: None
            )
            self.left_out = builder.left_out
            self.data = {
                blob: self.files.get(blob).data
                for commit in self.commits for change in commit.changes for blob in change.sides
            }  # fmt: skip

    def change(self, record: Mapping[str, Any]) -> tuple[Commit, Change]:
        """The commit and the change that a record is of."""
        commit = next(each for each in self.commits if each.commit == record[c.COMMIT])
        return commit, next(each for each in commit.changes if each.path == record[c.FILEPATH])


@pytest.mark.parametrize(
    "recipe",
    [HistoryRecipe(), HistoryRecipe(context_lines=0), HistoryRecipe(context_lines=1, full_file=True)],
    ids=["three lines of context", "no context", "with the full file"],
)
def test_a_v3_document_gives_both_sides_back_exactly(history: Artifact, recipe: HistoryRecipe) -> None:
    built = Built(history, recipe, "v3_simple", "v3_doxygen")
    assert len(built.records["v3_simple"]) == len(built.records["v3_doxygen"]) > RANDOM_COMMITS
    for record in (*built.records["v3_simple"], *built.records["v3_doxygen"]):
        _, change = built.change(record)
        pre, post = (built.data[blob] for blob in change.sides)
        hunks = unrender(record)
        assert other_side(hunks, pre, forward=True) == post
        assert other_side(hunks, post, forward=False) == pre


def test_each_stretch_is_the_bytes_of_its_blob_and_columns_fit_the_schema(history: Artifact) -> None:
    built = Built(history, HistoryRecipe(full_file=True), "v2_simple", "v2_doxygen", "v3_simple")
    for records in built.records.values():
        for record in records:
            for part in record[c.CONSTITUENTS]:
                text = record[c.TEXT][part["char_start"] : part["char_end"]].encode()
                assert built.data[part["blob"]][part["byte_start"] : part["byte_end"]] == text
        table = documents_table(records)
        assert table[c.EDIT_OP].combine_chunks().value_lengths().to_pylist() == [len(each[c.TEXT]) for each in records]


def test_removed_lines_are_comments_and_added_lines_are_live(history: Artifact) -> None:
    built = Built(history, HistoryRecipe(), "v3_simple")
    record = next(each for each in built.records["v3_simple"] if built.change(each)[0].subject == "Replace all")
    assert record[c.TEXT] == (
        "// File: g.cpp\n// Replace all\n// === CHANGES ===\n// @@ -1,2 +1,2 @@\n"
        "// Removed: int a;\n// Removed: int b;\nint c;\r\nint d;\n"
    )


def test_sides_that_cannot_be_read_and_large_differences_are_counted(history: Artifact) -> None:
    built = Built(history, HistoryRecipe(), "v2_simple", "v3_simple")
    assert built.left_out["v3_simple"]["unknown encoding"] >= 1
    assert built.left_out["v3_simple"]["difference over the size limit"] == 1
    assert built.left_out["v3_simple"]["white space only"] >= 1
    assert built.left_out["v2_simple"]["like the version kept before it"] > RANDOM_COMMITS // 2


def test_a_deletion_removes_every_line_and_an_addition_inserts_every_line(history: Artifact) -> None:
    built = Built(history, HistoryRecipe(), "v3_simple")
    by_status = {built.change(record)[1].status: record for record in built.records["v3_simple"]}
    assert {run[4] for run in by_status["D"][c.CHANGES] if run[3] >= 0} == {0, REMOVED_OP}
    first = next(record for record in built.records["v3_simple"] if built.change(record)[1].status == "A")
    assert {run[4] for run in first[c.CHANGES] if run[3] >= 0} == {0, INSERTED_OP}


def test_a_denied_symbol_makes_no_document_of_any_version(history: Artifact) -> None:
    recipe = HistoryRecipe(denied_symbols=("lib:f.cpp:ns::f", "lib:g.cpp:f", "lib:h.cpp:large"))
    built = Built(history, recipe, "v2_simple", "v3_simple")
    assert all("int f()" not in record[c.TEXT] for records in built.records.values() for record in records)
    assert built.left_out["v3_simple"]["denied symbol"] > 10


@pytest.mark.parametrize(
    ("symbol", "text", "is_there"),
    [
        ("geo::P::operator==", b"bool P::operator==(const P& o)", True),
        ("geo::P::operator==", b"bool P::operator == (const P& o)", True),
        ("geo::P::operator()", b"int operator()(int x)", True),
        ("geo::P::operator bool", b"operator bool() const", True),
        ("geo::P::operator==", b"bool P::my_operator==(const P& o)", False),
        ("geo::P::operator=", b"bool operator==(const P& o)", False),
        ("geo::P::operator=", b"P& operator=(const P& o)", True),
        ("geo::P::operator<", b"out << operator<<(out, p)", False),
        ("geo::P::operator std::string", b"operator std::string() const", True),
        ("geo::P::operator std::string", b"operator string() const", True),
        ("geo::P::operator std::string", b"std::string name;", False),
        ("geo::P::operator std::vector<std::string>", b"operator std::vector<std::string>() const", True),
        ("geo::P::operator const char *", b"operator const char*() const", True),
        ('geo::operator""_km', b'operator"" _kmh(', False),
        ("geo::P::operator new[]", b"void* operator new [](size_t)", True),
        ("geo::P::~P", b"P::~P() {}", True),
        ("geo::P::~P", b"  virtual ~P();", True),
        ("geo::P::~P", b"P::P() {}; ~Part();", False),
        ("geo::P::f", b"int P::f()", True),
        ("geo::P::f", b"int P::of(), fe()", False),
    ],
)
def test_a_denied_operator_or_destructor_is_found_like_any_name(symbol: str, text: bytes, is_there: bool) -> None:
    assert bool(word_of(symbol).search(text)) == is_there


def test_a_denied_operator_or_destructor_makes_no_document(tmp_path: Path) -> None:
    whole = b"struct P {\n  ~P();\n  bool operator==(const P& o) const;\n};\n"
    make_history(tmp_path / "lib", [("Add", {"f.cpp": b"int f();\n"}), ("Add P", {"f.cpp": whole})])
    history = history_of(tmp_path / "lib", tmp_path / "data", HistoryRecipe())
    for symbol in ("geo::P::operator==", "geo::P::~P"):
        built = Built(history, HistoryRecipe(denied_symbols=(f"lib:f.cpp:{symbol}",)), "v2_simple", "v3_simple")
        assert not any("struct P" in each[c.TEXT] for records in built.records.values() for each in records)
        assert built.left_out["v3_simple"]["denied symbol"] == 1
