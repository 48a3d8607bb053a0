"""`megacpp view`: the exact text of a row or document, by category and role; what a stranger wrote does nothing."""

from __future__ import annotations

import io
import re
import shutil
import unicodedata
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.names import STRUCTURE_CATEGORIES
from megacpp_assets.viewing.colours import CATEGORY_COLOURS, DARK_COLOURS
from megacpp_assets.viewing.find import Where, find
from megacpp_assets.viewing.neutral import neutral
from megacpp_assets.viewing.page import page
from megacpp_assets.viewing.shown import TokenView, shown_document
from megacpp_assets.viewing.terminal import print_shown
from tests.pipeline.roots import SMALL_DATASET, megacpp_here

HOSTILE = "a\x1b[2J\x1b]0;title\x07\u202egnp.exe\u200b\x85\u2028<script>alert(1)</script>&amp;\x00\x9b31m\ue000é🙂\r"


@pytest.fixture(scope="module")
def root(small_line: Path) -> Path:
    """Rows and documents; looking changes nothing."""
    return small_line


def test_a_reference_without_its_last_stage_is_named_with_that_stage(small_line: Path, tmp_path: Path) -> None:
    root = shutil.copytree(small_line, tmp_path / "data", symlinks=True, ignore=shutil.ignore_patterns("enriched"))
    with pytest.raises(SpecError, match=r"expected its stage v6_enriched, .* found only earlier stages"):
        find(root, SMALL_DATASET, "sample-format@v1.0.0", "0", Where())
    with pytest.raises(SpecError, match="found none at all"):
        find(root, SMALL_DATASET, "sample-format@v9", "0", Where())


def _document(text: str) -> TokenView:
    """A document of one token a byte, in two categories and two roles."""
    data = text.encode("utf-8", "surrogatepass")
    starts = [place for place, each in enumerate(text) for _ in each.encode("utf-8", "surrogatepass")]
    half = len(data) // 2
    row: dict[str, Any] = {
        c.DOC_ID: "id", c.FILEPATH: text, c.LICENSE: "MIT", c.SPLIT: "train",
        c.COMMIT: "c0ffee", c.PLATFORM_IDS: [1, 109], c.ACTUAL_TOKEN_COUNT: len(data),
        c.TEXT: text,
        c.TOKEN_STRUCTURE_IDS_COLUMN: [3] * half + [6] * (len(data) - half),
        c.TOKEN_ROLES_COLUMN: [0] * half + [1] * (len(data) - half),
        c.EDIT_OP_PER_TOKEN_COLUMN: [0] * len(data),
        c.TOKEN_CHUNK_STARTS_COLUMN: [0], c.TOKEN_CHUNK_ENDS_COLUMN: [half], c.TOKEN_CHUNK_KINDS_COLUMN: [3],
        c.TOKEN_CHUNK_DEP_LEVELS_COLUMN: [0],
        c.TOKEN_CALL_EDGES_COLUMN: [{"from": 0, "to": 0}], c.TOKEN_TYPE_EDGES_COLUMN: [],
    }  # fmt: skip
    return shown_document("title", row, starts)


def _printed(shown: TokenView, *, colour: bool) -> str:
    out = io.StringIO()
    print_shown(shown, Console(file=out, color_system="truecolor" if colour else None, force_terminal=colour, width=80))
    return out.getvalue()


def test_a_document_says_which_platforms_it_is_for() -> None:
    assert "a.cc at c0ffee (MIT, train; os=linux, cpp_std=c++17)" in _printed(_document("a.cc"), colour=False)


def test_a_row_is_the_text_of_its_documents(root: Path) -> None:
    done = megacpp_here(root, "view", "base/4k", "0")
    assert done.returncode == 0, done.stderr
    packed = (
        pq.read_table(next((root / f"packed/{SMALL_DATASET}/base/4k").glob("train_00000_*.parquet")))
        .slice(0, 1)
        .to_pylist()[0]
    )
    texts = {}
    for file in sorted((root / f"parquet/{SMALL_DATASET}").rglob("*.parquet")):
        texts |= {row[c.DOC_ID]: row[c.TEXT] for row in pq.read_table(file).to_pylist()}
    for doc_id, tokens in zip(packed[c.SOURCE_DOC_IDS], packed[c.SOURCE_DOC_TOKEN_LENGTHS], strict=True):
        assert f"{doc_id}, {tokens} tokens" in done.stdout
        text = [line.rstrip() for line in neutral(texts[doc_id]).splitlines()[:40]]
        assert text == _lines_of(done.stdout, f"{doc_id}, ")[: len(text)]
    assert "\x1b" not in done.stdout
    assert f"{len(packed[c.TOKEN_CHUNK_STARTS_COLUMN])} chunks" in done.stdout


def _lines_of(printed: str, title: str) -> list[str]:
    behind = printed.split(title, 1)[1].split("\n", 1)[1]
    return [line.rstrip() for line in behind.splitlines()]


def test_a_document_is_found_by_number_and_by_id(root: Path) -> None:
    first = megacpp_here(root, "view", "sample-format@v1.0.0", "0").stdout
    doc_id = re.search(r"([0-9a-f]{32}(\.\d{4})?): ", first)
    assert doc_id
    assert megacpp_here(root, "view", "sample-format@v1.0.0", doc_id[1]).stdout == first


def test_a_document_is_its_text(root: Path) -> None:
    file = next((root / f"enriched/{SMALL_DATASET}/sample-format@v1.0.0").rglob("shard_00000.parquet"))
    row = pq.read_table(file, columns=[c.DOC_ID, c.TEXT]).slice(0, 1).to_pylist()[0]
    done = megacpp_here(root, "view", "sample-format@v1.0.0", row[c.DOC_ID])
    text = [line.rstrip() for line in neutral(row[c.TEXT]).splitlines()]
    assert text == _lines_of(done.stdout, f"{row[c.DOC_ID]}: ")[: len(text)]


def test_colours_are_there_when_asked_for_and_the_page_holds_the_same(root: Path, tmp_path: Path) -> None:
    plain, coloured = (megacpp_here(root, "view", "base/4k", "1", *words).stdout for words in ((), ("--color",)))
    assert "\x1b[" in coloured and re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    done = megacpp_here(root, "view", "base/4k", "1", "--html", str(tmp_path / "row.html"))
    assert done.returncode == 0 and 'class="func_body' in (tmp_path / "row.html").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("base/4k", "999"), "expected a number below"),
        (("base/4k", "-1"), "No such option"),
        (("base/4k", "0", "--version", "v3"), "expected a document, NAME@REF\n  found a row, base/4k"),
        (("sample-format@v1.0.0", "nothing"), "expected an id, or a number below"),
        (("../../etc/4k", "0"), "expected a name of letters, digits"),
        (("a@../..", "0"), "expected NAME@REF of letters"),
        (("base", "0"), "expected SPECIALIST/PHASE"),
        (("strange/16k", "0"), "expected one of base/4k"),
        (("bas/4k", "0"), "did you mean `base/4k`?"),
        (("sample-formt@v1.0.0", "0"), "did you mean `sample-format@v1.0.0`?"),
    ],
)
def test_a_missing_row_or_document_is_reported_in_one_sentence(root: Path, words: tuple[str, ...], said: str) -> None:
    done = megacpp_here(root, "view", *words)
    assert done.returncode != 0 and said in done.stderr and "Traceback" not in done.stderr


def _acting(text: str) -> list[str]:
    return [character for character in text if unicodedata.category(character)[0] == "C" and character != "\n"]


def test_untrusted_text_is_harmless_in_a_terminal() -> None:
    printed = _printed(_document(HOSTILE), colour=False)
    assert not _acting(printed)
    assert "⟨U+001B⟩[2J" in printed and "⟨U+202E⟩gnp.exe" in printed and "é🙂" in printed
    escapes = re.findall(r"\x1b\[[0-9;]*[A-Za-z]", _printed(_document(HOSTILE), colour=True))
    assert escapes and all(escape.endswith("m") for escape in escapes)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=60))
def test_any_text_is_drawn_unchanged_except_control_characters(text: str) -> None:
    read = _Tags()
    read.feed(page(_document(text + HOSTILE)))
    assert read.tags <= {
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "h1",
        "h2",
        "p",
        "pre",
        "span",
        "table",
        "tr",
        "td",
    }
    assert neutral(text + HOSTILE) in read.text
    assert not _acting(read.text)


def test_a_character_that_tokens_share_is_drawn_once() -> None:
    drawn = [(piece.text, piece.category) for piece in _document("é").documents[0].pieces]
    assert drawn == [("é", STRUCTURE_CATEGORIES[6])]


def test_every_category_has_a_colour_in_both() -> None:
    assert tuple(CATEGORY_COLOURS) == tuple(DARK_COLOURS) == STRUCTURE_CATEGORIES
    assert all(_contrast(colour, "#ffffff") >= 4.5 for colour in CATEGORY_COLOURS.values())
    assert all(_contrast(colour, "#000000") >= 4.5 for colour in DARK_COLOURS.values())


def _contrast(colour: str, other: str) -> float:
    light, dark = sorted((_luminance(colour), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
