"""`megacpp catalogue`: all entries with what a person must know, and the reason where one is not fetched."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.contract.names import REPOSITORY_CATEGORIES
from megacpp_assets.repos.catalogue import SIZE_CLASSES
from tests.cli.commands import exit_code

FACTS = (
    "name category specialist size-class host vcs canonical-URL fetched-from mirror-URL default-ref release-tags "
    "access licence submodules history origin"
).split()


def _said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], root: Path, *arguments: str
) -> tuple[list[str], str]:
    exit_code(monkeypatch, "catalogue", *arguments, "--data-root", str(root))
    said = capsys.readouterr()
    return said.out.splitlines(), said.err


def test_the_list_has_142_repositories_with_their_category_access_and_origin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, errors = _said(monkeypatch, capsys, tmp_path, "list")
    assert errors == "" and len(lines) == 1 + 142 + 1
    assert lines[-1] == ("142 repositories in 16 categories (32 ours, 60 reference, 50 scripts); 3 are not fetched")
    assert {line.split()[1] for line in lines[1:-1]} == set(REPOSITORY_CATEGORIES)


def test_the_list_of_a_category_or_of_closed_sources_has_only_these(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, _ = _said(monkeypatch, capsys, tmp_path, "list", "--category", "crypto")
    assert {line.split()[1] for line in lines[1:-1]} == {"crypto"} and len(lines) == 1 + 9 + 1
    lines, _ = _said(monkeypatch, capsys, tmp_path, "list", "--access", "account")
    assert [line.split()[0] for line in lines[1:-1]] == ["unreal-engine"]
    assert lines[0].split()[2] == "size" and lines[1].split()[2] in SIZE_CLASSES
    assert lines[-1] == "1 repository in 1 category (1 reference); 1 are not fetched"


def test_an_entry_shows_every_fact_and_the_reason_where_it_is_not_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, _ = _said(monkeypatch, capsys, tmp_path, "show", "unreal-engine")
    facts = {line[:13].strip().replace(" ", "-"): line[13:].strip() for line in lines}
    assert set(facts) == {*FACTS, "note"}
    assert (facts["access"], facts["fetched-from"]) == ("account", "nowhere")
    assert "linked to Epic Games" in facts["note"]
    lines, _ = _said(monkeypatch, capsys, tmp_path, "show", "sqlite")
    assert "vcs           fossil" in lines and any(
        line.startswith("fetched from  https://github.com") for line in lines
    )


def test_an_unknown_name_and_a_wrong_entry_are_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "megacpp catalogue list shows the names" in _said(monkeypatch, capsys, tmp_path, "show", "no-such")[1]
    (tmp_path / "catalogue.toml").write_text(
        '[repo.closed]\nurl = "https://host/o/n"\nref = "v1"\naccess = "account"\n'
    )
    lines, errors = _said(monkeypatch, capsys, tmp_path, "list", "--catalogue", "sample")
    assert "repo.closed.note" in errors and "expected the reason why it is not open" in errors
    assert lines[-1].startswith("8 repositories")


def test_an_estimate_without_measured_rates_says_what_to_do_and_is_of_all_142_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "finish some repositories" in _said(monkeypatch, capsys, tmp_path, "estimate", "--category", "crypto")[1]
    exit_code(monkeypatch, "catalogue", "estimate", "--help")
    assert "[default: extended]" in " ".join(capsys.readouterr().out.split())
