"""Odd files through `pinned_repos` and `semantic_jsonl`: a file left out has a reason, a file taken keeps its bytes."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import DOCUMENT_TOKENS
from megacpp_assets.contract.sources import file_policy as policy
from megacpp_assets.quality.semantic import check
from megacpp_assets.semantic.stage import run
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.jsonl import read_records
from tests.repos.git_tree import git
from tests.semantic.hostile_repository import LINKS, spec_of

CODE = "int kept{n}(int value) {{ return value + {n}; }}\n"
LEFT_OUT = {
    "blank.cc": (b" \n", policy.EMPTY),
    "nothing.cc": (b"", policy.EMPTY),
    "pointer.cc": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", policy.LFS_POINTER),
    "large.cc": (b"// filler\n" * 400_001, policy.TOO_LARGE),
    "line.cc": (b"int a;\n// " + b"x" * policy.LINE_BYTES, policy.LONG_LINE),
    "wide.cc": (CODE.format(n=1).encode("utf-32"), policy.UTF16),
    "binary.cc": (b"int a\0;\n", policy.BINARY),
    "no_encoding.cc": (b"// \x98\xff\x8d\x81\nint a();\n", policy.NOT_UTF8),
    "back\\slash.cc": (b"int a();\n", policy.UNSAFE_PATH),
    "a/.megacpp/b.cc": (b"int a();\n", policy.NOT_PLAIN_PATH),
}
TAKEN = {
    "plain.cc": (CODE.format(n=2).encode(), []),
    "bom.cc": (b"\xef\xbb\xbf" + CODE.format(n=3).encode(), [policy.BOM]),
    "crlf.cc": (CODE.format(n=4).replace(" return", "\n return").replace("\n", "\r\n").encode(), [policy.CRLF]),
    "bidi.cc": (("// \u202e\n" + CODE.format(n=5)).encode(), [policy.BIDI]),
    "latin1.cc": (("// Größe des Cafés\n" + CODE.format(n=6)).encode("latin-1"), [policy.TRANSCODED]),
    "gbk.cc": (("// 返回两个数的和用于检查编码\n" + CODE.format(n=7)).encode("gbk"), [policy.TRANSCODED]),
    "utf16.cc": (("// größe\n" + CODE.format(n=8)).encode("utf-16"), [policy.BOM, policy.TRANSCODED]),
}


GENERATED = {
    "made.h": b"// @generated\ninline int made(int value) { return value + 9; }\n",
    "uses.cc": b'#include "made.h"\nint used(int value) { return made(value); }\n',
}


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    base = tmp_path_factory.mktemp("policies")
    files = {path: data for path, (data, _) in {**LEFT_OUT, **TAKEN}.items()} | GENERATED
    return run(spec_of(base, "odd", files, base / "no_such_file"))


@pytest.fixture(scope="module")
def rows(artifact: Artifact) -> dict[str, dict[str, object]]:
    return {row["filepath"]: row for row in pq.read_table(artifact.file("files.parquet")).to_pylist()}


@pytest.mark.parametrize(("path", "reason"), [(path, reason) for path, (_, reason) in LEFT_OUT.items()])
def test_a_file_left_out_says_why(rows: dict[str, dict[str, object]], path: str, reason: str) -> None:
    assert (rows[path]["status"], rows[path]["reason"]) == ("skipped", reason)


@pytest.mark.parametrize("path", [path for path in LINKS if path.endswith((".cc", ".h"))])
def test_a_link_is_neither_followed_nor_made(rows: dict[str, dict[str, object]], path: str) -> None:
    assert (rows[path]["status"], rows[path]["reason"]) == ("skipped", policy.SYMLINK)


@pytest.mark.parametrize("path", TAKEN)
def test_a_file_taken_keeps_its_bytes_and_is_flagged(
    artifact: Artifact, rows: dict[str, dict[str, object]], path: str
) -> None:
    data, flags = TAKEN[path]
    assert (rows[path]["status"], rows[path]["flags"]) == ("clean", flags)
    (record,) = (record for record in read_records(artifact, DOCUMENT_TOKENS) if record[c.FILEPATH] == path)
    (part,) = record[c.CONSTITUENTS]
    assert (part["encoding"], part["byte_start"]) == (rows[path]["encoding"], record[c.BYTE_START])
    assert record[c.TEXT].encode(part["encoding"]) == data[record[c.BYTE_START] : record[c.BYTE_END]]
    assert "\ufeff" not in record[c.TEXT] and rows[path]["bytes"] == len(data)


def test_a_file_that_a_tool_wrote_is_context_and_has_no_document(
    artifact: Artifact, rows: dict[str, dict[str, object]]
) -> None:
    assert (rows["made.h"]["status"], rows["made.h"]["flags"]) == ("clean", [policy.GENERATED])
    records = {record[c.FILEPATH]: record for record in read_records(artifact, DOCUMENT_TOKENS)}
    assert "made.h" not in records and "int made(int value)" in records["uses.cc"][c.TEXT]
    skipped = pq.read_table(artifact.file("skipped.parquet")).to_pylist()
    assert [row["reason"] for row in skipped if row["filepath"] == "made.h"] == [policy.GENERATED]


def test_the_statistics_count_each_reason_and_every_check_passes(artifact: Artifact) -> None:
    counted = artifact.manifest.stats["skipped_files_by_reason"]
    assert counted[policy.EMPTY] == 2 and counted[policy.SYMLINK] >= 4
    assert set(counted) <= set(policy.POLICY)
    assert [result.name for result in check(artifact) if not result.passed] == []


def test_git_is_what_the_links_are_made_with(artifact: Artifact) -> None:
    listed = git(artifact.root.parent / "upstream", "ls-files", "-s", "host.cc")
    assert listed.startswith("120000")
