"""Data roots that cannot be one: a sentence with its four parts, no traceback, exit code 1, and nothing left."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.commands import exit_code


@pytest.mark.parametrize("command", ["run", "verify", "doctor", "tokenizer show"])
def test_a_data_root_that_is_a_file_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    (tmp_path / "file").write_bytes(b"mine")
    assert exit_code(monkeypatch, *command.split(), "--data-root", str(tmp_path / "file")) == 1
    expected = (
        f"error: data root {tmp_path / 'file'}\n  expected a folder\n  found a file\n  what to do: name another path"
    )
    assert capsys.readouterr().err.strip() == expected
    assert (tmp_path / "file").read_bytes() == b"mine"


def test_a_data_root_that_cannot_be_made_is_rejected(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """/proc takes no folder, not even root's."""
    assert exit_code(monkeypatch, "run", "--data-root", "/proc/data") == 1
    said = capsys.readouterr().err
    expected = "error: data root /proc/data\n  expected a folder that can be created\n"
    assert said.startswith(expected) and "\n  what to do: name another path" in said
    assert "Traceback" not in said


def test_a_link_to_nowhere_is_rejected_and_its_target_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    assert exit_code(monkeypatch, "run", "--data-root", str(tmp_path / "link")) == 1
    assert f"found a link to {tmp_path / 'gone'}, which is missing" in capsys.readouterr().err
    assert not (tmp_path / "gone").exists()


def test_a_data_root_without_anything_has_nothing_to_verify(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(monkeypatch, "verify", "--data-root", str(tmp_path / "none")) == 1
    assert "expected artifacts below it\n  found none\n  what to do: " in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--recipe", "--data-root"])
def test_an_option_that_is_empty_does_not_mean_its_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    """As with a variable of the shell that is not set: the sample would be trained, or ./data be written."""
    monkeypatch.chdir(tmp_path)
    assert exit_code(monkeypatch, "run", "--recipe", "sample", "--until", "pinned_repos", option, "") == 2
    said = capsys.readouterr().err
    assert option in said and "it is empty: give a value, or leave the option out for the default" in said
    assert list(tmp_path.iterdir()) == []


def test_an_empty_recipe_does_not_mean_that_of_the_dataset_when_a_launch_is_previewed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(monkeypatch, "launch", "--recipe", "", "--dry-run", "--data-root", str(tmp_path)) == 2
    assert "Invalid value for '--recipe': it is empty: give a value" in capsys.readouterr().err
