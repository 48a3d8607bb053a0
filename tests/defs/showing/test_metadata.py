"""What the UI shows of a step: few figures first, pictures that need no click, and columns that say what they hold."""

from __future__ import annotations

import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from megacpp_assets.contract.columns import COMPLETE_FILE
from megacpp_assets.contract.recipe.text import load_recipe
from megacpp_assets.defs.showing.charts import bars, category_shares, line_chart
from megacpp_assets.defs.showing.figures import MOST, REST, figure
from megacpp_assets.defs.showing.gallery import picture_file
from megacpp_assets.defs.showing.metadata import describe
from megacpp_assets.defs.showing.paths import (
    AUDIT_PAGE,
    EARLIER_METADATA,
    HASHES_METADATA,
    MANIFEST_METADATA,
    PICTURE_PAGE,
)
from megacpp_assets.pipeline.corpus import open_corpus
from megacpp_assets.pipeline.execute import Done
from megacpp_assets.pipeline.receipts import Receipt
from megacpp_assets.pipeline.stages import stages_of
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.viewing.colours import CATEGORY_COLOURS
from tests.pipeline.roots import SMALL_DATASET as DATASET
from tests.reports.roots import publish_a_checkpoint_of_another_tokenizer

FORMAT = "sample-format@v1.0.0"
CHECKPOINT = f"checkpoints/{DATASET}/base/4k/step_00000002"
SVG = "{http://www.w3.org/2000/svg}"
PATHS = {
    "pinned_repos": f"cpp_raw/{FORMAT}",
    "curated_files": f"curated/{DATASET}/{FORMAT}",
    "semantic_jsonl": f"jsonl/{DATASET}/{FORMAT}",
    "tokenizer": f"tokenizer/{DATASET}",
    "tokenized_parquet": f"parquet/{DATASET}/{FORMAT}",
    "v6_enriched": f"enriched/{DATASET}/{FORMAT}",
    "packed_rows": f"packed/{DATASET}/base/4k",
    "megatron_bin_idx": f"megatron/{DATASET}/base/4k",
    "trained_checkpoint": CHECKPOINT,
}
PICTURES = {
    "semantic_jsonl": ["most repeated declarations, 4096 tokens"],
    "tokenized_parquet": ["token lengths, 4096 tokens"],
    "v6_enriched": ["category shares", "sample text"],
    "packed_rows": ["row fill", "sample text", "tokens by repository"],
    "trained_checkpoint": ["loss curve"],
}


@pytest.fixture(scope="module")
def root(small_line: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small line up to Megatron's files, and a checkpoint."""
    made = shutil.copytree(small_line, tmp_path_factory.mktemp("root") / "data", symlinks=True)
    publish_a_checkpoint_of_another_tokenizer(made, CHECKPOINT)
    return made


def _described(root: Path, stage: str) -> dict[str, Any]:
    artifact = open_artifact(root, PATHS[stage])
    return describe(open_corpus(root, DATASET), Done(artifact, Receipt(artifact.manifest.sha256, 1.5, 2_000_000, ())))


def _svg(root: Path, shown: object) -> ET.Element | None:
    """The picture that markdown of at most 1,000 characters, which the UI shows without a click, links to."""
    text = (shown.value if isinstance(shown, dg.MarkdownMetadataValue) else "") or ""
    found = re.fullmatch(rf"!\[[^\]]*\]\({PICTURE_PAGE}/([0-9a-f]{{64}})/([a-z0-9_]+)\)", text)
    assert found is None or len(text) < 1000
    return ET.fromstring(picture_file(root, found[1], found[2]).read_text()) if found else None


def test_every_stage_is_looked_at() -> None:
    assert list(PATHS) == [stage.name for stage in stages_of(load_recipe("sample"))]


@pytest.mark.parametrize("stage", PATHS)
def test_at_most_twenty_figures_stand_alone_and_none_is_lost(root: Path, stage: str) -> None:
    shown = _described(root, stage)
    alone = [name for name, value in shown.items() if isinstance(value, int | float | str)]
    assert len(alone) <= MOST
    assert {"time (s)", "peak memory (MB)", "size (MB)"} <= set(alone)
    rest = {str(record.data["figure"]) for record in shown[REST].records} if REST in shown else set()
    stats = open_artifact(root, PATHS[stage]).manifest.stats
    counted = [name for name, value in stats.items() if isinstance(value, int | float | str)]
    assert len(rest) + len(alone) >= len(counted) and not rest & set(alone)


@pytest.mark.parametrize("stage", PATHS)
def test_pictures_show_without_a_click(root: Path, stage: str) -> None:
    shown = _described(root, stage)
    drawn = sorted(name for name, value in shown.items() if _svg(root, value) is not None)
    assert drawn == PICTURES.get(stage, [])


@pytest.mark.parametrize("stage", PATHS)
def test_every_column_says_what_it_holds(root: Path, stage: str) -> None:
    schema = _described(root, stage).get("dagster/column_schema")
    assert schema is None or all(column.description for column in schema.columns)


@pytest.mark.parametrize(
    ("stat", "value", "shown"),
    [
        ("utilisation_ppm", 975_664, ("row fill (%)", 97.57)),
        ("source_bytes", 22_135, ("source (MB)", 0.0221)),
        ("documents", 1_234_567, ("documents", "1,234,567")),
        ("calls_resolved_per_cent", 88.848, ("calls resolved (%)", 88.848)),
        ("units_parsed", 3, ("units re-parsed because of a change", "3")),
    ],
)
def test_figures_have_units_and_separators(stat: str, value: float, shown: tuple[str, object]) -> None:
    assert figure(stat, value) == shown


def test_the_page_begins_with_what_a_person_asks_first_and_ends_with_hashes(root: Path) -> None:
    pages = {stage: list(_described(root, stage)) for stage in PATHS}
    assert pages["semantic_jsonl"][:4] == [
        "most repeated declarations, 4096 tokens",
        "documents",
        "calls resolved (%)",
        "files left out",
    ]
    assert pages["trained_checkpoint"][:3] == ["audit page", "reports of all partitions", "loss curve"]
    assert pages["packed_rows"][0] == pages["v6_enriched"][0] == "sample text"
    for stage in ("packed_rows", "v6_enriched"):
        assert not set(pages[stage][1:4]) & set(PICTURES[stage]), "three figures before the other pictures"
    for names in pages.values():
        place = names.index("path in the data root")
        assert not [name for name in names[:place] if name.endswith(("sha256", "code version", HASHES_METADATA))]


@pytest.mark.parametrize("stage", PATHS)
def test_hashes_are_short_and_one_json_at_the_end_has_them_in_full(root: Path, stage: str) -> None:
    shown = _described(root, stage)
    texts = [value for value in shown.values() if isinstance(value, str)]
    assert not [text for text in texts if re.search("[0-9a-f]{40}", text)]
    sha256 = open_artifact(root, PATHS[stage]).manifest.sha256
    assert shown["manifest sha256"] == f"{sha256[:12]}…" and list(shown)[-1] == HASHES_METADATA
    assert shown[HASHES_METADATA].value[MANIFEST_METADATA] == sha256


def test_a_copied_root_shows_no_path_of_the_original(root: Path) -> None:
    assert _described(root, "packed_rows")["path in the data root"] == dg.MetadataValue.path(PATHS["packed_rows"])


def test_files_without_rows_show_no_number_of_rows(root: Path) -> None:
    entries = open_artifact(root, PATHS["tokenizer"]).manifest.files
    shown = [record.data["rows"] for record in _described(root, "tokenizer")["files"].records]
    assert shown == ["" if entry.rows is None else f"{entry.rows:,}" for entry in entries] and "" in shown


def test_the_semantic_stage_lists_the_columns_of_its_documents(root: Path) -> None:
    shown = _described(root, "semantic_jsonl")
    assert {"text", "roles", "chunk_boundaries"} <= {column.name for column in shown["dagster/column_schema"].columns}
    assert "| text |" in shown["first rows"].value


def test_a_checkpoint_does_not_name_itself_among_the_earlier_ones(root: Path) -> None:
    own = open_artifact(root, CHECKPOINT).manifest.sha256
    assert own not in _described(root, "trained_checkpoint")[HASHES_METADATA].value[EARLIER_METADATA]


def test_a_checkpoint_leads_to_its_audit_page(root: Path) -> None:
    shown = _described(root, "trained_checkpoint")["audit page"]
    sha256 = open_artifact(root, CHECKPOINT).manifest.sha256
    assert shown == dg.MetadataValue.md(f"[audit of {CHECKPOINT}]({AUDIT_PAGE}/{sha256})")


def test_the_sample_text_is_coloured_by_category(root: Path) -> None:
    drawn = _svg(root, _described(root, "packed_rows")["sample text"])
    assert drawn is not None
    colours = {span.get("fill") for span in drawn.iter(f"{SVG}tspan")}
    assert len(colours) >= 5 and "#include" in "".join(drawn.itertext())


def test_a_row_whose_documents_are_gone_is_recorded_with_a_sentence(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root, tmp_path / "copy", symlinks=True)
    (tmp_path / "copy" / PATHS["v6_enriched"] / COMPLETE_FILE).unlink()
    shown = _described(tmp_path / "copy", "packed_rows")
    assert "expected a directory with _COMPLETE" in str(shown["sample text"].value)


def test_a_strangers_names_are_drawn_and_do_nothing() -> None:
    hostile = "$\\frac{a}{b}$ <script>alert(1)</script> \x1b[2J \u202e" + "x" * 10
    drawn = ET.fromstring(bars({hostile: 3, "b": 1}, "documents"))
    assert not [node for node in drawn.iter() if node.tag.endswith("script")]


def test_no_tokens_have_shares_too() -> None:
    assert ET.fromstring(category_shares({})) is not None


def test_bars_are_as_long_as_their_numbers_and_in_the_colours_of_their_categories() -> None:
    drawn = ET.fromstring(category_shares({"other": 3, "comment": 1}))
    rects = {rect.get("style"): float(rect.get("width", "")) for rect in drawn.iter(f"{SVG}rect")}
    widths = [rects[f"fill:{CATEGORY_COLOURS[name]}"] for name in ("other", "comment", "typedef")]
    assert widths[0] == pytest.approx(3 * widths[1], abs=0.3) and widths[2] == 0
    assert {"75", "25", "0", "comment", "% of tokens"} <= set("|".join(drawn.itertext()).split("|"))


def test_a_curve_of_one_point_is_drawn_too() -> None:
    assert ET.fromstring(line_chart([(1.0, 2.5)], "step", "loss")) is not None
