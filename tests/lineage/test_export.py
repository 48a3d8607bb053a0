"""What others read of a checkpoint's lineage is in their own formats, of the manifests alone, the same each time."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from megacpp_assets.contract.errors import EnvironmentLacks, LineageGap, SpecError
from megacpp_assets.contract.schemas import DESCRIPTIONS, PACKED
from megacpp_assets.lineage.export.attestations import KEY_VARIABLE, signed_bytes
from megacpp_assets.lineage.export.events import TIME_VARIABLE
from megacpp_assets.lineage.export.facts import read_chain
from megacpp_assets.lineage.export.write import CARD, EVENTS, LICENCES, PAGE, page_of, write_exports
from megacpp_assets.lineage.history import ManifestHistory, read_history
from megacpp_assets.lineage.queries import known_checkpoint
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.storage.root.layout import HISTORY
from tests.lineage.world import CURATED, DATASET, INDEXED, SCORED, World, corpus

CHECKPOINT = f"checkpoints/{DATASET}/base/4k/step_00000020"
Export = Callable[[], dict[str, bytes]]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    monkeypatch.delenv(TIME_VARIABLE, raising=False)
    return corpus(tmp_path / "data")


@pytest.fixture
def export(world: World, tmp_path: Path) -> Export:
    """Exports into a new folder and reads it back."""
    count = iter(range(100))

    def exported() -> dict[str, bytes]:
        folder = tmp_path / f"out{next(count)}"
        history = read_history(world.root)
        names = write_exports(history, known_checkpoint(history, CHECKPOINT), folder)
        files = {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
        assert sorted(files) == names
        return files

    return exported


def _chain(history: ManifestHistory) -> set[str]:
    return set(history.chain(known_checkpoint(history, CHECKPOINT)))


def test_equal_chains_give_equal_bytes(export: Export, tmp_path: Path) -> None:
    elsewhere = corpus(tmp_path / "elsewhere").root
    history = read_history(elsewhere)
    write_exports(history, known_checkpoint(history, CHECKPOINT), tmp_path / "twin")
    first = export()
    assert first == export()
    assert first == {name: (tmp_path / "twin" / name).read_bytes() for name in first}


def test_every_artifact_of_the_chain_is_the_output_of_one_completed_run(world: World, export: Export) -> None:
    events = [json.loads(line) for line in export()[EVENTS].splitlines()]
    made = [event["outputs"][0]["facets"]["version"]["datasetVersion"] for event in events]
    assert set(made) == _chain(read_history(world.root)) and len(made) == len(set(made))
    assert {event["eventType"] for event in events} == {"COMPLETE"}
    assert len({event["run"]["runId"] for event in events}) == len(events)
    for number, event in enumerate(events):
        read = {entry["facets"]["version"]["datasetVersion"] for entry in event["inputs"]}
        assert read <= set(made[:number]), "inputs are made before"


def test_the_time_of_events_is_the_one_that_is_asked_for(export: Export, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TIME_VARIABLE, "1700000000")
    assert b'"eventTime": "2023-11-14T22:13:20Z"' in export()[EVENTS]
    monkeypatch.setenv(TIME_VARIABLE, "yesterday")
    with pytest.raises(SpecError, match=rf"{TIME_VARIABLE}; expected seconds since 1970; found 'yesterday'"):
        export()


def _statements(files: dict[str, bytes]) -> dict[str, Any]:
    return {name: json.loads(data) for name, data in files.items() if name.startswith("attestations/")}


def test_there_is_a_statement_for_each_artifact_with_the_hashes_of_its_files(world: World, export: Export) -> None:
    statements = _statements(export())
    assert len(statements) == len(_chain(read_history(world.root)))
    found = statements[f"attestations/{CHECKPOINT}.intoto.json"]
    manifest = open_artifact(world.root, CHECKPOINT).manifest
    expected = {f"{CHECKPOINT}/manifest.json": manifest.sha256}
    expected |= {f"{CHECKPOINT}/{entry.name}": entry.sha256 for entry in manifest.files}
    assert {each["name"]: each["digest"]["sha256"] for each in found["subject"]} == expected
    inputs = found["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert {each["name"]: each["digest"]["sha256"] for each in inputs} == {
        entry.path: entry.manifest_sha256 for entry in manifest.inputs
    }
    source = statements["attestations/cpp_raw/fmt@11.0.0.intoto.json"]["predicate"]["buildDefinition"]
    assert source["resolvedDependencies"][0]["digest"] == {"gitCommit": "commit-of-fmt@11.0.0"}


def _pem(key: Any) -> bytes:
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return bytes(key.private_bytes(encoding, form, serialization.NoEncryption()))


def test_with_a_key_every_statement_is_signed(export: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, key = _statements(export()), Ed25519PrivateKey.generate()
    (tmp_path / "key.pem").write_bytes(_pem(key))
    monkeypatch.setenv(KEY_VARIABLE, str(tmp_path / "key.pem"))
    signed = _statements(export())
    assert len(signed) == len(plain)
    for name, statement in plain.items():
        envelope = signed[name.replace(".intoto.json", ".intoto.dsse.json")]
        payload = base64.b64decode(envelope["payload"])
        key.public_key().verify(base64.b64decode(envelope["signatures"][0]["sig"]), signed_bytes(payload))
        assert json.loads(payload) == statement


@pytest.mark.parametrize("content", [None, b"", b"secret", _pem(generate_private_key(SECP256R1()))])
def test_a_malformed_key_is_an_error_that_does_not_show_it(
    export: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, str(tmp_path / "key.pem"))
    if content is not None:
        (tmp_path / "key.pem").write_bytes(content)
    with pytest.raises(EnvironmentLacks, match=rf"{KEY_VARIABLE}; expected .*; found .*; what to do: openssl") as error:
        export()
    assert "secret" not in str(error.value) and "BEGIN" not in str(error.value)
    assert str(tmp_path / "key.pem") in str(error.value)
    assert not (tmp_path / "out0").exists()


def test_a_key_in_the_place_of_its_path_is_not_shown(export: Export, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, _pem(Ed25519PrivateKey.generate()).decode())
    with pytest.raises(EnvironmentLacks, match="a value that is no path") as error:
        export()
    assert "BEGIN" not in str(error.value)


def test_the_card_is_a_valid_croissant(
    world: World, export: Export, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    import mlcroissant  # two seconds, which only the worker of this test shall pay

    (tmp_path / "card.json").write_bytes(export()[CARD])
    with caplog.at_level(logging.WARNING):
        dataset = mlcroissant.Dataset(jsonld=str(tmp_path / "card.json"))
    assert not dataset.metadata.issues.errors
    assert "not standard" not in caplog.text


def test_the_card_has_a_sentence_for_each_column_and_an_address_for_each_licence(export: Export) -> None:
    card = json.loads(export()[CARD])
    for rows in card["recordSet"]:
        assert {field["name"]: field["description"] for field in rows["field"]} == {
            name: DESCRIPTIONS[name] for name in PACKED.names
        }
        (calls,) = [field for field in rows["field"] if field["name"] == "token_call_edges"]
        assert [member["name"] for member in calls["subField"]] == ["token_call_edges/from", "token_call_edges/to"]
    assert card["license"] == ["https://spdx.org/licenses/MIT"]


def test_the_card_counts_what_curation_dropped_and_replaced(export: Export) -> None:
    card = json.loads(export()[CARD])["description"]
    assert (
        "Curation dropped 4 of 14 files, licence 4; found secrets or personal data in 6 places and replaced 2" in card
    )
    assert "found benchmark answers in 0 files" in card
    assert "Deny lists left out 0 commits and 2 definitions." in card
    assert "Rules of the parser report: 0 few_calls_resolved, 2 many_parse_errors." in card
    scorer = f"A scorer (sha256 {'5f' * 32}) judged 10 files: 4 below the least score, 6 not below the least score."
    assert scorer in card


def test_licences_name_each_repository_with_its_commit_and_what_it_gave(export: Export) -> None:
    card = export()[LICENCES].decode()
    assert "| folly | 2 | `commit-of-folly@2` | MIT |" in card and "- absl 1, commit commit-of-absl@1" in card


def test_rows_are_those_of_the_checkpoints_own_phase(world: World) -> None:
    """The chain of a later phase holds the rows of the phases before too."""
    later = world.checkpoint(
        "base/64k", f"tokenizer/{DATASET}", f"enriched/{DATASET}/folly@2", goes_on_from=[CHECKPOINT]
    )
    history = read_history(world.root)
    chain = read_chain(history, known_checkpoint(history, later))
    assert [link.path for link in chain.of("packed_rows")] == [
        f"packed/{DATASET}/base/{name}" for name in ("4k", "64k")
    ]
    assert chain.packed.path == f"packed/{DATASET}/base/64k"


def test_every_export_is_of_the_phase_asked_for_whatever_the_names_of_those_before(
    world: World, tmp_path: Path
) -> None:
    """By name 16k comes before 4k, as short comes after long."""
    tokenizer, folly, last = f"tokenizer/{DATASET}", f"enriched/{DATASET}/folly@2", CHECKPOINT
    for phase in ("16k", "1k"):
        last = world.checkpoint(f"base/{phase}", tokenizer, folly, goes_on_from=[last])
    history = read_history(world.root)
    made = known_checkpoint(history, last)
    chain = read_chain(history, made)
    assert [link.path.split("/")[3] for link in chain.of("trained_checkpoint")] == ["4k", "16k", "1k"]
    write_exports(history, made, tmp_path / "out")
    assert f"Audit of {last}<" in (tmp_path / "out" / PAGE).read_text()
    assert f"Audit of {last}<" in page_of(history, made).decode()
    assert (tmp_path / "out" / LICENCES).read_text().startswith(f"# Sources of {last}\n")
    assert f"packed/{DATASET}/base/1k, manifest" in json.loads((tmp_path / "out" / CARD).read_bytes())["citeAs"]


class _Page(HTMLParser):
    """Text of a page, and every tag and address in it."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [str(value) for name, value in attrs if name in ("src", "href", "srcset")]

    def handle_data(self, data: str) -> None:
        self.text += data


def _read(page: bytes) -> _Page:
    parsed = _Page()
    parsed.feed(page.decode())
    return parsed


def test_the_page_needs_no_script_and_no_network_and_has_every_hash(world: World, export: Export) -> None:
    page = _read(export()[PAGE])
    assert page.links == [] and "script" not in page.tags and "svg" in page.tags
    history = read_history(world.root)
    assert all(sha256[:12] in page.text for sha256 in _chain(history))
    for entry in open_artifact(world.root, CHECKPOINT).manifest.files:
        assert entry.sha256 in page.text
    assert "commit-of-fmt@11.0.0" in page.text and "a" * 40 in page.text


def test_what_a_repository_calls_itself_cannot_become_part_of_the_page(world: World, export: Export) -> None:
    world.publish("pinned_repos", "absl@1", "cpp_raw/absl@1", config={
        "name": "<script>alert(1)</script>", "ref": "1", "commit": '"><img src=x>', "license": "<b>MIT",
    })  # fmt: skip
    tokenizer = world.tokenizer("a" * 40, "cpp_raw/absl@1", "cpp_raw/fmt@11.0.0")
    enriched = [world.repository(key, tokenizer=tokenizer) for key in ("fmt@11.0.0", "folly@2")]
    world.checkpoint("base/4k", tokenizer, *enriched)
    page = _read(export()[PAGE])
    assert {"script", "img", "b"}.isdisjoint(page.tags) and "<script>alert(1)</script>" in page.text


def test_a_checkpoint_whose_files_are_gone_is_exported_without_its_losses(world: World, tmp_path: Path) -> None:
    before = open_artifact(world.root, CHECKPOINT).manifest.sha256
    world.checkpoint("base/4k", f"tokenizer/{DATASET}", f"enriched/{DATASET}/folly@2", weights=b"other")
    history = read_history(world.root)
    write_exports(history, known_checkpoint(history, before), tmp_path / "out")
    assert b"no longer in this data root" in (tmp_path / "out" / PAGE).read_bytes()


def test_nothing_is_written_for_a_chain_that_lacks_a_manifest(world: World, export: Export, tmp_path: Path) -> None:
    sha256 = open_artifact(world.root, "cpp_raw/absl@1").manifest.sha256
    (world.root / HISTORY / sha256).unlink()
    (world.root / "cpp_raw/absl@1/_COMPLETE").unlink()
    with pytest.raises(LineageGap, match=r"cpp_raw/absl@1: manifest .* found neither"):
        export()
    assert not (tmp_path / "out0").exists()


def test_a_file_in_the_place_of_the_folder_is_rejected(world: World, tmp_path: Path) -> None:
    history = read_history(world.root)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(SpecError, match=r"--export .*file; expected a folder; found a file"):
        write_exports(history, known_checkpoint(history, CHECKPOINT), tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_licence_that_the_recipe_denies_is_not_one_of_the_rows(world: World, tmp_path: Path) -> None:
    """Its files were dropped. A licence that is unknown beside those of the files is in no section."""
    tokenizer, key = f"tokenizer/{DATASET}", "mixed@1"
    pin = {"name": "mixed", "ref": "1", "commit": "c", "license": "NOASSERTION"}
    raw = world.publish(
        "pinned_repos", key, f"cpp_raw/{key}", config=pin, stats={"licenses": ["GPL-3.0-or-later", "MIT"]}
    )
    rules = {**SCORED, "licenses_allowed": [], "licenses_denied": ["GPL-*"]}
    stats = {**CURATED, "licenses": {"GPL-3.0-or-later": 1, "MIT": 6}}
    curated = world.publish("curated_files", key, f"curated/{DATASET}/{key}", raw, config=rules, stats=stats)
    semantic = world.publish("semantic_jsonl", key, f"jsonl/{DATASET}/{key}", raw, curated, stats=INDEXED)
    tokens = world.publish("tokenized_parquet", key, f"parquet/{DATASET}/{key}", semantic, tokenizer)
    enriched = world.publish("v6_enriched", key, f"enriched/{DATASET}/{key}", tokens)
    made = world.checkpoint("base/4k", tokenizer, enriched)
    history = read_history(world.root)
    write_exports(history, known_checkpoint(history, made), tmp_path / "out")
    listed = (tmp_path / "out" / LICENCES).read_text()
    assert "| mixed | 1 | `c` | NOASSERTION | MIT |" in listed
    assert "GPL" not in listed and "## NOASSERTION" not in listed and "## MIT" in listed
    assert json.loads((tmp_path / "out" / CARD).read_bytes())["license"] == ["https://spdx.org/licenses/MIT"]
