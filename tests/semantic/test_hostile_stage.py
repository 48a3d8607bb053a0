"""The whole stage over a repository that means harm: it ends, stays in its folder, leaks nothing, loses no good file.

MEGACPP_FULL_TESTS=1 makes it 1,000 good files instead of 20, and every bomb at ten times the size.
"""

from __future__ import annotations

import logging
import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from megacpp_assets.compute.executors.select import WORKERS_VARIABLE
from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import DOCUMENT_TOKENS
from megacpp_assets.contract.sources import file_policy as policy
from megacpp_assets.quality.semantic import check
from megacpp_assets.semantic.stage import run
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.jsonl import read_records
from tests.semantic import hostile_sources
from tests.semantic.hostile_repository import (
    everything,
    good,
    good_documents,
    kept,
    overheard,
    plant_canary,
    spec_of,
)  # fmt: skip

FULL = os.environ.get("MEGACPP_FULL_TESTS") == "1"
GOOD_PAIRS = 500 if FULL else 10
SHORT_BOMBS = (
    "parens",
    "nots",
    "braces",
    "hashes",
    "line",
    "one_identifier",
    "quotes",
    "self_include",
    "mutual",
    "crash",
)
REASONS = {
    "nul.cc": policy.BINARY, "utf32.cc": policy.UTF16, "utf16_no_mark.cc": policy.BINARY,
    "no_encoding.cc": policy.NOT_UTF8, "pointer.cc": policy.LFS_POINTER,
    "blank.cc": policy.EMPTY, "huge.cc": policy.TOO_LARGE,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Attack:
    """What came of a hostile run: its artifact, the canary's word, all that was printed or logged, folder listings."""

    artifact: Artifact
    word: str
    said: str
    before: set[str]
    after: set[str]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile_stage")


@pytest.fixture(scope="module")
def attack(base: Path, capture: pytest.MonkeyPatch) -> Attack:
    canary, word = plant_canary(base / "host" / "private")
    bombs = hostile_sources.bombs(10 if FULL else 1)
    chosen = {name: text for name, text in bombs.items() if FULL or name.split(".")[0].startswith(SHORT_BOMBS)}
    bad = hostile_sources.refused() | hostile_sources.reads(canary) | hostile_sources.odd() | chosen
    spec = spec_of(base, "mixed", good(GOOD_PAIRS) | {f"bad/{name}": text for name, text in bad.items()}, canary)
    scratch = base / "scratch"
    scratch.mkdir()
    capture.setattr(tempfile, "tempdir", str(scratch))
    capture.setenv("TMPDIR", str(scratch))
    capture.setenv("MEGACPP_TEST_SECRET", word)
    capture.setenv(WORKERS_VARIABLE, "2")
    said = base / "said.log"
    handler = logging.FileHandler(said)
    logging.getLogger().addHandler(handler)
    before = _listing(base, spec.root)
    with overheard(said):
        artifact = run(spec)
    logging.getLogger().removeHandler(handler)
    return Attack(artifact, word, said.read_text(errors="replace"), before, _listing(base, spec.root))


@pytest.fixture(scope="module")
def capture() -> pytest.MonkeyPatch:  # type: ignore[misc]
    with pytest.MonkeyPatch.context() as patch:
        yield patch


def _listing(base: Path, root: Path) -> set[str]:
    """Everything beside the data root: the sentinel folder, the scratch folder, the upstream, and this directory."""
    beside = (path for path in base.rglob("*") if root not in (path, *path.parents) and path.name != "said.log")
    return {*map(str, beside), *os.listdir(), *(f"/tmp/{name}" for name in os.listdir("/tmp") if "evil" in name)}


def test_good_files_give_the_same_documents_as_without_the_bad_ones(base: Path, attack: Attack) -> None:
    alone = run(spec_of(base, "alone", good(GOOD_PAIRS)))
    documents = good_documents(attack.artifact)
    assert len(documents) >= 3 * GOOD_PAIRS
    assert documents == good_documents(alone)


def test_nothing_is_written_outside_the_stages_folder(attack: Attack) -> None:
    assert attack.after == attack.before
    tops = {path.name for path in attack.artifact.root.iterdir()}
    assert tops == {"cache", "cpp_raw", "curated", "jsonl", "receipts", "manifests", ".locks"}


def test_no_file_of_the_host_reaches_an_output_a_log_or_the_metadata(attack: Attack) -> None:
    left = everything(attack.artifact)
    assert attack.word.encode() not in left
    assert "libclang: crash detected" in attack.said, "what workers print is heard"
    assert attack.word not in attack.said
    assert b"root:x:0" not in left and "root:x:0" not in attack.said
    assert len(kept(attack.artifact)) > 2 * GOOD_PAIRS
    assert str(attack.artifact.root).encode() not in left and b"megacpp-semantic-" not in left


def test_a_host_file_that_was_read_would_show_although_its_text_is_no_document(base: Path) -> None:
    canary, word = plant_canary(base / "opened")
    spec = spec_of(base, "control", hostile_sources.reads(canary))
    folder = str(canary.parent.resolve())
    names = (*spec.toolchain.header_names, (folder, folder))
    opened = replace(spec.toolchain, header_roots=(*spec.toolchain.header_roots, folder), header_names=names)
    artifact = run(replace(spec, toolchain=opened))
    assert not any(word in record[c.TEXT] for record in read_records(artifact, DOCUMENT_TOKENS))
    symbols = {row["qualified_name"] for row in pq.read_table(artifact.file("symbols.parquet")).to_pylist()}
    assert {word, f"{word}::{word}_member"} <= symbols
    assert any(word.encode() in entry for entry in kept(artifact))
    assert word.encode() in everything(artifact)


def test_every_bad_file_ends_as_a_document_or_with_a_reason(attack: Attack) -> None:
    rows = {row["filepath"]: row for row in pq.read_table(attack.artifact.file("files.parquet")).to_pylist()}
    for name, reason in REASONS.items():
        assert (rows[f"bad/{name}"]["status"], rows[f"bad/{name}"]["reason"]) == ("skipped", reason)
    for row in rows.values():
        assert row["status"] in {"clean", "errors"} or row["reason"], row
    assert {rows[path]["reason"] for path in ("host.cc", "up.cc", "loop.cc", "inside.cc")} == {"symbolic link"}
    assert sum(row["reason"] == "unsafe path" for row in rows.values()) >= 5


def test_odd_but_harmless_files_are_documents_byte_for_byte(attack: Attack) -> None:
    found = {record[c.FILEPATH] for record in read_records(attack.artifact, DOCUMENT_TOKENS)}
    for name in hostile_sources.odd():
        assert f"bad/{name}" in found, name
    broken = {result.name for result in check(attack.artifact) if not result.passed}
    assert broken <= {"files_parsed", "characters_labelled"}


def test_a_probe_sees_no_host_file(attack: Attack) -> None:
    rows = {row["filepath"]: row for row in pq.read_table(attack.artifact.file("files.parquet")).to_pylist()}
    assert rows["bad/probe.cc"]["errors"] == 1, "only the undeclared name: the host's files are not there"
    assert not any("reads outside" in row["reason"] for row in rows.values())
