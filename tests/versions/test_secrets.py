"""Secrets and persons in a history: no version shows one that a change adds, removes, or shows a part of."""

from __future__ import annotations

from collections import defaultdict

import orjson
import pytest

from megacpp_assets.commits.messages import clean_message
from megacpp_assets.contract import columns as c
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.recipe.history import HistoryRecipe
from megacpp_assets.contract.sources.source_file import OBJECTS
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.git_objects import blob_reader
from megacpp_assets.versions.build import VersionBuilder
from megacpp_assets.versions.files import FileVersions
from megacpp_assets.versions.judge import SECRET, Barred, ChangeRules
from megacpp_assets.versions.records import LineOrigin
from megacpp_assets.windows import build as windows
from megacpp_assets.windows.functions import ParsedBlobs
from megacpp_assets.windows.graph import TreeGraph
from tests.commits.repository import Files, history_of, listed, make_history
from tests.tokenized.word_encoder import WordEncoder

BEGIN, END = (f"-----{word} RSA " + "PRIVATE KEY-----" for word in ("BEGIN", "END"))
KEY_LINES = [f"bWVnYWNwcF9hc3NldHNfdGVzdF9rZXlfbGluZV8w{number:02d}" for number in range(40)]
PASSWORD = "hunter2" + "horse"
AWS = "AKIA" + "QWERTYUIOPASDFGH"
USE = b"int use(int value) { return value + 1; }\nint twice(int value) { return use(value) + use(value); }\n"
SLOW = USE.replace(b"+ 1", b"+ 2")
TRAILERS = (
    "Signed-off-by: Jane Roe <jane@roe.org>\nCo-authored-by: John Doe <john@doe.org>\nReported-by: Ann Smith,\n Al Noe"
)


def _with_key(lines: list[str]) -> bytes:
    text = "".join(f'    "{line}\\n"\n' for line in (BEGIN, *lines, END))
    return b"const char* key() {\n  return\n" + text.encode() + b"  ;\n}\nint size() { return key() != nullptr; }\n"


CHANGED_KEY = [*KEY_LINES[:20], "Y2hhbmdlZF9pbl90aGVfbWlkZGxlX29mX3RoZV9rZXk", *KEY_LINES[21:]]
COMMITS: list[tuple[str, Files]] = [
    (f"Start with {AWS}\n\nIt asks 204.232.175.90.\n\n{TRAILERS}", {"use.cc": USE, "key.cc": _with_key(KEY_LINES)}),
    (f"One line in the middle of the key\n\n{TRAILERS}", {"key.cc": _with_key(CHANGED_KEY)}),
    ("A password", {"use.cc": SLOW.replace(b"{", b'{ const char* password = "%s";' % PASSWORD.encode(), 1)}),
    ("No password", {"use.cc": SLOW + b"int more(int value) { return use(value); }\n"}),
    (
        f"Other work\n\nReviewed by: Jane Roe\n{TRAILERS}",
        {"use.cc": USE + b"int most(int value) { return use(value); }\n"},
    ),
]
SETS = ("v2_simple", "v3_simple", "v3_doxygen")


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    directory = tmp_path_factory.mktemp("upstream") / "lib"
    make_history(directory, COMMITS)
    return history_of(directory, tmp_path_factory.mktemp("data"), HistoryRecipe())


def _texts(history: Artifact, recipe: HistoryRecipe, *, without_secrets: bool) -> tuple[dict[str, list[str]], int]:
    """Texts of v2, v3 and v4 by set, and how many changes or windows were left out for a secret."""
    texts: dict[str, list[str]] = defaultdict(list)

    def emit(name: str, line: bytes) -> None:
        texts[name].append(orjson.loads(line)[c.TEXT])

    commits, origin = listed(history)[::-1], LineOrigin(RepoRef("lib", "v1"), lambda _: "MIT", lambda _: False)
    with blob_reader(history) as blobs:
        files = FileVersions(blobs, recipe.file_bytes)
        judge = ChangeRules("lib", recipe, files, Barred(without_secrets=without_secrets))
        documents = VersionBuilder(SETS, origin, judge)
        documents.build(commits, emit, lambda _: None)
        sets = windows.Sets({"v4_4096": 4096}, WordEncoder())
        made = windows.WindowBuilder(history.folder(OBJECTS), sets, origin, judge, TreeGraph(ParsedBlobs(files)))
        made.build(commits, emit, lambda _: None)
    counts = [*documents.left_out.values(), *made.left_out.values(), made.context_left_out]
    return texts, sum(count[SECRET] for count in counts)


@pytest.mark.parametrize(
    "recipe",
    [
        HistoryRecipe(drift=1.0, full_file=False),
        HistoryRecipe(drift=1.0, full_file=False, context_lines=0),
        HistoryRecipe(drift=1.0, full_file=True),
    ],
    ids=["hunks", "no context", "with the full file"],
)
def test_no_version_shows_a_secret_or_a_part_of_one(history: Artifact, recipe: HistoryRecipe) -> None:
    secrets = (PASSWORD, *KEY_LINES, CHANGED_KEY[20])
    reported, none = _texts(history, recipe, without_secrets=False)
    shown = {name for name, texts in reported.items() if any(secret in text for text in texts for secret in secrets)}
    assert shown == {*SETS, "v4_4096"} and none == 0
    texts, left_out = _texts(history, recipe, without_secrets=True)
    assert {name: [text for text in found if any(s in text for s in secrets)] for name, found in texts.items()} == {
        name: [] for name in reported
    }
    assert left_out > 4


def test_no_version_shows_a_person_or_a_secret_of_a_message(history: Artifact) -> None:
    texts, _ = _texts(history, HistoryRecipe(drift=1.0), without_secrets=False)
    heads = [text for name, found in texts.items() if not name.startswith("v2") for text in found]
    assert any("Other work" in text for text in texts["v3_doxygen"]) and any(
        "Other work" in text for text in texts["v4_4096"]
    )
    for word in ("Jane", "John", "Ann", "Noe", "roe.org", "-by", "Reviewed", AWS, "204.232"):
        assert [text for text in heads if word in text] == []
    assert history.manifest.stats["messages_changed"] == {"AWSKey": 1, "ip_address": 1, "trailer": 10}


@pytest.mark.parametrize(
    ("message", "body"),
    [
        ("S\n\nWhy.\nFixes: 12ab\nSigned-off-by: A B <a@b.org>", "Why.\nFixes: 12ab"),
        (
            "S\n\nCo-authored-by:  A B\n  <a@b.org>\nCo-developed-by: C D\nLink: https://x.org/1",
            "Link: https://x.org/1",
        ),
        ("S\n\nTested-By: A\nThanks-to: B C\nSubmitted by:\tD E\nPR: 7", "PR: 7"),
        ("S\n\nWhy,\n  indented\nAcked-by: A\n\n  indented later", "Why,\n  indented\n\n  indented later"),
        ("S\n\nReported by Ann Smith on the list, see a.b@corp.org", "on the list, see"),
    ],
)
def test_trailers_lose_persons_and_keep_what_is_none(message: str, body: str) -> None:
    assert clean_message(message).body == body
