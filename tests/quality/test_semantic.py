"""Tests of the checks of `semantic_jsonl`: all pass on real output, and each alone fails on its own fault."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import DOCUMENT_TOKENS, LEFT_OUT, SYNTHETIC_ROLE, TRAIN_SPLIT, VALID_SPLIT
from megacpp_assets.quality.reading import semantic_records
from megacpp_assets.quality.reading.valid_records import is_described_by_head, record_key
from megacpp_assets.quality.semantic import CHECKS, FEW_LEFT_OUT, check
from megacpp_assets.semantic.commands.toolchain import find_toolchain
from megacpp_assets.semantic.documents.roots import held_out
from megacpp_assets.semantic.stage import run, target
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.budgets import BUDGETS
from megacpp_assets.storage.jsonl import Line, read_lines, write_lines
from megacpp_assets.storage.root.layout import checked_cache_path
from tests.quality.planting import Row, rewrite, seal
from tests.semantic.repositories import FILES, semantic_spec
from tests.storage.records import plain_records

Record = dict[str, Any]
Change = Callable[[list[Record]], object]


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A data root with a published semantic artifact, and the artifact's path."""
    base = tmp_path_factory.mktemp("pristine")
    spec = semantic_spec(base, base / "data", find_toolchain())
    run(spec)
    return spec.root, target(spec).path


@pytest.fixture
def artifact(pristine: tuple[Path, str], tmp_path: Path) -> Artifact:
    root, path = pristine
    shutil.copytree(root, tmp_path / "data")
    return open_artifact(tmp_path / "data", path)


def _planted(artifact: Artifact, change: Change) -> Artifact:
    records = plain_records(artifact, DOCUMENT_TOKENS)
    change(records)
    lines = b"".join(orjson.dumps(record) + b"\n" for record in records)
    write_lines(artifact.file(c.of_budget(DOCUMENT_TOKENS, c.jsonl_shard(0))), [lines])
    return seal(artifact)


def _failed(artifact: Artifact) -> list[str]:
    return [result.name for result in check(artifact) if not result.passed]


def _document(records: list[Record], name: str) -> Record:
    return next(record for record in records if record[c.CHUNK_BOUNDARIES][-1]["name"] == name)


def test_all_checks_pass_on_what_the_stage_publishes(artifact: Artifact) -> None:
    results = check(artifact)
    assert [result.name for result in results] == [check.name for check in CHECKS]
    assert [result for result in results if not result.passed] == []


def _swap_text(records: list[Record]) -> None:
    record = _document(records, "main")
    record[c.TEXT] = record[c.TEXT].replace("SIDE", "EDIS")


def _stray_separator(records: list[Record]) -> None:
    record = _document(records, "main")
    at = record[c.CONSTITUENTS][0]["char_end"]
    record[c.TEXT] = record[c.TEXT][:at] + "x" + record[c.TEXT][at + 1 :]


def _overlap(records: list[Record]) -> None:
    chunks = _document(records, "main")[c.CHUNK_BOUNDARIES]
    chunks[1]["char_offset"] = chunks[0]["char_end"] - 1


def _twice(records: list[Record]) -> None:
    """The first slice again at the end, as if it had been brought along twice."""
    record = _document(records, "main")
    first = record[c.CONSTITUENTS][0]
    place = slice(first["char_start"], first["char_end"])
    moved = {"char_start": len(record[c.TEXT]), "char_end": len(record[c.TEXT]) + place.stop - place.start}
    record[c.CONSTITUENTS].append({**first, **moved})
    for name in (c.TEXT, *c.CHAR_COLUMNS):
        record[name] += record[name][place]


def _raise_a_leaf(records: list[Record]) -> None:
    record = _document(records, "main")
    used = record[c.CALL_EDGES][0]["callee_idx"]
    record[c.CHUNK_BOUNDARIES][used]["dep_level"] = 99


FAULTS: dict[str, tuple[Change, str]] = {
    "a column one value short": (
        lambda records: records[0][c.DEF_USE].pop(),
        "columns_match_text",
    ),
    "a tenth category": (
        lambda records: records[0][c.STRUCTURE_IDS].__setitem__(0, 9),
        "categories_are_known",
    ),
    "a chunk kind of another table": (
        lambda records: records[0][c.CHUNK_BOUNDARIES][0].update(kind="root"),
        "categories_are_known",
    ),
    "two chunks over one character": (_overlap, "chunks_are_ordered_in_text"),
    "a chunk past the text": (
        lambda records: records[0][c.CHUNK_BOUNDARIES][-1].update(char_end=10**6),
        "chunks_are_ordered_in_text",
    ),
    "a callee above its caller": (_raise_a_leaf, "levels_follow_edges"),
    "another text than the blob's": (_swap_text, "text_is_the_commits"),
    "a joiner that is no blank": (_stray_separator, "text_is_the_commits"),
    "a symbol that the table does not name": (
        lambda records: records[0][c.SYMBOL_IDS].__setitem__(0, 7),
        "symbols_are_named",
    ),
    "a callee that the table does not name": (
        lambda records: records[0][c.CALL_TARGETS].__setitem__(0, 7),
        "symbols_are_named",
    ),
    "a type that the table does not name": (
        lambda records: records[0][c.TYPE_REFS].__setitem__(0, 7),
        "symbols_are_named",
    ),
    "a byte of a file twice": (_twice, "bytes_stand_once"),
    "context that claims to be a root's end": (
        lambda records: _document(records, "main")[c.ROLES].__setitem__(0, SYNTHETIC_ROLE),
        "roles_recorded",
    ),
    "a platform that no line tells": (
        lambda records: records[0][c.PLATFORM_IDS].insert(0, 2),
        "platforms_recorded",
    ),
    "another standard than the parse's": (
        lambda records: records[0].update({c.PLATFORM_IDS: [110]}),
        "platforms_recorded",
    ),
    "a platform twice": (
        lambda records: records[0].update({c.PLATFORM_IDS: [109, 109]}),
        "platforms_recorded",
    ),
    "another commit": (
        lambda records: records[0].update({c.COMMIT: "0" * 40}),
        "pinned_commit",
    ),
    "an id used twice": (
        lambda records: records[0].update({c.DOC_ID: records[1][c.DOC_ID]}),
        "document_ids_unique",
    ),
}


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(("change", "name"), FAULTS.values(), ids=FAULTS.keys())
def test_a_planted_fault_is_caught_by_its_check_alone(
    artifact: Artifact, change: Change, name: str, *, known: bool
) -> None:
    if known:
        check(artifact)
    assert _failed(_planted(artifact, change)) == [name]


def _no_record(line: Line) -> Record:
    raise AssertionError(f"{line.place} is read")


def test_records_that_were_found_sound_are_not_read_again(artifact: Artifact, monkeypatch: pytest.MonkeyPatch) -> None:
    first = check(artifact)
    monkeypatch.setattr(Line, "record", _no_record)
    assert check(artifact) == first


def test_a_record_that_broke_a_rule_breaks_it_again(artifact: Artifact) -> None:
    planted = _planted(artifact, _swap_text)
    assert _failed(planted) == _failed(planted) == ["text_is_the_commits"]


def test_what_is_known_of_records_is_not_believed_once_it_is_damaged(
    artifact: Artifact, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(artifact)
    (entry,) = (path for path in (artifact.root / checked_cache_path()).rglob("*") if path.is_file())
    damaged = bytearray(entry.read_bytes())
    damaged[-1] ^= 1
    entry.write_bytes(damaged)
    monkeypatch.setattr(Line, "record", _no_record)
    with pytest.raises(AssertionError, match="is read"):
        check(artifact)


def test_a_record_is_known_under_another_reference_and_beside_the_same_files_alone(artifact: Artifact) -> None:
    line = next(read_lines(artifact, DOCUMENT_TOKENS))
    head, behind = line.head()
    key = record_key(head, behind, ["c++17"])
    assert record_key(head | {c.REF: "v2", c.COMMIT: "f" * 40}, behind, ["c++17"]) == key
    others = [
        *(record_key(head | {name: "x"}, behind, ["c++17"]) for name in head.keys() - {c.REF, c.COMMIT}),
        record_key(head, behind + b" ", ["c++17"]),
        record_key(head, behind, ["c++20"]),
    ]
    assert key not in others and len(set(others)) == len(others)
    assert is_described_by_head(head, behind, line.record())
    assert not is_described_by_head(head, behind[:-2] + b',"ref":"v1"}', line.record())
    assert not is_described_by_head(head, behind, line.record() | {c.LICENSE: "MIT, or not"})


def test_an_edge_past_the_chunks_is_caught(artifact: Artifact) -> None:
    def change(records: list[Record]) -> None:
        _document(records, "main")[c.CALL_EDGES][0]["callee_idx"] = 999

    assert "edges_inside_chunks" in _failed(_planted(artifact, change))


def test_a_lost_document_is_caught_with_its_definition(artifact: Artifact) -> None:
    def change(records: list[Record]) -> None:
        records.remove(_document(records, "main"))

    assert _failed(_planted(artifact, change)) == ["has_documents", "definitions_are_placed"]


def test_a_document_that_one_budget_lost_is_caught_though_another_has_it(tmp_path: Path) -> None:
    spec = semantic_spec(tmp_path, tmp_path / "data", find_toolchain(), (4096, 65_536))
    artifact = run(spec)
    assert _failed(artifact) == []
    records = plain_records(artifact, 65_536)
    kept = [record for record in records if record is not _document(records, "main")]
    write_lines(artifact.file("65536/shard_00000.jsonl.zst"), [b"".join(orjson.dumps(each) + b"\n" for each in kept)])
    found = {result.name: result.found for result in check(seal(artifact)) if not result.passed}
    assert [*found] == ["has_documents", "definitions_are_placed"]
    assert found["definitions_are_placed"].endswith("at 65536 tokens")


def test_a_root_that_comes_twice_is_caught(artifact: Artifact, monkeypatch: pytest.MonkeyPatch) -> None:
    def change(records: list[Record]) -> None:
        records.append({**records[0], c.DOC_ID: "0" * 32})

    monkeypatch.setattr(semantic_records, "ROOT_BYTES", 20)
    assert _failed(_planted(artifact, change)) == ["has_documents", "roots_unique"]


def test_a_held_out_definition_in_a_document_that_trains_is_caught(artifact: Artifact) -> None:
    def change(records: list[Record]) -> None:
        held = next(record for record in records if record[c.SPLIT] == VALID_SPLIT)
        records.append({**held, c.DOC_ID: "0" * 32, c.SPLIT: TRAIN_SPLIT})

    planted = _planted(artifact, change)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(held_out, "DEFINITION_BYTES", 20)
        patched.setattr(held_out, "LEAST_RUNS", 1)
        assert _failed(planted) == ["has_documents", "no_validation_leak"]


def test_a_repository_whose_text_is_mostly_held_out_warns_unless_the_recipe_holds_it_out(artifact: Artifact) -> None:
    def change(records: list[Record]) -> None:
        for record in records:
            record[c.SPLIT] = VALID_SPLIT

    planted = _planted(artifact, change)
    (warned,) = (result for result in check(planted) if not result.passed)
    assert (warned.name, warned.blocking) == ("most_text_trains", False)
    assert warned.found.startswith("0 of ") and "holdout.salt" in warned.found
    config = planted.manifest.config
    held = config["holdout"] | {"repositories": [config["repo"]]}
    assert _failed(replace(planted, manifest=replace(planted.manifest, config=config | {"holdout": held}))) == []


def _with_failed(artifact: Artifact, number: int) -> Artifact:
    def change(rows: list[Row]) -> None:
        for row in [row for row in rows if row["status"] != "skipped"][:number]:
            row["status"] = "failed"

    return rewrite(artifact, "files.parquet", change)


def test_too_many_failed_files_are_caught(artifact: Artifact) -> None:
    assert _failed(_with_failed(artifact, 2)) == ["files_parsed", "coverage_recorded"]


def test_one_file_may_fail_beside_others(artifact: Artifact) -> None:
    assert _failed(_with_failed(artifact, 1)) == ["coverage_recorded"]


def test_the_recipe_says_how_many_files_may_fail(artifact: Artifact) -> None:
    changed = _with_failed(artifact, 2)
    lenient = replace(changed.manifest, config={**changed.manifest.config, "failed_files_per_cent": 100.0})
    assert _failed(replace(changed, manifest=lenient)) == ["coverage_recorded"]


@pytest.mark.parametrize(("clean", "holds"), [(3, False), (4, True)])
def test_many_files_with_errors_are_warned_of_with_what_to_do(clean: int, holds: bool, artifact: Artifact) -> None:
    def change(rows: list[Row]) -> None:
        row, broken = dict(rows[0]), {"status": "errors", "reason": "'made.h' file not found"}
        rows[:] = [
            {**row, "filepath": f"{number}.cc", **({"status": "clean"} if number < clean else broken)}
            for number in range(16)
        ]

    [found] = [each for each in check(rewrite(artifact, "files.parquet", change)) if each.name == "units_clean"]
    assert (found.passed, found.blocking) == (holds, False)
    first = f"{16 - clean} files begin with the error: 'made.h' file not found"
    assert found.found.startswith(f"{clean} of 16 clean; {first}") and ("--configure" in found.found) is not holds


def test_a_coverage_that_the_statistics_tell_wrongly_is_caught(artifact: Artifact) -> None:
    def change(rows: list[Row]) -> None:
        next(row for row in rows if row["status"] != "skipped")["candidate_calls"] += 1

    assert _failed(rewrite(artifact, "files.parquet", change)) == ["coverage_recorded"]


@pytest.mark.parametrize(("count", "failed"), [(FEW_LEFT_OUT, []), (FEW_LEFT_OUT + 1, ["left_out_share"])])
def test_a_few_definitions_left_out_warn_and_a_larger_share_stops(
    artifact: Artifact, count: int, failed: list[str]
) -> None:
    def change(rows: list[Row]) -> None:
        reason = f"{LEFT_OUT}text_is_the_commits: src/a.cc:7"
        rows += [{**rows[0], "byte_start": number, "reason": reason} for number in range(count)]

    results = [result for result in check(rewrite(artifact, "skipped.parquet", change)) if not result.passed]
    assert [result.name for result in results] == [*failed, "nothing_left_out"]
    assert results[-1].found.startswith(f"{count} of ") and not results[-1].blocking
    assert "src/binary.cc:0 (text_is_the_commits: src/a.cc:7)" in results[-1].found


def test_a_symbol_without_its_row_is_caught(artifact: Artifact) -> None:
    def change(rows: list[Row]) -> None:
        rows[:] = [row for row in rows if row["qualified_name"] != "SIDE"]

    assert _failed(rewrite(artifact, "symbols.parquet", change)) == ["symbols_are_named"]


def test_a_row_with_the_id_of_another_name_is_caught(artifact: Artifact) -> None:
    def change(rows: list[Row]) -> None:
        rows[0]["qualified_name"] += "_"

    assert _failed(rewrite(artifact, "symbols.parquet", change)) == ["symbols_are_named"]


def test_a_file_left_out_for_no_stated_reason_is_caught(artifact: Artifact) -> None:
    def change(rows: list[Row]) -> None:
        next(row for row in rows if row["status"] == "skipped")["reason"] = ""

    assert _failed(rewrite(artifact, "files.parquet", change)) == ["reasons_are_stated", "coverage_recorded"]


@pytest.mark.parametrize("mode", ["database", "inferred", "nearest"])
def test_calls_that_stay_unresolved_warn_by_provenance(artifact: Artifact, mode: str) -> None:
    def change(rows: list[Row]) -> None:
        for row in rows:
            row["mode"] = mode
            row["calls"] += 100

    results = check(rewrite(artifact, "files.parquet", change))
    failed = [(result.name, result.blocking) for result in results if not result.passed]
    assert failed == [("coverage_recorded", True), (f"{mode}_calls_resolved", False)]


def test_a_configure_that_failed_warns_with_its_reason(artifact: Artifact) -> None:
    stats = {**artifact.manifest.stats, "configure": "cmake did not end in 300 s"}
    planted = replace(artifact, manifest=replace(artifact.manifest, stats=stats))
    (warned,) = (result for result in check(planted) if not result.passed)
    assert (warned.name, warned.blocking, warned.found) == ("arguments_as_asked", False, "cmake did not end in 300 s")


def test_documents_that_lost_context_to_a_rule_warn_with_the_rule(artifact: Artifact) -> None:
    [(budget, figures)] = artifact.manifest.stats[BUDGETS].items()
    assert "reduced" not in figures
    stats = {**artifact.manifest.stats, BUDGETS: {budget: {**figures, "reduced": {"bytes_stand_once": 3}}}}
    planted = replace(artifact, manifest=replace(artifact.manifest, stats=stats))
    (warned,) = (result for result in check(planted) if not result.passed)
    found = "3 documents, by rule: bytes_stand_once 3"
    assert (warned.name, warned.blocking, warned.found) == ("nothing_reduced", False, found)


def test_too_many_unlabelled_characters_are_caught(artifact: Artifact) -> None:
    def change(rows: list[Row]) -> None:
        rows[0]["unlabelled_characters"] = 10**6

    assert _failed(rewrite(artifact, "files.parquet", change)) == ["coverage_recorded", "characters_labelled"]


def test_a_denied_symbol_that_its_file_lacks_is_named_in_a_warning(tmp_path: Path) -> None:
    path = next(name for name, data in FILES.items() if b"int" in data.split())
    denied = ((path, "a::int"), (path, "longest_rum"), ("src/typo.cpp", "f"))
    made = run(replace(semantic_spec(tmp_path, tmp_path / "data", find_toolchain()), denied_symbols=denied))
    (warning,) = [each for each in check(made) if each.name == "denied_symbols_are_found" and not each.passed]
    assert not warning.blocking and warning.found == f"2 that are not: shape:{path}:longest_rum, shape:src/typo.cpp:f"
