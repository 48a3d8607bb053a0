"""Every path and every `megacpp` command that the documents name exists, and the documents keep their size."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from megacpp_assets.cli import cli

TOP = Path(__file__).parents[1]
PAGES = sorted([*TOP.glob("*.md"), *TOP.glob("docs/*.md"), TOP / "benchmarks/README.md"])
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
NAMED = re.compile(
    r"`((?:megacpp_assets|contract|storage|quality|pipeline|launch|packed|native|dbt_quality|tests|tools|benchmarks|docs)"
    r"/[\w/.-]+)`"
)
PLACEHOLDER = re.compile(r"/[A-Z_]+(?:/|\.|$)")
COMMAND = re.compile(r"^\$ (?:[A-Z_]+=\S+ )*(megacpp .*?)(?:\s+#.*)?$|`(megacpp [^`]+)`", re.M)
FIGURE = re.compile(r"\d+\.\d+ (?:of|when|±)|\d,\d{3} tokens a second|± \d")
RUNNABLE = re.compile(r"`(?:megacpp bench |tools/\w+\.sh)[^`]*`")
MOST_LINES = {"README.md": 150, "DECISIONS.md": 250, "CHANGELOG.md": 50}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_exist(page: Path) -> None:
    text = page.read_text()
    missing = [link for link in LINK.findall(text) if not (page.parent / link).exists()]
    missing += [name for name in NAMED.findall(text) if not exists(name)]
    assert not missing


def exists(name: str) -> bool:
    """Whether a path is one of the checkout or of the package. A part in capitals stands for a name of the reader."""
    return bool(PLACEHOLDER.search(name)) or any((TOP / start / name).exists() for start in ("", "megacpp_assets"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_their_options_exist(page: Path) -> None:
    for first, second in COMMAND.findall(page.read_text()):
        words = shlex.split((first or second).replace("…", "x"), comments=True)
        parse(cli, words[1:], first or second)


def parse(command: click.Command, words: list[str], text: str) -> None:
    """Follow groups to a command and look its options up; nothing runs."""
    if isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(click.Context(command), words[0])
        assert found is not None, f"{text}: no command {words[0]}"
        parse(found, words[1:], text)
        return
    if command.context_settings.get("ignore_unknown_options"):
        return  # `bench` passes them on to a benchmark
    known = {option for each in command.params for option in (*each.opts, *each.secondary_opts)} | {"--help", "-h"}
    unknown = {word.partition("=")[0] for word in words if word.startswith("--")} - known
    assert not unknown, f"{text}: no options {sorted(unknown)}"


def test_each_measured_figure_among_the_limits_has_the_command_that_measured_it() -> None:
    _, _, after = (TOP / "README.md").read_text().partition("## Limits\n")
    limits = after.partition("\n## ")[0].split("\n- ")
    measured = [limit for limit in limits if FIGURE.search(limit)]
    assert len(measured) == 3 and not [limit for limit in measured if not RUNNABLE.search(limit)]


@pytest.mark.parametrize("name", MOST_LINES)
def test_documents_stay_short(name: str) -> None:
    assert len((TOP / name).read_text().splitlines()) <= MOST_LINES[name]
