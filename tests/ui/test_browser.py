"""What a person does in the UI, done in a real browser.

With MEGACPP_FULL_TESTS=1 each step leaves a picture in build/browser. Each takes three CPU seconds.
"""

from __future__ import annotations

import os
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

import pytest

from tests.pipeline.roots import megacpp_here
from tests.repos.git_tree import git
from tests.ui.running import RUNS, Ui, running_ui, status_of, wait_for

CHROMIUM = shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip("no chromium (apt-get install chromium)", allow_module_level=True)

from playwright.sync_api import Page, expect, sync_playwright  # noqa: E402

FIRST, SECOND, BARE, UNKNOWN = "drivers@v1.0.0", "drivers@v1.1.0", "drivers@v2.0.0", "drivers@v9.0.0"
REPOS = "/assets/mine/pinned_repos"
LINE_JOB = "mine__line__job"
CHECKPOINT = "/assets/mine/8k/trained_checkpoint?view=partitions&partition=base"
PICTURES = Path(__file__).parents[2] / "build" / "browser"
"""Of the last run, to be looked at; pytest's own folders are removed where all went well."""
PATIENCE = 300_000
"""Milliseconds that a run may take on a busy machine."""
FULL = os.environ.get("MEGACPP_FULL_TESTS") == "1"
NOTHING = "about:blank"
"""A page for the time in which nobody looks: the one of a run under way is drawn anew all the time."""
STILL = """
const still = new CSSStyleSheet();
still.replaceSync("*, *::before, *::after { animation: none !important; transition: none !important; }");
document.adoptedStyleSheets = [still];
"""
"""Without a graphics card each frame of a spinner is drawn by the processor, sixty a second."""


class Shoot(Protocol):
    """Takes a picture of a page, by default of the one that is open."""

    def __call__(self, name: str, page: Page = ...) -> None: ...


@pytest.fixture(scope="module")
def root(reported_line: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two repositories that were trained on, and reports. One has a later release, and one that lost its sources."""
    folder = tmp_path_factory.mktemp("browsed")
    root = Path(shutil.copytree(reported_line, folder / "data", symlinks=True))
    git(folder, "clone", "--quiet", str(root / "sample_git" / "sample-kernel.git"), "bare")
    git(folder / "bare", "rm", "-r", "--quiet", "*.c", "*.h")
    git(folder / "bare", "commit", "--quiet", "-m", "v2.0.0")
    git(folder / "bare", "tag", "v2.0.0")
    git(folder / "bare", "push", "--quiet", "origin", "v2.0.0")
    return root


@pytest.fixture(scope="module")
def ui(root: Path) -> Iterator[Ui]:
    with running_ui(root) as running:
        yield running


@pytest.fixture(scope="module")
def opened(ui: Ui) -> Iterator[Page]:
    """A browser of its own, in which somebody opened the address that the terminal printed."""
    with sync_playwright() as playwright:
        # Chromium's own sandbox does not start for root.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        page = browser.new_page(base_url=f"http://127.0.0.1:{ui.port}", viewport={"width": 1440, "height": 900})
        page.add_init_script(STILL)
        page.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        page.goto(f"/?token={ui.token}")
        expect(page).not_to_have_url("token")
        yield page
        browser.close()


@pytest.fixture(scope="module", autouse=True)
def pictures() -> None:
    shutil.rmtree(PICTURES, ignore_errors=True)
    PICTURES.mkdir(parents=True)


@pytest.fixture
def shoot(opened: Page, request: pytest.FixtureRequest) -> Shoot:
    """Of the page as it is: the picture's file has the test's name and the one that is given."""
    test_name = request.node.name.removeprefix("test_")

    def take(name: str, page: Page = opened) -> None:
        if FULL:
            page.screenshot(path=PICTURES / f"{test_name}, {name}.png")

    return take


def follow(page: Page, path: str) -> None:
    """Go to another page of Dagster's as its own links do: to load the whole UI again takes two CPU seconds."""
    page.evaluate("path => { history.pushState({}, '', path); dispatchEvent(new PopStateEvent('popstate')); }", path)


def test_a_run_of_the_command_line_is_opened_with_its_log(opened: Page, shoot: Shoot, ui: Ui) -> None:
    run = ui.graphql(RUNS)["runsOrError"]["results"][-1]
    follow(opened, "/overview/activity/timeline")
    expect(opened.get_by_text(LINE_JOB).first).to_be_visible()
    shoot("timeline")
    follow(opened, f"/runs/{run['runId']}")
    expect(opened.get_by_text("Finished execution of step").first).to_be_visible()
    expect(opened.get_by_text("trained_checkpoint", exact=True).first).to_be_visible()
    shoot("run")
    follow(opened, f"/runs/{run['runId']}?logType=stdout&logFileKey=command")
    expect(opened.get_by_text("packed_rows base/8k: started").first).to_be_visible()
    shoot("captured log")
    follow(opened, f"/runs/{run['runId']}")
    opened.get_by_text("Open in Launchpad").click()
    expect(opened.get_by_text("base/8k").first).to_be_visible()
    expect(opened.get_by_role("button", name="Launch Run")).to_be_enabled()
    shoot("launchpad")


@pytest.mark.campaign
def test_a_run_of_the_command_line_is_executed_again(opened: Page, shoot: Shoot, ui: Ui) -> None:
    """`tests/defs/test_one_way.py` does so without a browser."""
    before = ui.graphql(RUNS)["runsOrError"]["results"]
    opened.goto(f"/runs/{before[-1]['runId']}")
    opened.get_by_role("button", name="Re-execute all").first.click()
    (new,) = wait_for(lambda: [each for each in ui.graphql(RUNS)["runsOrError"]["results"] if each not in before])
    again = new["runId"]
    opened.goto(NOTHING)
    assert wait_for(lambda: status_of(ui, again) in ("SUCCESS", "FAILURE")) and status_of(ui, again) == "SUCCESS"
    opened.goto(f"/runs/{again}")
    expect(opened.get_by_text("complete already").first).to_be_visible()
    shoot("executed again")


def add(page: Page, tag: str) -> None:
    """Save the tag in the dialog that adds a partition."""
    page.goto(f"{REPOS}?view=partitions")
    page.get_by_role("button", name="Materialize").first.click()
    page.get_by_text("Add a partition").click()
    page.get_by_placeholder("name", exact=True).fill(tag)
    page.get_by_role("button", name="Save").click()


def choose(page: Page, tag: str) -> None:
    """Tick the added tag in the list of partitions.

    The page is loaded again first: a list that Dagster loaded before the tag was added never shows it.
    """
    page.goto(f"{REPOS}?view=partitions")
    expect(page.get_by_text(tag).first).to_be_visible()
    page.get_by_role("button", name="Materialize").first.click()
    dialog = page.get_by_role("dialog").first
    dialog.locator('[aria-haspopup="dialog"]').click()
    row = page.get_by_role("menuitem").filter(has=page.locator(f'[data-tooltip="{tag}"]'))
    expect(row).to_be_visible()
    if not row.get_by_role("checkbox").is_checked():
        row.click()
    expect(row.get_by_role("checkbox")).to_be_checked()
    page.keyboard.press("Escape")
    expect(row).to_have_count(0)
    expect(dialog.get_by_text("1 partition", exact=True)).to_be_visible()


@pytest.mark.campaign
def test_a_tag_is_added_materialised_and_watched_to_its_end(opened: Page, shoot: Shoot) -> None:
    """Its dot is watched until the run has ended. `test_server.py` adds a tag and runs a job without a browser."""
    add(opened, SECOND)
    expect(opened.get_by_role("button", name="Save")).to_have_count(0)
    choose(opened, SECOND)
    shoot("added")
    opened.get_by_role("button", name="Launch").last.click()
    expect(opened.get_by_text("Materializing (1)")).to_be_visible()
    shoot("under way")
    expect(opened.get_by_text("Materializing (0)")).to_be_visible()
    expect(opened.get_by_text("Materialized (4)")).to_be_visible()
    opened.goto(f"{REPOS}?view=partitions&partition={quote(SECOND)}")
    expect(opened.get_by_text("source files")).to_be_visible()
    shoot("materialised")


def test_a_key_that_is_no_partition_is_rejected_in_the_dialog_with_the_reason(opened: Page, shoot: Shoot) -> None:
    """`test_server.py` tries more of them, and that none is added."""
    add(opened, UNKNOWN)
    expect(opened.get_by_text("found tags v1.0.0, v1.1.0, v2.0.0").first).to_be_visible()
    shoot("refused")


def test_the_short_name_of_an_asset_finds_it(opened: Page, shoot: Shoot) -> None:
    opened.goto("/assets/packed_rows?view=partitions&partition=base")
    expect(opened.locator('img[alt="sample text"]').first).to_be_visible()
    assert opened.locator('img[alt="sample text"]').first.evaluate("picture => picture.naturalWidth") > 0
    shoot("packed rows")
    opened.goto(f"/assets/semantic_jsonl?view=partitions&partition={quote(FIRST)}")
    expect(opened.get_by_text("calls resolved (%)").first).to_be_visible()
    shoot("documents")


@pytest.mark.campaign
def test_a_backfill_is_launched_and_succeeds(opened: Page, shoot: Shoot, ui: Ui) -> None:
    """`test_backfill.py` has one without a browser."""
    opened.goto("/assets/mine/8k/packed_rows?view=partitions")
    opened.get_by_role("button", name="Materialize").first.click()
    dialog = opened.get_by_role("dialog")
    dialog.get_by_role("button", name="All", exact=True).click()
    expect(dialog.get_by_text("2 partitions")).to_be_visible()
    shoot("backfill")
    dialog.get_by_role("button", name="Launch").click()
    expect(dialog).to_have_count(0)
    opened.goto(NOTHING)
    assert wait_for(lambda: ended(ui)) == "COMPLETED_SUCCESS"
    opened.goto("/runs")
    expect(opened.get_by_text("2 partitions").first).to_be_visible()
    shoot("backfills")


def ended(ui: Ui) -> str:
    """How the backfill ended, or nothing while it is under way."""
    known = ui.graphql("{ partitionBackfillsOrError { ... on PartitionBackfills { results { status } } } }")
    status = [each["status"] for each in known["partitionBackfillsOrError"]["results"]]
    return "".join(each for each in status if each not in ("REQUESTED", "STARTED"))


def test_a_failed_check_says_why(opened: Page, shoot: Shoot, root: Path) -> None:
    done = megacpp_here(root, "run", "--refs", BARE, "--until", "pinned_repos")
    assert done.returncode == 1 and "0 of 4 entries" in done.stderr
    opened.goto(f"{REPOS}?view=checks&checkDetail=has_sources")
    expect(opened.get_by_text("at least one C or C++ file").last).to_be_visible()
    expect(opened.get_by_text("Failed", exact=True).first).to_be_visible()
    expect(opened.get_by_text(BARE).first).to_be_visible()
    expect(opened.get_by_text("0 of 4 entries").first).to_be_visible()
    shoot("failed check")


def test_a_checkpoint_says_its_tokenizers_commit_and_leads_to_its_audit(opened: Page, shoot: Shoot, root: Path) -> None:
    commit = tomllib.loads((root / "corpus.lock").read_text())["dataset"]["mine"]["tokenizer"]["commit"]
    opened.goto(CHECKPOINT)
    expect(opened.locator('img[alt="loss curve"]').first).to_be_visible()
    shoot("checkpoint")
    expect(opened.get_by_text(f"{commit[:12]}…").first).to_be_visible()
    opened.locator('a[href*="/megacpp/audit/"]').first.click()
    expect(opened).to_have_title("Audit of checkpoints/mine/base/8k/step_00000004")
    expect(opened.get_by_text(commit).first).to_be_visible()
    shoot("audit page")
    opened.get_by_role("link", name="Asset graph").click()
    expect(opened.get_by_text("Global asset lineage").first).to_be_visible()


def test_recorded_reports_their_table_plots_and_docs_open(opened: Page, shoot: Shoot) -> None:
    opened.goto("/megacpp/reports")
    expect(opened.get_by_text("of calls resolved").first).to_be_visible()
    expect(opened.locator("svg").first).to_be_visible()
    expect(opened.get_by_text("Built by megacpp quality on 20").first).to_be_visible()
    shoot("page")
    opened.get_by_role("link", name="Asset graph").click()
    expect(opened.get_by_text("Global asset lineage").first).to_be_visible()
    opened.goto("/megacpp/docs")
    expect(opened.get_by_text("of calls resolved").first).to_be_visible()
    shoot("first page of dbt's docs")
    opened.goto("/assets")
    expect(opened.get_by_text("mine / v6_enriched").first).to_be_visible()
    expect(opened.get_by_text("Loading")).to_have_count(0)
    expect(opened.get_by_text("Never materialized")).to_have_count(0)
    shoot("catalogue")
    opened.goto("/assets/z_reports/corpus_by_repository")
    expect(opened.get_by_text("Row count").first).to_be_visible()
    shoot("table")
    with opened.expect_popup() as clicked:
        opened.locator('a[href*="/megacpp/docs"]').first.click()
    docs = clicked.value
    expect(docs.get_by_text("corpus_by_repository").first).to_be_visible()
    expect(docs.get_by_text("Columns", exact=True).first).to_be_visible()
    shoot("docs of the table", docs)
    docs.close()
