"""`megacpp bench`: a benchmark that fails is its own message and its own exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.ui import server
from tests.cli.commands import exit_code


def test_a_benchmark_that_fails_ends_with_its_code_and_its_message(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("MEGACPP_GIT_MIRROR", raising=False)
    assert exit_code(monkeypatch, "bench", "whitespace") == 1
    said = capfd.readouterr().err
    assert "MEGACPP_GIT_MIRROR" in said
    assert "Traceback" not in said and len(said.strip().splitlines()) == 1


def test_an_unknown_benchmark_lists_the_known_ones(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(monkeypatch, "bench", "nonsense") == 1
    said = capsys.readouterr().err
    assert "whitespace" in said and " megatron," in said


def test_a_word_behind_one_benchmark_is_its_argument_and_no_other_runs(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert exit_code(monkeypatch, "bench", "composing", f"{tmp_path}@v1") == 1
    said = capfd.readouterr()
    assert f"repository {tmp_path};" in said.err and not said.out
    assert exit_code(monkeypatch, "bench", "composing", "packing", "nonsense") == 1
    assert "one benchmark before nonsense" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [(("--help",), "print their figures"), (("-h",), "print their figures"), (("packing", "--help"), "packing.py")],
)
def test_help_behind_a_name_is_that_of_the_benchmark(
    words: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert not exit_code(monkeypatch, "bench", *words)
    assert said in capfd.readouterr().out


def test_the_ui_says_that_a_data_root_has_no_dataset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    served: list[Path] = []
    monkeypatch.setattr(server, "serve", lambda root, *_, **__: served.append(root))
    assert not exit_code(monkeypatch, "ui", "--data-root", str(tmp_path / "misspelled"))
    assert f"data root {tmp_path / 'misspelled'} has no dataset yet; what to do: megacpp run" in capsys.readouterr().err
    assert served == [tmp_path / "misspelled"]


def test_the_ui_of_a_damaged_lock_ends_with_the_error_of_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "corpus.lock").write_text("active = [")
    assert exit_code(monkeypatch, "ui", "--data-root", str(tmp_path)) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: corpus.lock\n  expected a lock written by megacpp") and "Traceback" not in said
