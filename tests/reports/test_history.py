"""Documents of history by rule: a run and the quality report give the counts of the stages' manifests."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.reports.hardened import open_database
from megacpp_assets.reports.summary import summaries
from megacpp_assets.storage.artifact import open_artifact
from tests.commits.repository import make_history
from tests.pipeline.roots import succeed

RECIPE = """dataset = "mine"
catalogue = "./catalogue.toml"
repos = ["lib"]
curriculum = ["16k"]

[phases.16k]
row_tokens = 16384
document_tokens = 16384
blend = { v3_simple = 1.0, v4 = 1.0 }

[tokenizer]
vocabulary_size = 7200
"""
HELPERS = "".join(f"int helper_{n}(int x) {{ return x * {n} + {n * n}; }}\n" for n in range(40))


def _files(added: int, alone: int) -> dict[str, bytes]:
    code = f"{HELPERS}int used(int x) {{ return helper_1(x) + {added}; }}\nint alone = {alone};\n"
    return {"lib.cc": code.encode(), "LICENSE": b"MIT"}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A data root with the history of a small library, and what the run said."""
    folder = tmp_path_factory.mktemp("history")
    make_history(folder / "lib", [*(("Add to used", _files(n, 1)) for n in range(3)), ("Set alone", _files(2, 2))])
    (folder / "catalogue.toml").write_text(f'[repo.lib]\nurl = "{folder / "lib"}"\nref = "v1"\nlicense = "MIT"\n')
    (folder / "mine.toml").write_text(RECIPE)
    words = ("run", "--recipe", str(folder / "mine.toml"), "--until", "commit_windows")
    said = succeed(folder / "data", *words)
    succeed(folder / "data", "quality")
    return folder / "data", said


def _made(root: Path) -> dict[str, dict[str, int]]:
    """The documents and what each rule left out, by set, as the manifests have them."""
    paths = ("commit_documents/mine/lib@v1", "commit_windows/mine/lib@v1")
    sets = [item for path in paths for item in open_artifact(root, path).manifest.stats["budgets"].items()]
    return {name: {"documents": counts["documents"], **counts["left_out"]} for name, counts in sets}


def test_the_table_has_the_counts_of_the_manifests(ran: tuple[Path, str]) -> None:
    with open_database(ran[0]) as connection:
        query = "SELECT dataset, partition_key, document_set, rule, items FROM marts.history_by_rule"
        rows = connection.execute(query).fetchall()
    expected = _made(ran[0])
    assert sorted(rows) == sorted(
        ("mine", "lib@v1", name, rule, items) for name, rules in expected.items() for rule, items in rules.items()
    )
    assert expected["v4_16384"]["no function modified"] == 1


def test_a_run_says_what_it_made_of_history_and_what_each_rule_left_out(ran: tuple[Path, str]) -> None:
    lines = " ".join(ran[1].split())
    for name, counts in _made(ran[0]).items():
        rules = {rule: items for rule, items in counts.items() if rule != "documents"}
        assert f"{name}: {counts['documents']} documents; left out: {'' if rules else 'none'}" in lines
        assert all(f"{rule} {items}" in lines for rule, items in rules.items())


def test_the_summary_has_one_line_of_history(ran: tuple[Path, str]) -> None:
    (line,) = [text for label, text in summaries(ran[0])["mine"] if label == "history"]
    for name, counts in _made(ran[0]).items():
        assert f"{name} {counts['documents']} of {sum(counts.values())}" in line
    assert "; most were left out by: " in line
