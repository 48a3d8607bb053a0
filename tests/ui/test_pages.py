"""Pages of the data root in the UI: the audit of a checkpoint and dbt's docs, and no other file of it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from megacpp_assets.contract.columns import COMPLETE_FILE, MANIFEST_FILE
from megacpp_assets.contract.lock.corpus_lock import CorpusLock
from megacpp_assets.contract.recipe.text import load_recipe
from megacpp_assets.defs.showing.gallery import picture_file
from megacpp_assets.defs.showing.paths import AUDIT_PAGE, DOCS_PAGE, PICTURE_PAGE, REPORTS_PAGE
from megacpp_assets.lineage.history import read_history
from megacpp_assets.lineage.queries import known_checkpoint
from megacpp_assets.reports.place import docs, page
from megacpp_assets.storage.root.lock_file import update_lock
from megacpp_assets.storage.root.recipes import keep_recipe
from megacpp_assets.ui.pages import routes_of
from tests.lineage.world import DATASET, World, corpus

CHECKPOINT = f"checkpoints/{DATASET}/base/4k/step_00000020"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return corpus(tmp_path / "data")


@pytest.fixture
def pages(world: World) -> TestClient:
    return TestClient(Starlette(routes=routes_of(world.root)))


def manifest_of(world: World) -> str:
    return known_checkpoint(read_history(world.root), CHECKPOINT).sha256


def policy(headers: object) -> dict[str, list[str]]:
    said = str(headers["content-security-policy"]).split(";")  # type: ignore[index]
    return {name: sources for name, *sources in map(str.split, said)}


def test_the_audit_page_of_a_checkpoint_says_its_tokenizers_commit_and_may_run_no_script(
    world: World, pages: TestClient
) -> None:
    answer = pages.get(f"{AUDIT_PAGE}/{manifest_of(world)}")
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/html")
    assert "a" * 40 in answer.text and CHECKPOINT in answer.text and "Other files of this export" not in answer.text
    said = policy(answer.headers)
    assert said["default-src"] == ["'none'"] and said["sandbox"] == ["allow-same-origin"] and "script-src" not in said
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_checkpoint_that_was_replaced_keeps_its_page(world: World, pages: TestClient) -> None:
    earlier = manifest_of(world)
    enriched = [f"enriched/{DATASET}/{key}" for key in ("fmt@11.0.0", "folly@2")]
    world.checkpoint("base/4k", f"tokenizer/{DATASET}", *enriched, weights=b"other")
    assert manifest_of(world) != earlier
    assert pages.get(f"{AUDIT_PAGE}/{earlier}").status_code == 200
    shutil.rmtree(world.root / CHECKPOINT)
    assert pages.get(f"{AUDIT_PAGE}/{earlier}").status_code == 200


@pytest.mark.parametrize(
    "name",
    [
        "%2e%2e",
        "..%2f..%2fcorpus.lock",
        "a" * 63,
        "A" * 64,
        "0" * 64,
        "%00" * 64,
        "*",
        CHECKPOINT.replace("/", "%2f"),
    ],
)
def test_nothing_but_the_hash_of_a_known_checkpoint_is_answered(world: World, pages: TestClient, name: str) -> None:
    assert (world.root / CHECKPOINT / MANIFEST_FILE).is_file()
    answer = pages.get(f"{AUDIT_PAGE}/{name}")
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/plain") and DATASET not in answer.text


def test_a_manifest_of_another_stage_has_no_page(world: World, pages: TestClient) -> None:
    history = read_history(world.root)
    assert pages.get(f"{AUDIT_PAGE}/{history.on_disk[f'tokenizer/{DATASET}']}").status_code == 404


@pytest.mark.parametrize(
    ("name", "leads_to"),
    [
        ("pinned_repos", f"/assets/{DATASET}/pinned_repos"),
        ("packed_rows?view=partitions", f"/assets/{DATASET}/4k/packed_rows?view=partitions"),
        ("corpus_by_licence", "/assets/z_reports/corpus_by_licence"),
    ],
)
def test_the_short_name_of_an_asset_leads_to_it(name: str, leads_to: str, tmp_path: Path) -> None:
    recipe = keep_recipe(tmp_path, load_recipe("sample"))
    update_lock(tmp_path, lambda lock: lock.with_corpus(CorpusLock(DATASET, recipe)))
    answer = TestClient(Starlette(routes=routes_of(tmp_path))).get(f"/assets/{name}", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, leads_to)


def test_a_picture_is_served_by_its_manifest_and_name_alone(world: World, pages: TestClient) -> None:
    file = picture_file(world.root, "a" * 64, "loss_curve")
    file.parent.mkdir(parents=True)
    file.write_text("<svg/>")
    answer = pages.get(f"{PICTURE_PAGE}/{'a' * 64}/loss_curve")
    assert answer.text == "<svg/>" and answer.headers["content-type"].startswith("image/svg+xml")
    assert policy(answer.headers)["sandbox"] == []
    for other in (f"{'a' * 64}/other", f"{'a' * 63}/loss_curve", f"{'a' * 64}/..%2floss_curve", "..%2f..%2fx/y"):
        assert pages.get(f"{PICTURE_PAGE}/{other}").status_code == 404


@pytest.mark.parametrize("place", [REPORTS_PAGE, DOCS_PAGE])
def test_before_the_reports_are_built_a_page_says_what_to_run(world: World, pages: TestClient, place: str) -> None:
    missing = pages.get(place)
    assert missing.status_code == 404 and missing.headers["content-type"].startswith("text/html")
    assert f"megacpp quality --data-root {world.root}" in missing.text and 'href="/asset-groups"' in missing.text


def test_the_page_of_the_reports_runs_no_script_and_leads_to_the_asset_graph(world: World, pages: TestClient) -> None:
    page(world.root).parent.mkdir(parents=True)
    page(world.root).write_text("<title>reports</title><body>\n</body>")
    answer = pages.get(REPORTS_PAGE)
    said = policy(answer.headers)
    assert said["default-src"] == ["'none'"] and said["sandbox"] == ["allow-same-origin"] and "script-src" not in said
    assert 'href="/asset-groups"' in answer.text and f'href="{DOCS_PAGE}"' in answer.text


def test_the_page_of_the_reports_says_if_artifacts_are_newer(world: World, pages: TestClient) -> None:
    page(world.root).parent.mkdir(parents=True)
    page(world.root).write_text("<body>\n</body>")
    assert "Artifacts made after these reports" not in pages.get(REPORTS_PAGE).text
    seal = world.root / CHECKPOINT / COMPLETE_FILE
    os.utime(seal, (seal.stat().st_atime, page(world.root).stat().st_mtime + 1))
    assert "Artifacts made after these reports: 1." in pages.get(REPORTS_PAGE).text


def test_dbts_docs_are_served_with_scripts_that_belong_to_nobody(world: World, pages: TestClient) -> None:
    docs(world.root).parent.mkdir(parents=True)
    docs(world.root).write_text("<title>docs</title>")
    answer = pages.get(DOCS_PAGE)
    said = policy(answer.headers)
    assert answer.text == "<title>docs</title>" and answer.headers["content-type"].startswith("text/html")
    assert said["sandbox"] == ["allow-scripts"], "without allow-same-origin the door takes nothing from them"
    assert said["default-src"] == ["'none'"] and "connect-src" not in said
