"""What a person does in the UI, done in a real browser; each step leaves a picture in build/browser."""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

import megacpp_assets
from tests.pipeline.roots import megacpp, succeed
from tests.ui.running import RUNS, Ui, running_ui, status_of, wait_for

CHROMIUM = shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip("no chromium (apt-get install chromium)", allow_module_level=True)

from playwright.sync_api import Page, expect, sync_playwright  # noqa: E402

FIRST, SECOND, BARE, UNKNOWN = "drivers@v1", "drivers@v2", "drivers@v3", "drivers@v9"
REPOS = "/assets/browsed/pinned_repos"
LINE_JOB = "browsed__line__job"
CHECKPOINT = "/assets/browsed/4k/trained_checkpoint?view=partitions&partition=base"
PICTURES = Path(__file__).parents[2] / "build" / "browser"
"""Of the last run, to be looked at; pytest's own folders are removed where all went well."""
PATIENCE = 300_000
"""Milliseconds that a run may take on a busy machine."""
RECIPE = """
dataset = "browsed"
catalogue = "./catalogue.toml"
repos = ["drivers"]
curriculum = ["4k"]
[semantic]
chars_per_token = 1.8
parsed_documents = 0
[tokenizer]
vocabulary_size = 7680
[training]
layers = 1
hidden = 32
heads = 1
steps = 8
learning_rate = 3e-3
threads = 1
"""
Shoot = Callable[[str], None]


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(folder))
    subprocess.run(["git", *who, *arguments], check=True, capture_output=True)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One release that was trained on, one like it, and one that lost all of its sources."""
    folder = tmp_path_factory.mktemp("browsed")
    upstream = folder / "drivers"
    shutil.copytree(Path(megacpp_assets.__file__).parent / "sample" / "repos" / "sample-kernel", upstream)
    git(upstream, "init", "--quiet")
    for tag in ("v1", "v2"):
        (upstream / "NEWS").write_text(tag)
        git(upstream, "add", ".")
        git(upstream, "commit", "--quiet", "-m", tag)
        git(upstream, "tag", tag)
    git(upstream, "rm", "-r", "--quiet", "*.c", "*.h", "*.cpp", "*.hpp", "--ignore-unmatch")
    git(upstream, "commit", "--quiet", "-m", "v3")
    git(upstream, "tag", "v3")
    (folder / "catalogue.toml").write_text(f'[repo.drivers]\nurl = "{upstream}"\nref = "v1"\nlicense = "MIT"\n')
    (folder / "mine.toml").write_text(RECIPE)
    succeed(folder / "data", "run", "--recipe", str(folder / "mine.toml"))
    return folder / "data"


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
        page.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        page.goto(f"/?token={ui.token}")
        expect(page).not_to_have_url("token")
        yield page
        browser.close()


@pytest.fixture(scope="module")
def pictures() -> Path:
    shutil.rmtree(PICTURES, ignore_errors=True)
    PICTURES.mkdir(parents=True)
    return PICTURES


@pytest.fixture
def shoot(opened: Page, pictures: Path, request: pytest.FixtureRequest) -> Shoot:
    """Of the page as it is: the picture's file has the test's name and the one that is given."""
    test_name = request.node.name.removeprefix("test_")
    return lambda name: opened.screenshot(path=pictures / f"{test_name}, {name}.png") and None


def test_a_run_of_the_command_line_is_opened_and_executed_again(opened: Page, shoot: Shoot, ui: Ui) -> None:
    (run,) = ui.graphql(RUNS)["runsOrError"]["results"]
    opened.goto("/overview/activity/timeline")
    expect(opened.get_by_text(LINE_JOB).first).to_be_visible()
    shoot("timeline")
    opened.goto(f"/runs/{run['runId']}")
    expect(opened.get_by_text("Finished execution of step").first).to_be_visible()
    expect(opened.get_by_text("trained_checkpoint", exact=True).first).to_be_visible()
    shoot("run")
    opened.goto(f"/runs/{run['runId']}?logType=stdout&logFileKey=command")
    expect(opened.get_by_text("packed_rows base/4k: started").first).to_be_visible()
    shoot("captured log")
    opened.get_by_role("button", name="Re-execute all").first.click()
    again = wait_for(lambda: [each for each in ui.graphql(RUNS)["runsOrError"]["results"] if each != run])[0]["runId"]
    assert wait_for(lambda: status_of(ui, again) in ("SUCCESS", "FAILURE")) and status_of(ui, again) == "SUCCESS"
    opened.goto(f"/runs/{again}")
    expect(opened.get_by_text("complete already").first).to_be_visible()
    shoot("executed again")
    opened.goto(f"/runs/{run['runId']}")
    opened.get_by_text("Open in Launchpad").click()
    expect(opened.get_by_text("base/4k").first).to_be_visible()
    expect(opened.get_by_role("button", name="Launch Run")).to_be_enabled()
    shoot("launchpad")


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


def materialise(page: Page, shoot: Shoot, tag: str) -> None:
    """Add the tag in the dialog, launch it there, and watch its dot until the run has ended."""
    add(page, tag)
    expect(page.get_by_role("button", name="Save")).to_have_count(0)
    choose(page, tag)
    shoot("added")
    page.get_by_role("button", name="Launch").last.click()
    expect(page.get_by_text("Materializing (1)")).to_be_visible()
    shoot("under way")
    expect(page.get_by_text("Materializing (0)")).to_be_visible()


def test_a_tag_is_added_materialised_and_watched_to_its_end(opened: Page, shoot: Shoot) -> None:
    materialise(opened, shoot, SECOND)
    expect(opened.get_by_text("Materialized (2)")).to_be_visible()
    opened.goto(f"{REPOS}?view=partitions&partition={quote(SECOND)}")
    expect(opened.get_by_text("source files")).to_be_visible()
    shoot("materialised")


@pytest.mark.parametrize(
    ("key", "said"), [("driver@v2", "a pin of driver"), (UNKNOWN, "found tags v1, v2, v3")], ids=["name", "tag"]
)
def test_a_key_that_is_no_partition_is_rejected_in_the_dialog_with_the_reason(
    opened: Page, shoot: Shoot, key: str, said: str
) -> None:
    add(opened, key)
    expect(opened.get_by_text(said).first).to_be_visible()
    shoot("refused")
    opened.goto(f"{REPOS}?view=partitions")
    expect(opened.get_by_text(FIRST).first).to_be_visible()
    expect(opened.get_by_text(key)).to_have_count(0)


def test_the_short_name_of_an_asset_finds_it(opened: Page, shoot: Shoot) -> None:
    opened.goto("/assets/packed_rows?view=partitions&partition=base")
    expect(opened.locator('img[alt="sample text"]').first).to_be_visible()
    assert opened.locator('img[alt="sample text"]').first.evaluate("picture => picture.naturalWidth") > 0
    shoot("packed rows")
    opened.goto(f"/assets/semantic_jsonl?view=partitions&partition={quote(FIRST)}")
    expect(opened.get_by_text("calls resolved (%)").first).to_be_visible()
    shoot("documents")


def test_a_backfill_is_launched_and_succeeds(opened: Page, shoot: Shoot, ui: Ui) -> None:
    opened.goto(f"{REPOS}?view=partitions")
    opened.get_by_role("button", name="Materialize").first.click()
    dialog = opened.get_by_role("dialog")
    dialog.get_by_role("button", name="All", exact=True).click()
    expect(dialog.get_by_text("2 partitions")).to_be_visible()
    shoot("backfill")
    dialog.get_by_role("button", name="Launch").click()
    expect(dialog).to_have_count(0)
    assert wait_for(lambda: ended(ui)) == "COMPLETED_SUCCESS"
    opened.goto("/runs")
    expect(opened.get_by_text("2 partitions").first).to_be_visible()
    shoot("backfills")


def ended(ui: Ui) -> str:
    """How the backfill ended, or nothing while it is under way."""
    known = ui.graphql("{ partitionBackfillsOrError { ... on PartitionBackfills { results { status } } } }")
    status = [each["status"] for each in known["partitionBackfillsOrError"]["results"]]
    return "".join(each for each in status if each not in ("REQUESTED", "STARTED"))


def test_a_failed_check_says_why(opened: Page, shoot: Shoot) -> None:
    materialise(opened, shoot, BARE)
    expect(opened.get_by_text("Failed (1)")).to_be_visible()
    opened.goto(f"{REPOS}?view=checks&checkDetail=has_sources")
    expect(opened.get_by_text("at least one C or C++ file").last).to_be_visible()
    expect(opened.get_by_text("Failed", exact=True).first).to_be_visible()
    expect(opened.get_by_text(BARE).first).to_be_visible()
    expect(opened.get_by_text("0 of 7 entries").first).to_be_visible()
    shoot("failed check")


def test_a_checkpoint_says_its_tokenizers_commit_and_leads_to_its_audit(opened: Page, shoot: Shoot, root: Path) -> None:
    commit = tomllib.loads((root / "corpus.lock").read_text())["dataset"]["browsed"]["tokenizer"]["commit"]
    opened.goto(CHECKPOINT)
    expect(opened.locator('img[alt="loss curve"]').first).to_be_visible()
    shoot("checkpoint")
    expect(opened.get_by_text(f"{commit[:12]}…").first).to_be_visible()
    opened.locator('a[href*="/megacpp/audit/"]').first.click()
    expect(opened).to_have_title("Audit of checkpoints/browsed/base/4k/step_00000008")
    expect(opened.get_by_text(commit).first).to_be_visible()
    shoot("audit page")
    opened.get_by_role("link", name="Asset graph").click()
    expect(opened.get_by_text("Global asset lineage").first).to_be_visible()


def test_before_the_reports_are_built_their_page_says_what_to_run(opened: Page, shoot: Shoot, root: Path) -> None:
    opened.goto("/megacpp/reports")
    expect(opened.get_by_text(f"megacpp quality --data-root {root}")).to_be_visible()
    shoot("page")


def test_the_command_records_the_reports_and_their_table_plots_and_docs_open(
    opened: Page, shoot: Shoot, root: Path
) -> None:
    done = megacpp(root, "quality")
    assert "docs " in done.stdout, done.stderr
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
    expect(opened.get_by_text("browsed / v6_enriched").first).to_be_visible()
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
    docs.screenshot(path=PICTURES / "docs of the reports.png")
    docs.close()
