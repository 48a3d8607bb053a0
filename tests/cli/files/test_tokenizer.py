"""`megacpp tokenizer show`: a tokenizer that is not whole is not shown as if it were."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.commands import exit_code


@pytest.fixture
def tokenizer(lib_root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a tokenizer in a data root."""
    recipe = str(lib_root.parent / "mine.toml")
    assert not exit_code(monkeypatch, "run", "--recipe", recipe, "--until", "tokenizer", "--data-root", str(lib_root))
    return lib_root / "tokenizer" / "mine"


def test_a_missing_or_damaged_file_of_the_tokenizer_is_an_error_that_names_it_and_says_what_makes_it_again(
    tokenizer: Path, lib_root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("tokenizer", "show", "--data-root", str(lib_root))
    capsys.readouterr()
    assert not exit_code(monkeypatch, *words)
    assert "# Tokenizer quality" in capsys.readouterr().out
    changed = tokenizer / "tokenizer_config.json"
    changed.write_bytes(changed.read_bytes().replace(b"{", b"[", 1))
    assert exit_code(monkeypatch, *words) == 1
    assert "tokenizer/mine/tokenizer_config.json\n  expected sha256 " in capsys.readouterr().err
    changed.unlink()
    assert exit_code(monkeypatch, *words) == 1
    said = capsys.readouterr()
    assert "found no such file\n  what to do: restore the file, or megacpp run makes it again" in said.err
    assert not said.out


def test_a_run_makes_a_missing_file_of_the_tokenizer_again(
    tokenizer: Path, lib_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tokenizer / "tokenizer.json"
    before = file.read_bytes()
    file.unlink()
    words = ("run", "--recipe", str(lib_root.parent / "mine.toml"), "--until", "tokenizer")
    assert not exit_code(monkeypatch, *words, "--data-root", str(lib_root))
    assert file.read_bytes() == before
